//! Draws pictures of real runs: `cargo bench --bench pictures` writes adaptive.svg, attempts.svg and responsive.svg to docs/pictures.

use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::iter::successors;
use std::sync::Arc;
use std::time::{Duration, Instant as Moment};

use aws_batch_delivery::backoff::{Adaptive, Outcome, Pace, Responsive};
use aws_batch_delivery::{DeliveryOptions, deliver_batch_to_dynamo};
use aws_batch_simulator::{Capacity, KeyType, Latency, Simulator, TableOptions};
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use tokio::time::{Instant, sleep_until};

/// Width and height, and the margins around the plot: left, right, top and bottom.
const SIZE: (f64, f64) = (960.0, 420.0);
const MARGINS: (f64, f64, f64, f64) = (76.0, 20.0, 40.0, 52.0);

/// How often a point of `Adaptive` is drawn, and for how long.
const STEP: Duration = Duration::from_millis(250);
const SECONDS: f64 = 60.0;

/// From which second on the table takes how many writes a second.
const CAPACITIES: [(f64, f64); 3] = [(0.0, 1_000.0), (20.0, 500.0), (40.0, 2_000.0)];

/// The entries of `attempts`.
const ENTRIES: u32 = 100;

/// A picture with two axes.
struct Chart {
    title: &'static str,
    x: Axis,
    y: Axis,
    series: Vec<Series>,
}

struct Axis {
    name: &'static str,
    most: f64,
    /// Between two labels.
    step: f64,
}

/// Points of one colour.
struct Series {
    name: &'static str,
    colour: &'static str,
    points: Vec<(f64, f64)>,
    shape: Shape,
}

/// How points are drawn.
enum Shape {
    Line,
    Dots,
    /// A line from the first point to the second, from the third to the fourth, and so on.
    Segments,
}

impl Axis {
    fn labels(&self) -> impl Iterator<Item = f64> {
        successors(Some(0.0), |label| Some(label + self.step)).take_while(|label| *label <= self.most)
    }
}

impl Chart {
    /// The picture, whose size is that of the page.
    fn svg(&self) -> String {
        let (left, right, top, bottom) = (MARGINS.0, SIZE.0 - MARGINS.1, MARGINS.2, SIZE.1 - MARGINS.3);
        let x = |value: f64| left + value / self.x.most * (right - left);
        let y = |value: f64| bottom - value / self.y.most * (bottom - top);
        let text = |x: f64, y: f64, anchor: &str, words: &str| {
            format!("<text x=\"{x:.0}\" y=\"{y:.0}\" text-anchor=\"{anchor}\">{words}</text>\n")
        };
        let mut svg = format!(
            "<svg width=\"100%\" viewBox=\"0 0 {} {}\" xmlns=\"http://www.w3.org/2000/svg\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
            SIZE.0, SIZE.1
        );
        svg += &text(left, top - 18.0, "start", self.title);
        svg += &text(f64::midpoint(left, right), SIZE.1 - 12.0, "middle", self.x.name);
        let (middle, name) = (f64::midpoint(top, bottom), self.y.name);
        let upwards =
            format!("<text transform=\"translate(18 {middle:.0}) rotate(-90)\" text-anchor=\"middle\">{name}</text>\n");
        svg += &upwards;
        for label in self.x.labels() {
            svg += &line("lightgray", 1, &[(x(label), top), (x(label), bottom)]);
            svg += &text(x(label), bottom + 18.0, "middle", &label.to_string());
        }
        for label in self.y.labels() {
            svg += &line("lightgray", 1, &[(left, y(label)), (right, y(label))]);
            svg += &text(left - 8.0, y(label) + 4.0, "end", &label.to_string());
        }
        let places = successors(Some(right - 75.0), |place| Some(place - 105.0));
        for (series, place) in self.series.iter().rev().zip(places) {
            let colour = series.colour;
            let points: Vec<_> = series.points.iter().map(|point| (x(point.0), y(point.1))).collect();
            svg += &match series.shape {
                Shape::Line => line(colour, 2, &points),
                Shape::Dots => points.iter().map(|point| dot(colour, *point)).collect(),
                Shape::Segments => points.chunks(2).map(|ends| line(colour, 1, ends)).collect(),
            };
            svg += &line(colour, 8, &[(place, top - 22.0), (place + 10.0, top - 22.0)]);
            svg += &text(place + 16.0, top - 18.0, "start", series.name);
        }
        svg + "</svg>\n"
    }
}

fn line(colour: &str, width: u32, points: &[(f64, f64)]) -> String {
    let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let points = points.join(" ");
    format!("<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"/>\n")
}

fn dot(colour: &str, (x, y): (f64, f64)) -> String {
    format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2\" fill=\"{colour}\"/>\n")
}

/// A load of a table whose capacity changes: what is accepted and rejected, and the estimate of the strategy.
async fn adaptive() -> Chart {
    let simulator = Simulator::new(42);
    simulator.set_latency(Latency::lognormal(Duration::from_millis(8), 0.4).slow(0.005, 8.0));
    let table = simulator.table("orders", TableOptions::key("id", KeyType::S).counts_only());
    let strategy = Arc::new(Adaptive::default());
    let options = DeliveryOptions::default()
        .backoff(Arc::clone(&strategy))
        .concurrency(64);
    let client = simulator.dynamo_client();
    let load = async move { deliver_batch_to_dynamo(&client, "orders", (0_u64..).map(order), &options).await };
    let loading = tokio::spawn(load);
    let started = Instant::now();
    let mut points = [const { Vec::new() }; 4];
    let mut before = table.statistics();
    for moment in successors(Some(Duration::ZERO), |moment| Some(*moment + STEP)) {
        let second = moment.as_secs_f64();
        if second >= SECONDS {
            break;
        }
        if let Some((_, capacity)) = CAPACITIES.iter().find(|(from, _)| from.total_cmp(&second).is_eq()) {
            // A bucket that saves nothing shows best how the strategy follows.
            table.set_capacity(Capacity::per_second(*capacity).burst(capacity / 10.0));
        }
        sleep_until(started + moment + STEP).await;
        let now = table.statistics();
        let capacity = CAPACITIES
            .iter()
            .rfind(|(from, _)| *from <= second)
            .map_or(0.0, |(_, capacity)| *capacity);
        let accepted = per_second(now.applied - before.applied);
        let rejected = per_second(now.throttled - before.throttled);
        let estimate = strategy.snapshot().capacity.unwrap_or(0.0);
        for (points, value) in points.iter_mut().zip([capacity, accepted, rejected, estimate]) {
            points.push((second, value));
        }
        before = now;
    }
    loading.abort();
    let names = [
        ("capacity", "black"),
        ("accepted", "blue"),
        ("rejected", "red"),
        ("estimate", "limegreen"),
    ];
    let series = names.into_iter().zip(points).map(|((name, colour), points)| Series {
        name,
        colour,
        points,
        shape: Shape::Line,
    });
    Chart {
        title: "Adaptive follows the capacity of a table",
        x: Axis {
            name: "second",
            most: SECONDS,
            step: 10.0,
        },
        y: Axis {
            name: "writes per second",
            most: 3_000.0,
            step: 500.0,
        },
        series: series.collect(),
    }
}

/// The attempts of each entry of a small load: which were left unprocessed, and how long the entry waits for the next one.
async fn attempts() -> Result<Chart, Box<dyn Error>> {
    let simulator = Simulator::new(42);
    simulator.set_latency(Latency::lognormal(Duration::from_millis(8), 0.4));
    let table = simulator.table("orders", TableOptions::key("id", KeyType::S));
    table.set_capacity(Capacity::per_second(200.0).burst(40.0));
    table.keep_journal();
    let started = Instant::now();
    let orders = (0..u64::from(ENTRIES)).map(order);
    deliver_batch_to_dynamo(
        &simulator.dynamo_client(),
        "orders",
        orders,
        &DeliveryOptions::default(),
    )
    .await?;
    let (mut waits, mut unprocessed, mut accepted) = (Vec::new(), Vec::new(), Vec::new());
    let mut rejected_at = HashMap::new();
    for record in table.journal() {
        let number = record.entry()["id"]["S"].as_str().unwrap_or_default().parse()?;
        let point = ((record.at - started).as_secs_f64() * 1_000.0, number);
        if let Some(previous) = rejected_at.remove(&record.key) {
            waits.extend([previous, point]);
        }
        if record.acknowledgement().is_applied() {
            accepted.push(point);
        } else {
            unprocessed.push(point);
            rejected_at.insert(record.key.clone(), point);
        }
    }
    let last = accepted
        .iter()
        .map(|(milliseconds, _)| *milliseconds)
        .fold(0.0, f64::max);
    let series = |name, colour, points, shape| Series {
        name,
        colour,
        points,
        shape,
    };
    Ok(Chart {
        title: "The attempts of 100 writes to a table of 200 units a second",
        x: Axis {
            name: "milliseconds",
            most: (last / 100.0).ceil() * 100.0,
            step: 100.0,
        },
        y: Axis {
            name: "entry",
            most: f64::from(ENTRIES),
            step: 10.0,
        },
        series: vec![
            series("waits", "silver", waits, Shape::Segments),
            series("unprocessed", "red", unprocessed, Shape::Dots),
            series("accepted", "blue", accepted, Shape::Dots),
        ],
    })
}

/// A count within one step, as a rate.
#[expect(clippy::cast_precision_loss, reason = "a picture is for the eye")]
fn per_second(count: u64) -> f64 {
    count as f64 / STEP.as_secs_f64()
}

fn order(number: u64) -> WriteRequest {
    let put = PutRequest::builder().item("id", AttributeValue::S(number.to_string()));
    WriteRequest::builder().set_put_request(put.build().ok()).build()
}

/// The published picture of responsive exponential backoff, whose figures a test of the library has: requests fail until the delay reaches
/// 291.9 ms, and later whenever it is 60 ms or less.
fn responsive() -> Chart {
    let strategy = Responsive::published()
        .initial_interval(Duration::from_millis(1))
        .down_multiplier(0.6)
        .down_threshold(5)
        .randomization_factor(0.0);
    let now = Moment::now();
    let (mut failures, mut successes) = (Vec::new(), Vec::new());
    let mut is_reached = false;
    for request in 0..120_u32 {
        let delay = strategy.cooldown();
        is_reached |= delay >= Duration::from_micros(291_900);
        let point = (f64::from(request), delay.as_secs_f64() * 1_000.0);
        let mut outcome = Outcome::new(now, now);
        outcome.sent = 1;
        if is_reached && delay > Duration::from_millis(60) {
            successes.push(point);
            outcome.accepted = 1;
        } else {
            failures.push(point);
            outcome.throttled = 1;
        }
        strategy.observe(&outcome);
    }
    let dots = |name, colour, points| Series {
        name,
        colour,
        points,
        shape: Shape::Dots,
    };
    Chart {
        title: "Responsive exponential backoff",
        x: Axis {
            name: "request",
            most: 120.0,
            step: 20.0,
        },
        y: Axis {
            name: "delay before it, ms",
            most: 310.0,
            step: 50.0,
        },
        series: vec![dots("failed", "red", failures), dots("succeeded", "blue", successes)],
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()?;
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/pictures");
    let charts = [
        ("adaptive", runtime.block_on(adaptive())),
        ("attempts", runtime.block_on(attempts())?),
        ("responsive", responsive()),
    ];
    for (name, chart) in charts {
        let path = format!("{folder}/{name}.svg");
        fs::write(&path, chart.svg())?;
        println!("{path}");
    }
    Ok(())
}

//! Updates of the items that match, half of which have one partition key.

use std::time::{Duration, Instant};

use aws_batch_simulator::{KeyType, Table, TableOptions, Throughput};
use serde_json::{Value, json};

use crate::options::Options;
use crate::program::{Program, Run};
use crate::served::{Meter, Served, capacity};

/// Partitions of the table.
const PARTITIONS: usize = 8;

/// Write units a second that the hot key takes: less than the 1,000 of a partition, because the simulator evaluates some hundred
/// updates a second.
const HOT_UNITS: f64 = 100.0;

/// The partition key of half of the items that match.
const HOT: &str = "busy";

/// Items of each other partition key, of which one in four matches.
const ITEMS: u64 = 20;

pub(crate) fn run(options: &Options) {
    let matching = options.count.unwrap_or(4_000);
    // Each updates half of them: that of the other keys is the same.
    let (alone, ..) = measured(options, matching, false);
    let (others, run, hot) = measured(options, matching, true);
    println!(
        "update --where of {matching} items, half of them under one key, {PARTITIONS} partitions with {} write units a second in all: \
         time / minimum of the hot key {:.3}; the last of the others after {others:.1} s, without the hot key after {alone:.1} s; peak of \
         the memory {} MB",
        options.writes,
        hot / (matching as f64 / 2.0 / HOT_UNITS),
        run.peak / 1_000
    );
}

/// When the last of the other items was updated, the run, and its seconds.
fn measured(options: &Options, matching: u64, with_hot: bool) -> (f64, Run, f64) {
    let served = Served::new(options.seed);
    let table = TableOptions::key("customer", KeyType::S).sort_key("number", KeyType::N);
    let throughput = Throughput::provisioned(options.writes).partitions(PARTITIONS);
    let throughput = throughput.burst(Duration::from_secs(1));
    let others = (0..matching * 2).map(|number| {
        item(
            &format!("customer {}", number / ITEMS),
            number,
            number.is_multiple_of(4),
        )
    });
    let hot = (0..matching / 2)
        .filter(|_| with_hot)
        .map(|number| item(HOT, number, true));
    let table = served.filled("orders", table.throughput(throughput), others.chain(hot));
    served.within(|| {
        table.set_read_capacity(capacity(options.reads));
        table.key_range(capacity(HOT_UNITS), |item| item["customer"]["S"] == HOT);
    });
    table.keep_journal();
    let (started, meter) = (tokio::time::Instant::from_std(Instant::now()), Meter::of(&table));
    let program = Program::new(&options.more);
    let endpoint = served.endpoint();
    let arguments = format!(
        "update --table orders --where #open=:yes --value :yes=true --set #seen=:yes --yes --endpoint-url {endpoint}"
    );
    let run = program.run(&arguments);
    let run = run.expect(0);
    let metered = meter.since(&table);
    let updated = matching / if with_hot { 1 } else { 2 };
    assert_eq!((metered.applied, seen(&table)), (updated, updated));
    let mut last = [0.0_f64; 2];
    for record in table
        .journal()
        .iter()
        .filter(|record| record.acknowledgement().is_applied())
    {
        let is_hot = record.entry()["Key"]["customer"]["S"] == HOT;
        let last = &mut last[usize::from(is_hot)];
        *last = last.max((record.at - started).as_secs_f64());
    }
    println!(
        "{}: {:.1} s, {:.2}% of the writes rejected; the last of the hot key after {:.1} s",
        if with_hot { "with the hot key" } else { "without it" },
        run.elapsed.as_secs_f64(),
        metered.written_rejected,
        last[1]
    );
    let elapsed = run.elapsed.as_secs_f64();
    (last[0], run, elapsed)
}

fn item(customer: &str, number: u64, is_open: bool) -> Value {
    json!({
        "customer": {"S": customer},
        "number": {"N": number.to_string()},
        "open": {"BOOL": is_open},
        "text": {"S": "x".repeat(100)},
    })
}

/// The items that were updated.
fn seen(table: &Table) -> u64 {
    table.items().iter().filter(|item| item["seen"]["BOOL"] == true).count() as u64
}

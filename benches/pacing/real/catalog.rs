//! The scenarios, each with its targets.

use std::time::Duration;

use aws_batch_simulator::{AutoScaling, Capacity, OnDemand, Throughput};

use super::scenario::{AtRandom, Best, NOTHING, Outage, Scenario};
use super::workload::{Hot, Workload};

const SECOND: Duration = Duration::from_secs(1);

pub(crate) fn scenarios() -> Vec<Scenario> {
    [
        even(),
        ordered(),
        skewed(),
        hot_in_index(),
        live(),
        at_random(),
        changing(),
        starting(),
        fleets(),
        shallow(),
    ]
    .concat()
}

/// A table of partitions with this many units per second each, and a burst of one second, like that of a busy table.
fn shared(partitions: u32, units: f64) -> Throughput {
    let all = f64::from(partitions) * units;
    Throughput::provisioned(all)
        .partitions(partitions as usize)
        .burst(SECOND)
}

/// Every key is written once, in random order: the table is the limit.
fn even() -> Vec<Scenario> {
    let unique = |name, throughput: Throughput, entries| {
        Scenario::new(name, throughput, Workload::Unique, entries).within(1.01, 1.0)
    };
    let idle = Throughput::provisioned(1000.0)
        .partitions(4)
        .burst(60 * SECOND)
        .starts_full();
    let growth = OnDemand::default().grows_after(15 * SECOND);
    let scaling = AutoScaling::within(1000.0..=4000.0).period(2 * SECOND).delay(SECOND);
    vec![
        unique("4 x 1000", shared(4, 1000.0), 120_000),
        unique("10 x 400", shared(10, 400.0), 120_000),
        unique("on demand", Throughput::on_demand(growth), 160_000),
        unique("index at half", shared(4, 1000.0), 80_000).with(|it| it.index = Some(shared(4, 500.0))),
        unique(
            "auto scaling",
            Throughput::provisioned(1000.0)
                .partitions(4)
                .burst(SECOND)
                .auto_scaling(scaling),
            100_000,
        ),
        unique("burst", idle, 150_000),
        unique("80 ms away", shared(4, 1000.0), 240_000).with(|it| it.trip = 0.080),
        unique("two processes", shared(4, 1000.0), 160_000).with(|it| {
            it.processes = 2;
            it.workers = 32;
        }),
    ]
}

/// The order of the input makes one partition after another hot.
fn ordered() -> Vec<Scenario> {
    let input = |name, workload, entries| Scenario::new(name, shared(10, 1000.0), workload, entries);
    vec![
        input("sorted, 5000 items a key", Workload::Sorted(5000), 500_000).within(1.55, 5.0),
        input("sorted, 500 items a key", Workload::Sorted(500), 300_000).within(1.2, 5.0),
        // Many keys are busy at the same time, several of them in one partition.
        input("sorted, 5000, 64 deliveries", Workload::Sorted(5000), 600_000)
            .within(1.2, 5.0)
            .waits(200.0)
            .with(|it| {
                it.deliveries = 64;
                it.in_runs = true;
            }),
        input("sorted, 500, 64 deliveries", Workload::Sorted(500), 300_000)
            .within(1.2, 5.0)
            .with(|it| it.deliveries = 64),
        // One input in the order of the hashes keeps one partition busy at a time, whatever the pace, so it has no targets.
        input("scan order", Workload::Scanned(1), 200_000),
        input("scan order, 10 inputs in turn", Workload::Scanned(10), 200_000).within(1.02, 2.0),
    ]
}

/// Some keys or items are larger than others.
fn skewed() -> Vec<Scenario> {
    let zipf = |name| {
        Scenario::new(name, shared(10, 400.0), Workload::Zipf(100), 120_000)
            .within(1.02, 1.0)
            .waits(50.0)
    };
    vec![
        zipf("Zipf on 10 x 400"),
        zipf("Zipf, two processes").with(|it| {
            it.processes = 2;
            it.workers = 32;
        }),
        Scenario::new("Zipf, 100000 keys", shared(10, 400.0), Workload::Zipf(100_000), 480_000)
            .within(1.02, 1.0)
            .waits(50.0),
        Scenario::new("sizes 0.5 to 50 KB", shared(4, 1000.0), Workload::Sizes, 15_000)
            .within(1.01, 2.0)
            .waits(500.0),
    ]
}

/// An index is the limit: of its own, or a key in it. The table's keys say nothing of either.
fn hot_in_index() -> Vec<Scenario> {
    let index = |name: &str, index, every| {
        Scenario::new(name, Throughput::default(), Workload::Unique, 20_000)
            .within(1.2, 5.0)
            .with(|it| {
                it.index = Some(index);
                it.hot_in_index = every;
            })
    };
    let hot = |every| index(&format!("1 of {every} hot in an index"), shared(10, 1000.0), every);
    let shallow = Throughput::provisioned(500.0).burst(SECOND / 10);
    let mut scenarios: Vec<_> = [1, 2, 4, 10].map(hot).into();
    scenarios.push(index("index of 500/s, 0.1 s deep", shallow, 0));
    scenarios
}

/// 3,000 entries per second arrive at a table with a capacity of 10,000.
fn live() -> Vec<Scenario> {
    let arriving = |name, seconds, hot| {
        let live = Workload::Live {
            rate: 3000.0,
            seconds,
            hot,
        };
        Scenario::new(name, shared(10, 1000.0), live, 0)
    };
    let hot = |rate, until| {
        let time = 5.0..until;
        Some(Hot { time, rate })
    };
    vec![
        arriving("live, 27% over for 30 s", 50.0, hot(1270.0, 35.0)).waits(50.0),
        arriving("live, 38% over for 60 s", 100.0, hot(1380.0, 65.0)).waits(50.0),
        Scenario::new(
            "load, a partition out for 10 s",
            shared(10, 1000.0),
            Workload::Unique,
            200_000,
        )
        .with(|it| {
            it.outage = Some(Outage {
                partition: 3,
                from: 3.0,
                until: 13.0,
            });
        }),
        arriving("live, a partition out for 30 s", 50.0, None)
            .waits(200.0)
            .with(|it| {
                it.outage = Some(Outage {
                    partition: 3,
                    from: 5.0,
                    until: 35.0,
                });
                it.targets.rejected = 5.0;
                it.targets.mean = 50.0;
            }),
    ]
}

/// Calls and entries are throttled whatever the pace.
fn at_random() -> Vec<Scenario> {
    let mut scenarios = Vec::new();
    for (share, slower) in [(0.02, 1.5), (0.05, 1.6), (0.10, 1.8)] {
        let calls = AtRandom {
            calls: share,
            entries: 0.0,
        };
        let entries = AtRandom {
            calls: 0.0,
            entries: share,
        };
        for (what, at_random) in [("calls", calls), ("entries", entries)] {
            let percent = 100.0 * share;
            let scenario = |limit, throughput: Throughput, entries| {
                let name = format!("{percent:.0}% of the {what}{limit}");
                Scenario::new(&name, throughput, Workload::Unique, entries).with(|it| {
                    it.at_random = at_random;
                    it.workers = 32;
                    it.trip = 0.005;
                })
            };
            scenarios.push(
                scenario("", Throughput::default(), 20_000)
                    .within(slower, f64::INFINITY)
                    .with(|it| it.best = Best::WithoutFaults),
            );
            scenarios.push(scenario(", 1000/s", shared(1, 1000.0), 20_000).within(1.02, 3.0));
        }
    }
    scenarios
}

/// The capacity falls to a tenth and then rises twentyfold.
fn changing() -> Vec<Scenario> {
    let throughput = Throughput::provisioned(1000.0).burst(SECOND);
    vec![
        Scenario::new("1000/s, 100/s, 2000/s", throughput, Workload::Unique, 10_000)
            .within(1.05, 2.0)
            .with(|it| it.steps = vec![(5.0, 100.0), (15.0, 2000.0)]),
    ]
}

/// A load of a second or two, of which the start is a large part.
fn starting() -> Vec<Scenario> {
    let load = |name, throughput: Throughput, entries| Scenario::new(name, throughput, Workload::Unique, entries);
    vec![
        load("start, 10 x 1000", shared(10, 1000.0), 10_000),
        load("start, 40 x 1000", shared(40, 1000.0), 40_000),
        load("start, 10 x 1000, 80 ms away", shared(10, 1000.0), 10_000).with(|it| it.trip = 0.080),
        load("start, 10 x 1000, 8 processes", shared(10, 1000.0), 16_000).with(|it| {
            it.processes = 8;
            it.workers = 8;
        }),
        load("start, no limit", Throughput::default(), 25_000).with(|it| it.workers = 32),
    ]
}

/// Many processes that share nothing write to one table.
fn fleets() -> Vec<Scenario> {
    let fleet = |processes: usize, units: u32, seconds: u32| {
        let name = format!("fleet, {processes} on {units}, {seconds} s");
        let entries = (units * seconds) as usize;
        Scenario::new(&name, shared(units / 1000, 1000.0), Workload::Unique, entries).with(|it| {
            it.processes = processes;
            it.workers = 16;
        })
    };
    let within = |time, rejected, p99, calls, jain| {
        move |it: &mut Scenario| {
            it.targets.time = time;
            it.targets.rejected = rejected;
            it.targets.p99 = p99;
            it.targets.calls = calls;
            it.targets.jain = jain;
        }
    };
    let busy = within(1.04, 2.0, 100.0, 1.05, 0.95);
    let slow = within(1.10, 8.0, 1_000.0, 1.2, 0.95);
    let crowded = within(1.15, 20.0, 10_000.0, 2.0, 0.9);
    let staggered = |scenario: Scenario, seconds| {
        scenario.with(|it| {
            it.name = format!("{}, staggered", it.name);
            it.stagger = seconds;
        })
    };
    let beside_tenant = |scenario: Scenario, rate| {
        scenario.with(|it| {
            it.name = format!("{}, live tenant", it.name);
            it.tenant = rate;
            it.entries -= (rate * it.entries as f64 / 4_000.0) as usize;
            it.targets = NOTHING;
            it.targets.tenant = 1.0;
        })
    };
    let beside_loops = |processes: usize, loops: usize| {
        fleet(processes, 4_000, 60).with(|it| {
            it.name = format!("fleet, {} beside {loops} loops on 4000", processes - loops);
            it.loops = loops;
        })
    };
    let queue = |processes: usize, rate: u32| {
        let name = format!("fleet, {processes} on a FIFO queue of {rate}");
        let throughput = Throughput::provisioned(f64::from(rate)).burst(SECOND);
        Scenario::new(&name, throughput, Workload::Unique, 60 * rate as usize).with(|it| {
            it.processes = processes;
            it.workers = 16;
            it.chunk = 10;
            it.counts_calls = true;
        })
    };
    let stream = |processes: usize, shards: usize| {
        let rate = 1_000 * shards;
        let name = format!("fleet, {processes} on a stream of {rate}");
        let throughput = Throughput::provisioned(rate as f64).partitions(shards).burst(SECOND);
        Scenario::new(&name, throughput, Workload::Unique, 60 * rate).with(|it| {
            it.processes = processes;
            it.workers = 16;
            it.chunk = 500;
            it.trip = 0.010;
        })
    };
    vec![
        queue(1, 300),
        queue(1, 3_000),
        queue(16, 300).with(slow),
        queue(16, 3_000).with(busy),
        queue(64, 3_000).with(slow),
        stream(16, 4).with(busy).with(|it| it.targets.calls = f64::INFINITY),
        fleet(8, 20_000, 30).with(busy),
        fleet(16, 4_000, 60).with(busy),
        staggered(fleet(16, 4_000, 60).with(busy), 10.0),
        fleet(64, 20_000, 30).with(busy),
        fleet(64, 20_000, 120).with(busy),
        fleet(64, 4_000, 60).with(slow),
        staggered(fleet(64, 4_000, 60).with(slow), 10.0),
        beside_tenant(fleet(64, 4_000, 60), 400.0),
        beside_loops(2, 1),
        beside_loops(5, 4),
        beside_loops(16, 8),
        fleet(400, 20_000, 60).with(slow),
        fleet(1_000, 4_000, 120).with(crowded),
    ]
}

/// The burst of a table or of a shard holds less than a call.
fn shallow() -> Vec<Scenario> {
    let stream = |shards: usize, depth: f64| {
        let name = format!("stream of {shards} shards, {depth} s deep");
        let rate = 1_000.0 * shards as f64;
        let throughput = Throughput::provisioned(rate)
            .partitions(shards)
            .burst(Duration::from_secs_f64(depth));
        Scenario::new(&name, throughput, Workload::Unique, 20_000)
            .within(1.2, f64::INFINITY)
            .with(|it| {
                it.chunk = 500;
                it.trip = 0.010;
                it.workers = 32;
            })
    };
    let table = |units: f64| {
        let name = format!("table of 1000/s, {units} units deep");
        let throughput: Throughput = Capacity::per_second(1_000.0).burst(units).into();
        Scenario::new(&name, throughput, Workload::Unique, 20_000)
            .within(1.2, f64::INFINITY)
            .with(|it| {
                it.trip = 0.010;
                it.workers = 32;
            })
    };
    [1, 2, 3, 4, 8]
        .into_iter()
        .flat_map(|shards| [1.0, 0.1, 0.05].map(|depth| stream(shards, depth)))
        .chain([50.0, 20.0, 5.0].map(table))
        .collect()
}

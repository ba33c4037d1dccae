//! A table that is emptied.

use crate::options::Options;
use crate::program::Program;
use crate::served::{Meter, Served, capacity, item, keyed};

pub(crate) fn run(options: &Options) {
    let count = options.count.unwrap_or(100_000);
    let served = Served::new(options.seed);
    let table = served.filled("items", keyed(), (0..count).map(item));
    served.within(|| {
        table.set_read_capacity(capacity(options.reads));
        table.set_capacity(capacity(options.writes));
    });
    let meter = Meter::of(&table);
    let program = Program::new(&options.more);
    let arguments = format!("delete --table items --all --yes --endpoint-url {}", served.endpoint());
    let run = program.run(&arguments).expect(0);
    let metered = meter.since(&table);
    println!(
        "delete --all of {count} items, {} read and {} write units a second: time / minimum {:.3}; {:.2}% of the reads and {:.2}% of \
         the writes rejected; {} left; peak of the memory {} MB",
        options.reads,
        options.writes,
        run.elapsed.as_secs_f64() / (count as f64 / options.writes),
        metered.read_rejected,
        metered.written_rejected,
        table.len(),
        run.peak / 1_000
    );
    assert!(table.is_empty());
}

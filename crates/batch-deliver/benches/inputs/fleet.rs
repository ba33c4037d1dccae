//! Many processes that share nothing load one input into one table, each a shard of it.

use std::fmt::Write as _;
use std::fs;

use crate::options::Options;
use crate::program::Program;
use crate::served::{Meter, Served, item, keyed, written};

pub(crate) fn run(options: &Options) {
    let count = options.count.unwrap_or(240_000);
    let processes = options.processes;
    let served = Served::new(options.seed);
    let input = tempfile::NamedTempFile::with_suffix(".jsonl").expect("a file");
    let lines = (0..count).fold(String::new(), |mut lines, id| {
        let _ = writeln!(lines, "{}", item(id));
        lines
    });
    fs::write(input.path(), lines).expect("a file that can be written");
    let table = served.table("items", written(keyed(), options));
    let meter = Meter::of(&table);
    let started = std::time::Instant::now();
    let programs: Vec<Program> = (0..processes).map(|_| Program::new(&options.more)).collect();
    let runs: Vec<_> = std::thread::scope(|scope| {
        let runs = programs.iter().enumerate().map(|(shard, program)| {
            let (path, endpoint) = (input.path().display(), served.endpoint());
            let arguments = format!(
                "load --table items {path} --format dynamodb --shard {shard}/{processes} --concurrency 16 --endpoint-url {endpoint}"
            );
            scope.spawn(move || program.run(&arguments).expect(0))
        });
        let runs: Vec<_> = runs.collect();
        runs.into_iter().map(|run| run.join().expect("a run")).collect()
    });
    let elapsed = started.elapsed().as_secs_f64();
    let metered = meter.since(&table);
    assert_eq!(metered.applied, count, "nothing is lost and nothing is written twice");
    let first = runs
        .iter()
        .map(|run| run.elapsed.as_secs_f64())
        .fold(f64::INFINITY, f64::min);
    println!(
        "load of {count} items by {processes} processes, {} partitions with {} write units a second in all: {elapsed:.1} s, time / minimum \
         {:.3}, {:.2}% of the writes rejected; the first process ended after {first:.1} s",
        options.partitions,
        options.writes,
        elapsed / (count as f64 / options.writes),
        metered.written_rejected,
    );
}

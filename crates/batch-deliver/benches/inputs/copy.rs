//! Copies of a table.

use std::time::{Duration, Instant};

use aws_batch_simulator::Table;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use serde_json::json;

use crate::options::Options;
use crate::program::Program;
use crate::served::{Meter, Served, capacity, item, keyed, written};

/// Items that may be written twice after a kill, as the program prints it.
const BOUND: u64 = 11_000;

pub(crate) fn run(options: &Options) {
    let count = options.count.unwrap_or(1_000_000);
    let served = Served::new(options.seed);
    let from = served.filled("source", keyed(), (0..count).map(item));
    served.within(|| from.set_read_capacity(capacity(options.reads)));
    let to = served.table("target", written(keyed(), options));
    let program = Program::new(&options.more);
    let endpoint = served.endpoint();
    let arguments = format!("copy --from source --to target --endpoint-url {endpoint}");
    let (reads, writes) = (Meter::of(&from), Meter::of(&to));
    let started = Instant::now();
    let kills = if options.kills == 0 {
        let run = program.run(&arguments).expect(0);
        println!("peak of the memory: {} MB", run.peak / 1_000);
        0
    } else {
        killed(&program, &format!("{arguments} --resume state"), count, options)
    };
    let elapsed = started.elapsed().as_secs_f64();
    let (reads, writes) = (reads.since(&from), writes.since(&to));
    println!(
        "copy of {count} items, {} read and {} write units a second, {} partitions, {kills} kills: time / minimum {:.3}; \
         {:.2}% of the reads and {:.2}% of the writes rejected; {:.0} read units",
        options.reads,
        options.writes,
        options.partitions,
        elapsed / (count as f64 / options.writes),
        reads.read_rejected,
        writes.written_rejected,
        reads.read_units,
    );
    let (lost, twice) = (missing(&from, &to, count), writes.applied - count);
    println!(
        "lost or different: {lost}; written twice: {twice}, at most {}",
        BOUND * u64::from(kills)
    );
    assert_eq!((lost, to.len() as u64), (0, count));
    assert!(twice <= BOUND * u64::from(kills));
    let diff = program
        .run(&format!("diff source target --endpoint-url {endpoint}"))
        .expect(0);
    print!("diff: {}", diff.stderr);
}

/// Copies with as many kills as are asked for, at random moments, and returns their number.
fn killed(program: &Program, arguments: &str, count: u64, options: &Options) -> u32 {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(options.seed);
    // On average a run comes so far that all kills have their time.
    let mean = count as f64 / options.writes / f64::from(options.kills + 1);
    let mut kills = 0;
    loop {
        let after = random.random_range(0.0..2.0 * mean);
        let after = (kills < options.kills).then(|| Duration::from_secs_f64(after));
        let run = program.run_until(arguments, after);
        match run.code {
            None => {
                kills += 1;
                println!("killed after {:.2} s", run.elapsed.as_secs_f64());
            }
            Some(0) => {
                print!("{}", run.stderr);
                return kills;
            }
            Some(code) => panic!("{code}: {}", run.stderr),
        }
    }
}

/// The items of one table that the other one has not, or not so.
fn missing(from: &Table, to: &Table, count: u64) -> u64 {
    let key = |id: u64| json!({"id": {"N": id.to_string()}});
    (0..count)
        .filter(|id| from.item(&key(*id)) != to.item(&key(*id)))
        .count() as u64
}

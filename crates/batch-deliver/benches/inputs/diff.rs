//! Two tables that differ in three items.

use crate::options::Options;
use crate::program::Program;
use crate::served::{Meter, Served, capacity, item, keyed};

pub(crate) fn run(options: &Options) {
    let count = options.count.unwrap_or(1_000_000);
    let served = Served::new(options.seed);
    let first = served.filled("first", keyed(), (0..count).map(item));
    // One item is missing in each, and one has another text.
    let (only_in_first, only_in_second, different) = (count / 4, count, count / 2);
    let second = served.filled(
        "second",
        keyed(),
        (0..=count).map(|id| {
            let mut item = item(id);
            if id == different {
                item["text"]["S"] = "another".into();
            }
            item
        }),
    );
    served.delete("second", [only_in_first]);
    served.within(|| {
        for table in [&first, &second] {
            table.set_read_capacity(capacity(options.reads));
        }
    });
    let meters = [Meter::of(&first), Meter::of(&second)];
    let program = Program::new(&options.more);
    let run = program
        .run(&format!("diff first second --endpoint-url {}", served.endpoint()))
        .expect(1);
    let metered = [meters[0].since(&first), meters[1].since(&second)];
    print!("{}{}", run.stderr, run.stdout);
    let units = metered[0].read_units.max(metered[1].read_units);
    println!(
        "diff of {count} items, {} read units a second each: {:.1} s, time / minimum {:.3}; {:.2}% and {:.2}% of the reads rejected; \
         peak of the memory {} MB",
        options.reads,
        run.elapsed.as_secs_f64(),
        run.elapsed.as_secs_f64() / (units / options.reads),
        metered[0].read_rejected,
        metered[1].read_rejected,
        run.peak / 1_000
    );
    let mut lines: Vec<&str> = run.stdout.lines().collect();
    lines.sort_unstable();
    let line = |difference: &str, id: u64| format!(r#"{{"difference":"{difference}","key":{{"id":{{"N":"{id}"}}}}}}"#);
    assert_eq!(
        lines,
        [
            line("different", different),
            line("only_in_first", only_in_first),
            line("only_in_second", only_in_second)
        ]
    );
}

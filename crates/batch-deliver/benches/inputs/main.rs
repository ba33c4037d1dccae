//! Tables and queues as inputs of the program, with many items: how close it comes to the minimum of time, how much is rejected, how
//! much memory it takes, and what kills cost.
//!
//! The simulator is served on a socket by this process, in real time. The program is a process of its own, which is killed with SIGKILL
//! at random moments and started again. What came of it is judged by the contents of the simulator.
//!
//! ```sh
//! cargo bench --bench inputs -- copy --count 1000000                                  # 17 minutes: 1,000 write units a second
//! cargo bench --bench inputs -- copy --count 1000000 --writes 20000 --kills 20        # SIGKILL at 20 random moments
//! cargo bench --bench inputs -- diff --count 1000000                                  # two tables that differ in 3 items
//! cargo bench --bench inputs -- delete --count 100000                                 # all items of a table
//! cargo bench --bench inputs -- move --count 100000 --kills 5                         # a standard queue, and a FIFO queue
//! cargo bench --bench inputs -- update   # half of what matches has one key
//! cargo bench --bench inputs -- fleet --writes 4000 --partitions 4 --processes 64     # a shard of the input each
//! ```
//!
//! Each takes `--count N`, `--seed N`, `--reads RATE`, `--writes RATE`, `--kills N`, `--partitions N`, `--processes N` as far as it has them, and what is
//! behind a further `--` are arguments of the program.

#![allow(clippy::cast_precision_loss, reason = "the counts are small")]

mod copy;
mod delete;
mod diff;
mod fleet;
mod moved;
mod options;
mod program;
mod served;
mod update;

use self::options::Options;

fn main() {
    let (command, options) = Options::given();
    match command.as_str() {
        "copy" => copy::run(&options),
        "delete" => delete::run(&options),
        "diff" => diff::run(&options),
        "fleet" => fleet::run(&options),
        "move" => moved::run(&options),
        "update" => update::run(&options),
        other => panic!("there is no {other}: copy, delete, diff, fleet, move or update"),
    }
}

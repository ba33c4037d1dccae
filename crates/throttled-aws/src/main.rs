//! The program `throttled-aws`: see the crate of the same name.

use std::process::ExitCode;

fn main() -> ExitCode {
    throttled_aws::program::main()
}

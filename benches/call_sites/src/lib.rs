//! A target that accepts every line, for programs that differ in how often they deliver to it.

use aws_batch_delivery::InvalidEntry;
use aws_batch_delivery::targets::{Answer, BatchTarget, Limits, Verdict};

/// Accepts every line.
pub struct Lines;

impl BatchTarget for Lines {
    type Entry = String;

    fn limits(&self) -> Limits {
        Limits::new(10, 4_096)
    }

    fn check(&self, line: &String) -> Result<usize, InvalidEntry> {
        Ok(line.len())
    }

    async fn send(&self, _: &[String]) -> Answer {
        Answer::Whole(Verdict::Accepted)
    }
}

/// Delivers once for each number, each time from an iterator of another type.
#[macro_export]
macro_rules! deliver {
    ($($number:literal)*) => {
        #[tokio::main(flavor = "current_thread")]
        async fn main() {
            let delivery = aws_batch_delivery::Delivery::new(call_sites::Lines);
            $(
                let report = delivery.deliver((0..100).map(|line| format!("{line} of {}", $number))).await;
                println!("{}", report.is_ok());
            )*
        }
    };
}

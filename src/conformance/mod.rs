//! Tests that a target keeps its contract, with a simulated service.
//!
//! A [`Fixture`] makes the target and its entries, and translates between the wire format of the service and [`Service`],
//! which simulates the service: it records which entries arrive and decides what to answer. [`check`] then runs random
//! deliveries with every kind of answer that the service can give, and compares the result of the delivery with what the
//! service has, entry by entry.
//!
//! ```
//! use aws_batch_delivery::InvalidEntry;
//! use aws_batch_delivery::conformance::{self, Fixture, Reply, Said, Service};
//! use aws_batch_delivery::targets::{Answer, BatchTarget, Fault, Limits, Rejection, Verdict};
//!
//! /// Appends lines to a log service, which says `ok`, `busy` or `bad` of each.
//! struct Log {
//!     service: Service,
//!     limits: Limits,
//! }
//!
//! impl BatchTarget for Log {
//!     type Entry = String;
//!
//!     fn limits(&self) -> Limits {
//!         self.limits
//!     }
//!
//!     fn check(&self, line: &String) -> Result<usize, InvalidEntry> {
//!         Ok(line.len())
//!     }
//!
//!     async fn send(&self, lines: &[String]) -> Answer {
//!         // Real targets make a call here, whose other end asks the service.
//!         let numbers: Vec<usize> = lines.iter().map(|line| number(line)).collect();
//!         match self.service.call(&numbers) {
//!             Reply::Each { said, .. } => Answer::Each(said.into_iter().map(verdict).collect()),
//!             Reply::Whole(said) => Answer::Whole(verdict(said)),
//!         }
//!     }
//! }
//!
//! fn number(line: &str) -> usize {
//!     line.split(' ').next().unwrap().parse().unwrap()
//! }
//!
//! fn verdict(said: Said) -> Verdict {
//!     match said {
//!         Said::Accepted => Verdict::Accepted,
//!         Said::Throttled => Verdict::Rejected(Rejection::Throttled, Fault::new("busy")),
//!         Said::Refused => Verdict::Refused(Fault::new("bad")),
//!         _ => Verdict::Rejected(Rejection::Transient, Fault::new("no answer").may_have_been_applied()),
//!     }
//! }
//!
//! struct LogFixture;
//!
//! impl Fixture for LogFixture {
//!     type Target = Log;
//!
//!     fn target(&self, service: Service, limits: Option<Limits>) -> Log {
//!         Log { service, limits: limits.unwrap_or(Limits::new(100, 10_000)) }
//!     }
//!
//!     fn entry(&self, number: usize, bytes: usize) -> String {
//!         format!("{number} {}", "x".repeat(bytes))
//!     }
//!
//!     fn number(&self, line: &String) -> usize {
//!         number(line)
//!     }
//!
//!     fn says_of_an_entry(&self) -> &[Said] {
//!         &[Said::Accepted, Said::Throttled, Said::Refused]
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! // In a `#[tokio::test(start_paused = true)]`:
//! conformance::check(LogFixture, 200).await;
//! # }
//! ```
//!
//! # What is checked
//! - No call has more entries or bytes than the limits, none is empty, and full calls are full.
//! - What the service has accepted, and has said so, is not sent again; nor is what it has refused.
//! - What it throttled, failed at, said an unknown code of or said nothing of is sent again, until it is accepted.
//! - An entry for which a call is refused as a whole is found, and its neighbours are delivered.
//! - Each entry is delivered or handed back, exactly once. What is reported as delivered the service has, and of what is handed back as
//!   [surely not delivered](crate::Undelivered::may_have_been_delivered) it has nothing.
//! - An entry that is too large is handed back unsent.

mod fixture;
mod service;
mod trial;

pub use fixture::Fixture;
pub use service::{Reply, Said, Service};

/// Checks the target with `cases` random deliveries, and with one at each limit.
///
/// Run it on a paused clock, `#[tokio::test(start_paused = true)]`, unless the target makes its calls over sockets. The
/// cases are the same in every run.
///
/// # Panics
/// When the target breaks its contract. The message names the case, the entry and what happened to it.
pub async fn check<F: Fixture>(fixture: F, cases: u64) {
    trial::at_the_limits(&fixture).await;
    for case in 0..cases {
        trial::at_random(&fixture, case).await;
    }
}

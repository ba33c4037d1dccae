//! The parts of a run, what each makes, and what it takes.

mod answers_of_queues;
mod answers_of_tables;
mod copy;
mod queues;
mod tables;

use anyhow::Result;
use clap::ValueEnum;

use crate::figures::{Answer, Figures};
use crate::place::Place;
use crate::price::Work;
use crate::tell::tell;

/// A part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Single calls to tables, one after another: limits, errors, units
    TableAnswers,
    /// Single calls to queues, one after another: limits, errors
    QueueAnswers,
    /// A provisioned table of 1,000 write units a second
    Bucket,
    /// An on-demand table that was just created, keys in any order
    Cold,
    /// An on-demand table, sorted by partition key
    HotKey,
    /// A FIFO queue
    Fifo,
    /// A standard queue
    Standard,
    /// `batch-deliver copy` from one on-demand table to another
    Copy,
    /// An on-demand table, through a proxy that loses connections
    Lost,
}

/// What a part found.
#[derive(Debug)]
pub(crate) enum Outcome {
    Figures(Figures),
    Answers(Vec<Answer>),
}

/// Messages of a call to a queue.
const MESSAGES: f64 = 10.0;
/// A consistent scan reads 4 KB for a unit. An item of the parts has at most this share of them.
const READ_OF_ITEM: f64 = 0.05;

impl Part {
    pub(crate) fn name(self) -> String {
        self.to_possible_value()
            .map(|value| value.get_name().to_owned())
            .unwrap_or_default()
    }

    /// Whether it makes queues; otherwise it makes tables.
    pub(crate) fn is_of_queues(self) -> bool {
        matches!(self, Self::QueueAnswers | Self::Fifo | Self::Standard)
    }

    /// Writes or messages, with the share of them that is asked for.
    pub(crate) fn entries(self, scale: f64) -> u64 {
        let all = match self {
            Self::TableAnswers | Self::QueueAnswers => 0_u32,
            Self::Bucket | Self::Fifo => 60_000,
            Self::Cold => 120_000,
            Self::HotKey | Self::Copy => 40_000,
            Self::Standard => 100_000,
            Self::Lost => 20_000,
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "far below the largest number, and not negative"
        )]
        let entries = (f64::from(all) * scale).ceil() as u64;
        entries
    }

    /// What AWS charges for at most. Rejected writes are free; rejected calls to queues are counted as often as those that succeed.
    pub(crate) fn work(self, scale: f64) -> Work {
        #[expect(clippy::cast_precision_loss, reason = "far below the largest number")]
        let entries = self.entries(scale) as f64;
        let on_demand = Work {
            writes: entries,
            reads: entries * READ_OF_ITEM,
            ..Work::default()
        };
        match self {
            // Single items, of which a few are large.
            Self::TableAnswers => Work {
                writes: 2_000.0,
                reads: 1_000.0,
                provisioned_writes: 1.0,
                provisioned_reads: 1.0,
                ..Work::default()
            },
            Self::QueueAnswers => Work {
                requests: 200.0,
                fifo_requests: 100.0,
                ..Work::default()
            },
            Self::Bucket => Work {
                provisioned_writes: f64::from(tables::BUCKET_WRITES),
                provisioned_reads: f64::from(tables::BUCKET_READS),
                ..Work::default()
            },
            Self::Cold | Self::HotKey => on_demand,
            // It fills one table, reads it, and writes the other; the items of both are counted.
            Self::Copy => {
                on_demand
                    + on_demand
                    + Work {
                        reads: entries * READ_OF_ITEM,
                        ..Work::default()
                    }
            }
            // What was written without an answer is written again.
            Self::Lost => on_demand + on_demand,
            Self::Fifo => Work {
                fifo_requests: 2.0 * entries / MESSAGES,
                ..Work::default()
            },
            Self::Standard => Work {
                requests: 2.0 * entries / MESSAGES,
                ..Work::default()
            },
        }
    }

    /// Runs it, and deletes what it has made.
    pub(crate) async fn run(self, place: &Place, scale: f64) -> Result<Outcome> {
        place.tally.take();
        let entries = self.entries(scale);
        let outcome = match self {
            Self::TableAnswers => answers_of_tables::run(place).await.map(Outcome::Answers),
            Self::QueueAnswers => answers_of_queues::run(place).await.map(Outcome::Answers),
            Self::Bucket => tables::bucket(place, entries).await.map(Outcome::Figures),
            Self::Cold => tables::cold(place, entries).await.map(Outcome::Figures),
            Self::HotKey => tables::hot_key(place, entries).await.map(Outcome::Figures),
            Self::Lost => tables::lost(place, entries).await.map(Outcome::Figures),
            Self::Fifo => queues::run(place, true, entries).await.map(Outcome::Figures),
            Self::Standard => queues::run(place, false, entries).await.map(Outcome::Figures),
            Self::Copy => copy::run(place, entries).await.map(Outcome::Figures),
        };
        for (left, error) in place.belongings.delete_all().await {
            // It is tried again at the end.
            tell!("{} is not deleted yet: {error:#}", left.name());
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::price::most;

    fn all(scale: f64) -> Work {
        Part::value_variants()
            .iter()
            .fold(Work::default(), |work, part| work + part.work(scale))
    }

    #[test]
    fn a_whole_run_costs_less_than_the_cap_in_any_region() {
        let dollars = most(&all(1.0), "sa-east-1");
        assert!(dollars < crate::arguments::LARGEST_CAP, "{dollars}");
    }

    #[test]
    fn a_smaller_run_costs_no_more() {
        assert!(all(0.01).dollars() < all(1.0).dollars());
        assert_eq!(Part::Cold.entries(0.01), 1_200);
        assert_eq!(Part::Lost.entries(0.000_1), 2);
    }
}

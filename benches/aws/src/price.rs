//! What the run costs: the prices of AWS, and the work of a part.

use std::fmt::Write as _;
use std::ops::Add;

/// Where the prices are from: they were read on 2026-11-29 from pages of others that quote AWS's own.
pub(crate) const SOURCE: &str =
    "AWS's price pages of DynamoDB (since 2024-11-01) and SQS for us-east-1, as quoted in July 2025 and March 2026";
/// On demand, a unit.
const WRITE_UNIT: f64 = 0.625e-6;
const READ_UNIT: f64 = 0.125e-6;
/// Provisioned, a unit a second for an hour.
const WRITE_UNIT_HOUR: f64 = 0.000_65;
const READ_UNIT_HOUR: f64 = 0.000_13;
/// A request of a standard queue, and of a FIFO queue. The first million of a month is free, which is not counted on.
const REQUEST: f64 = 0.40e-6;
const FIFO_REQUEST: f64 = 0.50e-6;
/// An hour that has begun is charged. A table is there for less than one, which may be part of two.
const HOURS: f64 = 2.0;
/// How much more other regions may cost.
pub(crate) const OTHER_REGIONS: f64 = 2.0;
const NORTH_VIRGINIA: &str = "us-east-1";

/// What AWS charges for.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Work {
    /// Write units of on-demand tables.
    pub(crate) writes: f64,
    /// Read units of on-demand tables.
    pub(crate) reads: f64,
    /// Write units a second of a provisioned table.
    pub(crate) provisioned_writes: f64,
    /// Read units a second of a provisioned table.
    pub(crate) provisioned_reads: f64,
    /// Requests of standard queues.
    pub(crate) requests: f64,
    /// Requests of FIFO queues.
    pub(crate) fifo_requests: f64,
}

impl Work {
    /// What it costs in us-east-1.
    pub(crate) fn dollars(&self) -> f64 {
        self.positions()
            .iter()
            .map(|position| position.count * position.price)
            .sum()
    }

    fn positions(&self) -> [Position; 6] {
        let position = |what, count, price| Position { what, count, price };
        [
            position("write units, on demand", self.writes, WRITE_UNIT),
            position("read units, on demand", self.reads, READ_UNIT),
            position(
                "hours of a write unit",
                self.provisioned_writes * HOURS,
                WRITE_UNIT_HOUR,
            ),
            position("hours of a read unit", self.provisioned_reads * HOURS, READ_UNIT_HOUR),
            position("requests of standard queues", self.requests, REQUEST),
            position("requests of FIFO queues", self.fifo_requests, FIFO_REQUEST),
        ]
    }
}

impl Add for Work {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            writes: self.writes + other.writes,
            reads: self.reads + other.reads,
            provisioned_writes: self.provisioned_writes + other.provisioned_writes,
            provisioned_reads: self.provisioned_reads + other.provisioned_reads,
            requests: self.requests + other.requests,
            fifo_requests: self.fifo_requests + other.fifo_requests,
        }
    }
}

struct Position {
    what: &'static str,
    count: f64,
    price: f64,
}

/// The most that the work may cost in the region.
pub(crate) fn most(work: &Work, region: &str) -> f64 {
    let factor = if region == NORTH_VIRGINIA { 1.0 } else { OTHER_REGIONS };
    work.dollars() * factor
}

/// The estimate in words: each part, each price, and the sum.
pub(crate) fn estimate(parts: &[(String, Work)], region: &str) -> String {
    let mut text = String::from("What it costs, in dollars:\n");
    let mut all = Work::default();
    for (part, work) in parts {
        // A `String` takes everything.
        let _ = writeln!(text, "  {part:<20} {:>8.4}", work.dollars());
        all = all + *work;
    }
    let _ = writeln!(text, "The prices:");
    for Position { what, count, price } in all.positions().iter().filter(|position| position.count > 0.0) {
        let _ = writeln!(text, "  {count:>12.0} {what:<28} at {price:.9} = {:.4}", count * price);
    }
    let _ = writeln!(text, "From {SOURCE}; a month's free units are not counted.");
    let _ = writeln!(text, "In all {:.2} in {NORTH_VIRGINIA}.", all.dollars());
    if region != NORTH_VIRGINIA {
        let _ = writeln!(
            text,
            "{region} may cost up to twice as much: {:.2}.",
            most(&all, region)
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_writes_cost_the_published_price() {
        let work = Work {
            writes: 1e6,
            reads: 1e6,
            ..Work::default()
        };
        assert!((work.dollars() - 0.75).abs() < 1e-9, "{}", work.dollars());
        let work = Work {
            requests: 1e6,
            fifo_requests: 1e6,
            ..Work::default()
        };
        assert!((work.dollars() - 0.90).abs() < 1e-9, "{}", work.dollars());
    }

    #[test]
    fn a_provisioned_table_is_charged_for_two_hours() {
        let work = Work {
            provisioned_writes: 1_000.0,
            ..Work::default()
        };
        assert!((work.dollars() - 1.30).abs() < 1e-9, "{}", work.dollars());
    }

    #[test]
    fn the_cap_is_compared_with_twice_the_price_elsewhere() {
        let work = Work {
            writes: 1e6,
            ..Work::default()
        };
        assert!((most(&work, "us-east-1") - 0.625).abs() < 1e-9);
        assert!((most(&work, "sa-east-1") - 1.25).abs() < 1e-9);
    }

    #[test]
    fn the_estimate_has_each_part_each_price_and_the_sum() {
        let parts = [
            (
                "cold".to_owned(),
                Work {
                    writes: 1e6,
                    ..Work::default()
                },
            ),
            (
                "fifo".to_owned(),
                Work {
                    fifo_requests: 1e6,
                    ..Work::default()
                },
            ),
        ];
        let text = estimate(&parts, "eu-west-1");
        for words in [
            "cold",
            "0.6250",
            "at 0.000000625",
            "0.5000",
            "In all 1.12",
            "twice as much: 2.25",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(!text.contains("standard queues"), "{text}");
    }
}

//! What a command that reads a table is about: items, units and, by the prices that are given, dollars.

use serde_json::{Value, json};

use crate::console::{Console, counted, dollars, grouped, rate, size};
use crate::outcome::{CommandOutcome, Failure};
use crate::sink::ExistingTable;
use crate::source::TableReads;

/// Bytes that a read unit covers in an eventually consistent read, and a write unit.
const READ_UNIT: u64 = 8_192;
const WRITE_UNIT: u64 = 1_024;

/// Units of a price.
const MILLION: f64 = 1e6;

/// The items that a command is about, and what it takes.
#[derive(Default)]
pub(super) struct Estimate {
    /// What is printed about the items.
    pub(super) words: String,
    pub(super) items: u64,
    /// Their bytes, if they are known.
    pub(super) bytes: Option<u64>,
    pub(super) read_units: f64,
    /// `None` if the command writes to no table, or it is not known how large the items are.
    pub(super) write_units: Option<u64>,
    /// Dollars of a million units, if they are given.
    pub(super) read_price: Option<f64>,
    pub(super) write_price: Option<f64>,
}

impl Estimate {
    /// Of reading a table, by its description, which is up to six hours old. The items of one partition key are counted.
    pub(super) async fn by(table: &ExistingTable, reads: &TableReads) -> Result<Self, Failure> {
        if reads.key_condition.is_some() {
            return Self::counted(table, reads).await;
        }
        let Some((items, bytes)) = table.size() else {
            return Err(Failure::WrongUse(format!(
                "dynamodb:DescribeTable is not permitted, so how many items {} has is not known without reading it",
                reads.table
            )));
        };
        let units = bytes.div_ceil(READ_UNIT) * if reads.is_consistent { 2 } else { 1 };
        let before_filter = if reads.filter.is_some() {
            " before the filter"
        } else {
            ""
        };
        #[expect(clippy::cast_precision_loss, reason = "it is an estimate")]
        Ok(Self {
            items,
            bytes: Some(bytes),
            read_units: units as f64,
            words: format!(
                "{} has about {}{before_filter}, {}, as of up to six hours ago",
                reads.table,
                counted(items, "item"),
                size(bytes),
            ),
            ..Self::default()
        })
    }

    /// Of reading items that are counted. Their size is the average one, if the table reports it.
    pub(super) async fn counted(table: &ExistingTable, reads: &TableReads) -> Result<Self, Failure> {
        let figures = reads.count(table.client.clone()).await?;
        let average = table.size().and_then(|(items, bytes)| bytes.checked_div(items));
        Ok(Self {
            items: figures.items,
            bytes: Some(average.unwrap_or_default() * figures.items),
            read_units: figures.units,
            words: format!(
                "{} of {}, counted with {} read units",
                counted(figures.items, "item"),
                reads.table,
                rate(figures.units)
            ),
            ..Self::default()
        })
    }

    /// Prints it, and that `nothing` has happened.
    pub(super) fn print(&self, console: &Console, nothing: &str) -> Result<CommandOutcome, Failure> {
        let (reads, writes, all) = self.dollars();
        let cost = |words: String, dollars_of: Option<f64>| match dollars_of {
            None => words,
            Some(dollars_of) => format!("{words} for {}", dollars(dollars_of)),
        };
        let mut words = vec![cost(format!("{} read units", units(self.read_units)), reads)];
        words.extend(
            self.write_units
                .map(|units| cost(format!("{} write units", grouped(units)), writes)),
        );
        words.extend(
            all.filter(|_| writes.is_some())
                .map(|all| format!("{} in all", dollars(all))),
        );
        console.info(&format!("{}: {}; {nothing}", self.words, words.join(", ")));
        console.report(&self.event())?;
        Ok(CommandOutcome::Delivered)
    }

    /// Of the reads, of the writes, and of both. What has no price is not known.
    fn dollars(&self) -> (Option<f64>, Option<f64>, Option<f64>) {
        #[expect(clippy::cast_precision_loss, reason = "dollars are rounded")]
        let writes = self.write_units.map(|units| units as f64);
        let reads = self.read_price.map(|price| price * self.read_units / MILLION);
        let of_writes = self.write_price.zip(writes);
        let of_writes = of_writes.map(|(price, units)| price * units / MILLION);
        let all = match (reads, of_writes, writes) {
            (Some(reads), Some(writes), _) => Some(reads + writes),
            (Some(reads), None, None) => Some(reads),
            _ => None,
        };
        (reads, of_writes, all)
    }

    fn event(&self) -> Value {
        let (read_dollars, write_dollars, dollars) = self.dollars();
        let members = [
            ("event", json!("dry_run")),
            ("items", json!(self.items)),
            ("bytes", json!(self.bytes)),
            ("read_units", json!(self.read_units)),
            ("write_units", json!(self.write_units)),
            ("read_dollars", json!(read_dollars)),
            ("write_dollars", json!(write_dollars)),
            ("dollars", json!(dollars)),
        ];
        let known = members.into_iter().filter(|(_, value)| !value.is_null());
        known.map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// The write units of this many items of the average size of these items with these bytes.
pub(super) fn write_units(items: u64, (of_items, bytes): (u64, u64)) -> u64 {
    let average = bytes.checked_div(of_items).unwrap_or_default();
    items * average.div_ceil(WRITE_UNIT).max(1)
}

/// Whole units without a fraction.
fn units(units: f64) -> String {
    if units < 10.0 && units.fract() == 0.0 {
        format!("{units:.0}")
    } else {
        rate(units)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_takes_a_write_unit_for_each_started_kilobyte_of_the_average() {
        assert_eq!(write_units(10, (0, 0)), 10);
        assert_eq!(write_units(10, (4, 4 * 1_024)), 10);
        assert_eq!(write_units(10, (4, 4 * 1_025)), 20);
    }

    #[test]
    fn only_what_has_a_price_has_dollars() {
        let dollars = |read_price, write_price, write_units| {
            let estimate = Estimate {
                words: String::new(),
                items: 1,
                bytes: None,
                read_units: 2e6,
                write_units,
                read_price,
                write_price,
            };
            estimate.dollars()
        };
        assert_eq!(dollars(None, None, Some(1)), (None, None, None));
        assert_eq!(dollars(Some(0.25), None, None), (Some(0.5), None, Some(0.5)));
        assert_eq!(dollars(Some(0.25), None, Some(1)), (Some(0.5), None, None));
        let both = dollars(Some(0.25), Some(1.25), Some(4_000_000));
        assert_eq!(both, (Some(0.5), Some(5.0), Some(5.5)));
    }
}

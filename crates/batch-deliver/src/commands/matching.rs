//! Deletes and updates the items of a table that an expression holds for, or all of them.

use super::estimate::{Estimate, write_units};
use super::mismatch::mismatch;
use super::question::{can_ask, question};
use super::simulation::{Simulation, table};
use super::site;
use super::table::needed;
use super::table_delivery::TableDelivery;
use crate::arguments::{
    CommonArguments, Condition, DeleteArguments, MatchArguments, SimulatedContent, TableArguments, UpdateArguments,
};
use crate::blocking::block_in_place;
use crate::console::{Console, counted, grouped};
use crate::format::{Item, Key, Writes};
use crate::job::Job;
use crate::keeping::Places;
use crate::outcome::{CommandOutcome, Failure};
use crate::sink::{
    self, BatchTarget, Change, Destination, DynamoTable, ExistingTable, Expressions, ItemWrite, PaceOptions, Settings,
    Target,
};
use crate::source::{Flaw, TableReads};

/// Deletes the items.
pub(super) async fn delete(arguments: DeleteArguments) -> Result<CommandOutcome, Failure> {
    let DeleteArguments {
        from,
        yes,
        matching,
        condition,
        ..
    } = arguments;
    if condition.expression.is_some() || condition.failed.is_some() {
        let words = "--condition and --failed are about the records of inputs: for items of the table, give --where";
        return Err(Failure::WrongUse(words.to_owned()));
    }
    let reads = matching.reads(&from.table, &condition).checked()?;
    let items = MatchedItems::of(&from, reads, &matching.simulation, Verb::Delete).await?;
    if from.common.dry_run {
        return items.dry_run(&matching, 1).await;
    }
    items.ask(yes).await?;
    let (key, destination) = (items.key.clone(), items.destination());
    let Some(filter) = matching.filter else {
        let writes = Writes::deletes(key);
        let delivery = items.deliver(destination, Settings::new(), move |item| writes.of(item));
        return Box::pin(delivery).await;
    };
    let entry = written(&condition, Change::Delete(key), filter);
    let delivery = items.deliver(sink::item_writes(destination)?, Settings::new(), entry);
    Box::pin(delivery).await
}

/// Updates the items.
pub(super) async fn update(arguments: UpdateArguments) -> Result<CommandOutcome, Failure> {
    let expression = arguments.expression();
    let UpdateArguments {
        from,
        yes,
        matching,
        condition,
        ..
    } = arguments;
    let filter = matching.filter.clone().unwrap_or_default();
    let reads = matching
        .reads(&from.table, &condition)
        .beside(&[&expression])?
        .checked()?;
    let items = MatchedItems::of(&from, reads, &matching.simulation, Verb::Update).await?;
    if from.common.dry_run {
        let change = Change::Update(items.key.clone(), expression.clone());
        let write = expressions(&condition, change, filter).complete(ItemWrite::update(Item::new(), &expression));
        let writes = sink::item_writes(items.destination())?.target;
        return items.dry_run(&matching, writes.units(&write)).await;
    }
    items.ask(yes).await?;
    let (key, destination) = (items.key.clone(), items.destination());
    let mut settings = vec![("update", expression.clone())];
    settings.extend(condition.settings().into_iter().map(|(option, given)| match option {
        // Those of the filter are known by their own names.
        "--name" => ("names", given),
        "--value" => ("values", given),
        option => (option, given),
    }));
    let entry = written(&condition, Change::Update(key, expression), filter);
    Box::pin(items.deliver(sink::item_writes(destination)?, settings, entry)).await
}

/// Makes a write of each item, on the condition that it is still meant: it may have changed since it was read.
pub(super) fn written(
    condition: &Condition,
    change: Change,
    filter: String,
) -> impl Fn(Item) -> Result<ItemWrite, Flaw> + Send + Sync + use<> {
    let expressions = expressions(condition, change, filter);
    let writes = Writes::puts(None);
    move |item| expressions.write(writes.of(item)?)
}

/// The change on the condition that the expression holds, with the placeholders that are in one of both.
///
/// An expression such as `attribute_not_exists(seen)` holds for an item that is gone as well, which an update would create.
fn expressions(condition: &Condition, change: Change, filter: String) -> Expressions {
    let mut expressions = condition.expressions(change);
    let used = match &expressions.change {
        Change::Update(_, update) => format!("{update} {filter}"),
        Change::Put | Change::Delete(_) => filter.clone(),
    };
    expressions.keep(&used);
    expressions.condition = Some(filter);
    expressions.only_existing();
    expressions
}

/// What is done with the items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Delete,
    Update,
}

impl Verb {
    fn name(self) -> &'static str {
        match self {
            Self::Delete => "delete",
            Self::Update => "update",
        }
    }

    /// What has not happened.
    fn nothing(self) -> &'static str {
        match self {
            Self::Delete => "nothing was deleted",
            Self::Update => "nothing was updated",
        }
    }
}

/// The items of a table that are meant.
struct MatchedItems<'a> {
    verb: Verb,
    reads: TableReads,
    table: ExistingTable,
    key: Key,
    common: &'a CommonArguments,
    console: Console,
}

impl<'a> MatchedItems<'a> {
    async fn of(
        arguments: &'a TableArguments,
        reads: TableReads,
        simulated: &SimulatedContent,
        verb: Verb,
    ) -> Result<Self, Failure> {
        let common = &arguments.common;
        refuse_inputs(common)?;
        let console = common.output.console();
        let simulation = Simulation::of_source(&common.service, simulated, &console)?;
        let (connection, key) = (common.connection(), &arguments.items.key);
        let table = table(&reads, &connection, "--table", simulation.as_ref(), key.as_ref()).await?;
        let has_journal = common.recovery.resume.is_some() && !common.dry_run;
        let table = table.with_account(has_journal).await;
        let key = needed(key.clone().or_else(|| table.key()))?;
        let names = key.attributes().map(|attribute| attribute.name.as_str());
        Ok(Self {
            verb,
            reads: reads.keys(names),
            table,
            key,
            common,
            console,
        })
    }

    /// Asks whether to begin, with the number of the items. Without a terminal that is not possible.
    async fn ask(&self, is_answered: bool) -> Result<(), Failure> {
        let (verb, table) = (self.verb.name(), &self.reads.table);
        site::say(
            &self.console,
            &[(table, self.table.site.as_ref())],
            !is_answered && can_ask(),
        )
        .await;
        if is_answered {
            return Ok(());
        }
        if !can_ask() {
            return Err(Failure::WrongUse(format!(
                "there is no terminal to ask on whether to {verb} items of {table}: add --yes; {}",
                self.verb.nothing()
            )));
        }
        let count = match (self.reads.expression(), self.table.size()) {
            (None, Some((items, _))) if items > 0 => format!("all items, about {},", grouped(items)),
            _ => counted(self.counted().await?.items, "item"),
        };
        let words = format!("{verb} {count} of {table}?");
        block_in_place(|| question(&words, self.verb.nothing()))
    }

    async fn counted(&self) -> Result<Estimate, Failure> {
        Estimate::counted(&self.table, &self.reads).await
    }

    /// Counts the items, and says what writing them takes, each of which takes this many units for each kilobyte. Of their size only
    /// the average of the table is known.
    async fn dry_run(&self, matching: &MatchArguments, units_of_write: usize) -> Result<CommandOutcome, Failure> {
        let read = self.counted().await?;
        if read.items == 0
            && let Some(words) = mismatch(&self.reads, &self.key)
        {
            self.console.warn(&words);
        }
        let estimate = Estimate {
            bytes: None,
            write_units: self
                .table
                .size()
                .filter(|(items, _)| *items > 0)
                .map(|size| units_of_write as u64 * write_units(read.items, size)),
            read_price: matching.read_price.read_price,
            write_price: matching.write_price.write_price,
            ..read
        };
        estimate.print(&self.console, self.verb.nothing())
    }

    fn destination(&self) -> Destination<DynamoTable> {
        self.table.destination(&self.reads.table, &self.key)
    }

    async fn deliver<T: Target>(
        &self,
        destination: Destination<T>,
        settings: Settings,
        entry: impl Fn(Item) -> Result<T::Entry, Flaw> + Send + Sync + 'static,
    ) -> Result<CommandOutcome, Failure> {
        let places = Places::from(&self.common.recovery);
        places.check(&[], &[])?;
        let job = Job {
            keep_going: 0,
            ..self
                .common
                .job(self.verb.name(), destination, settings, self.console.clone())
        };
        let from_table = TableDelivery {
            reads: &self.reads,
            table: &self.table,
            places,
            claim: self.common.recovery.claim(),
            // A deadline begins after the answer.
            options: PaceOptions::from(&self.common.pace).options()?,
            when_nothing_matches: mismatch(&self.reads, &self.key),
        };
        let opened = from_table.open(&job, entry).await?;
        from_table.deliver(&job, opened).await
    }
}

/// Refuses what is about inputs.
fn refuse_inputs(common: &CommonArguments) -> Result<(), Failure> {
    let given = [
        (!common.inputs.is_empty(), "inputs"),
        (common.order.is_some(), "--order"),
        (common.shard.is_some(), "--shard"),
        (common.encoding.is_some(), "--encoding"),
    ];
    match given.iter().find(|(is_given, _)| *is_given) {
        None => Ok(()),
        Some((_, what)) => Err(Failure::WrongUse(format!(
            "--all, --where and --key-condition are about the items of the table: leave out {what}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_of_an_item_that_is_gone_creates_none() {
        let filter = "attribute_not_exists(#key_0)";
        let key: Key = "id".parse().unwrap();
        let of = |change| expressions(&Condition::default(), change, filter.to_owned());
        let update = of(Change::Update(key.clone(), "SET seen = :no".to_owned()));
        let guarded = "attribute_exists(#key_1) AND (attribute_not_exists(#key_0))";
        assert_eq!(update.condition.as_deref(), Some(guarded));
        assert_eq!(update.names.get("#key_1").map(String::as_str), Some("id"));
        assert_eq!(of(Change::Delete(key)).condition.as_deref(), Some(filter));
    }
}

//! Decides on changes of single items, in one step with the check of their conditions.

use serde_json::Value;

use super::change::{Change, ChangeKind};
use super::evaluation::{Evaluation, EvaluationFailure, Setting, delete, put};
use super::expressions;
use super::items::{Write, units_of};
use super::key::Schema;
use super::stored::stored;
use super::table::{Table, TableState};
use super::value::size_of_item;
use crate::admission::Demand;
use crate::calls::{Call, Cost, Verdict};
use crate::journal::Acknowledgement;
use crate::wire::Refusal;

/// An action of a transaction consumes twice the units of its table: one half prepares the write, the other one commits it.
/// Indexes are written once.
const TRANSACTION_FACTOR: f64 = 2.0;

/// A change that is evaluated, but not yet decided on.
pub(super) struct PreparedChange {
    pub(super) evaluation: Evaluation,
    pub(super) cost: Cost,
    /// The item before the change, as text.
    old: Option<Box<str>>,
    /// The bytes of the larger one of the item before and after the change.
    pub(super) size: usize,
}

/// A change that the table has decided on.
pub(super) struct DecidedChange {
    pub(super) verdict: Verdict,
    pub(super) prepared: PreparedChange,
}

impl PreparedChange {
    /// The item before the change.
    pub(super) fn item_before(&self) -> Option<Value> {
        self.old.as_deref().and_then(|item| serde_json::from_str(item).ok())
    }

    /// The item after the change, if it is applied.
    pub(super) fn item_after(&self) -> Option<Value> {
        match &self.evaluation.write {
            Some(write) => write.is_put.then(|| stored(&write.entry).into_owned()),
            None => self.item_before(),
        }
    }

    /// The verdict on the change if nothing else prevents it.
    pub(super) fn verdict(&self) -> Verdict {
        if self.evaluation.holds {
            Verdict::Accepted
        } else {
            Verdict::ConditionFailed
        }
    }
}

impl Table {
    /// Decides on a change and applies it if it is accepted. Fails if the request is wrong.
    pub(super) fn decide(
        &self,
        change: &Change,
        call: &Call,
        acknowledgement: impl Fn(&Verdict) -> Acknowledgement,
    ) -> Result<DecidedChange, Refusal> {
        // Outside of the lock, because the user's predicate may use this handle.
        let is_hot = self.is_hot(change.entry());
        let mut state = self.state();
        let prepared = state.prepare(self, change, is_hot, Setting::Alone);
        let prepared = prepared.map_err(EvaluationFailure::into_refusal)?;
        let costs = std::slice::from_ref(&prepared.cost);
        let drawn = state.gate.draw_faults(call, 1).pop();
        let throttle = state.gate.throttles(call.info.at, costs).pop().flatten();
        let verdict = match (drawn, throttle) {
            (Some(failed @ Verdict::Failed { .. }), _) => failed,
            (_, Some(throttle)) => Verdict::Throttled(throttle),
            _ => prepared.verdict(),
        };
        state.gate.settle(costs, std::slice::from_ref(&verdict));
        if verdict.is_applied() {
            state.apply(self, &prepared);
        }
        state.record_change(call, change, acknowledgement(&verdict));
        Ok(DecidedChange { verdict, prepared })
    }

    /// Records a change that is not applied in the journal.
    pub(super) fn record_change(&self, change: &Change, call: &Call, acknowledgement: Acknowledgement) {
        self.state().record_change(call, change, acknowledgement);
    }
}

impl TableState {
    /// Evaluates a change, and finds what it costs.
    pub(super) fn prepare(
        &mut self,
        table: &Table,
        change: &Change,
        is_hot: bool,
        setting: Setting,
    ) -> Result<PreparedChange, EvaluationFailure> {
        let old = self.items.text(&change.key);
        let text = old.map(|(text, _)| text);
        let mut evaluation = evaluate(table.schema(), change, text, setting)?;
        if let Some(write) = evaluation.write.as_ref().filter(|_| change.kind == ChangeKind::Update) {
            check_updated(table, &write.entry).map_err(EvaluationFailure::Item)?;
        }
        if let Some(write) = evaluation.write.as_mut().filter(|write| write.is_put) {
            write.size = table.billed_size(&write.entry, write.size);
        }
        let old_size = old.map_or(0, |(_, size)| size);
        let size = old_size.max(evaluation.write.as_ref().map_or(0, |write| write.size));
        let old = old.map(|(text, _)| text.into());
        let mut demand = if let Some(write) = &evaluation.write {
            self.demand(table, write)
        } else {
            let place = change.attributes().and_then(|entry| table.schema().place(entry));
            Demand::new(place.unwrap_or_default(), units_of(old_size))
        };
        if setting == Setting::Transaction {
            demand.units *= TRANSACTION_FACTOR;
        }
        Ok(PreparedChange {
            evaluation,
            cost: Cost { demand, is_hot },
            old,
            size,
        })
    }

    /// Applies an accepted change.
    pub(super) fn apply(&mut self, table: &Table, prepared: &PreparedChange) {
        if let Some(write) = prepared.evaluation.write.as_ref().filter(|_| !table.counts_only()) {
            self.items.store(write);
        }
    }

    pub(super) fn record_change(&mut self, call: &Call, change: &Change, acknowledgement: Acknowledgement) {
        let (action, journal) = (change.kind.action(), &mut self.gate.journal);
        journal.write(&call.info, action, &change.key, change.recorded(), acknowledgement);
    }
}

/// Evaluates a change of the item with this text, or of one that does not exist.
fn evaluate(
    schema: &Schema,
    change: &Change,
    old: Option<&str>,
    setting: Setting,
) -> Result<Evaluation, EvaluationFailure> {
    if change.has_expressions() {
        return expressions::evaluate(schema, change, old, setting);
    }
    Ok(Evaluation {
        holds: true,
        write: write(change, old),
        updated: None,
    })
}

/// What a change without expressions writes. An update writes an item that has only the key, if there is none.
fn write(change: &Change, old: Option<&str>) -> Option<Write> {
    match (change.kind, old) {
        (ChangeKind::Put, _) => Some(put(change, change.entry().clone(), change.size)),
        (ChangeKind::Delete, _) => Some(delete(change)),
        (ChangeKind::Update, None) => {
            let size = change.attributes().and_then(|key| size_of_item(key).ok());
            Some(put(change, change.entry().clone(), size.unwrap_or_default()))
        }
        (ChangeKind::Update, Some(_)) | (ChangeKind::Check, _) => None,
    }
}

/// Checks that an updated item fits the indexes.
fn check_updated(table: &Table, item: &Value) -> Result<(), Refusal> {
    let item = item.as_object();
    item.map_or(Ok(()), |item| table.check_indexes(item))
}

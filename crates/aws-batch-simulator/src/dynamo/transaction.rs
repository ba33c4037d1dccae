//! `TransactWriteItems`.

use std::borrow::Cow;
use std::sync::{Arc, MutexGuard};

use serde_json::{Value, json};
use tokio::time::Instant;

use super::actions::{Participant, Requests, TransactionAction};
use super::cancellation::{VALIDATION_ERROR, canceled, no_reason, reason};
use super::change::{CAPACITY, problem_of_enum};
use super::consumed::{ConsumedUnits, add_consumed, reread};
use super::decision::PreparedChange;
use super::evaluation::{EvaluationFailure, Setting};
use super::request::METRICS;
use super::single::internal_error;
use super::table::TableState;
use super::tables::Tables;
use super::throttling::throttled_by_fault;
use super::tokens::{Fingerprint, Tokens, token};
use super::wording::invalid_members;
use crate::admission::{Demand, Place};
use crate::calls::{Cost, Verdict};
use crate::fault::InjectedFault;
use crate::journal::{Acknowledgement, AnswerReceipt};
use crate::wire::{OperationOutcome, Refusal};

/// The actions of a call, with the tables that take part.
struct Transaction {
    actions: Vec<TransactionAction>,
    participants: Vec<Participant>,
}

/// An action that is evaluated, or why it cannot be.
type EvaluatedAction = Result<PreparedChange, Refusal>;

/// What has become of the actions, in their order.
struct TransactionResult {
    verdicts: Vec<Verdict>,
    evaluated: Vec<EvaluatedAction>,
}

pub(super) fn write(
    tables: &Tables,
    tokens: &Tokens,
    mut body: Value,
    answered: &AnswerReceipt,
) -> Result<OperationOutcome, Refusal> {
    let token = token(&body)?.map(|token| (token.to_owned(), Fingerprint::of(&body["TransactItems"])));
    let problems = [
        problem_of_enum(&body, "ReturnConsumedCapacity", &CAPACITY)?,
        problem_of_enum(&body, "ReturnItemCollectionMetrics", &METRICS)?,
    ];
    invalid_members(&problems.into_iter().flatten().collect::<Vec<_>>())?;
    let capacity = body["ReturnConsumedCapacity"].as_str().map(str::to_owned);
    let requests = Requests::find(tables, &mut body)?;
    let participants = requests.participants(answered);
    let mut completed = token.as_ref().map(|_| tokens.completed());
    let repeated = match (&token, &mut completed) {
        (Some((token, request)), Some(completed)) => {
            let found = completed.find(token, request, Instant::now());
            found.inspect_err(|_| count_refused(&participants))?
        }
        _ => None,
    };
    let actions = requests.check().inspect_err(|_| count_refused(&participants))?;
    let transaction = Transaction { actions, participants };
    let capacity = capacity.as_deref();

    let fault = transaction.fault();
    if fault.replaces_answer() == Some(false) {
        return transaction.answer_with_fault(fault, false);
    }
    let is_lost = fault.replaces_answer().is_some();
    if let Some(sizes) = repeated {
        return if is_lost {
            transaction.answer_with_fault(fault, true)
        } else {
            Ok(transaction.repeated(&sizes, capacity))
        };
    }
    let performed = transaction.perform(is_lost);
    if let (Some((token, request)), Some(completed), Ok(performed)) = (token, &mut completed, &performed)
        && performed.is_applied()
    {
        completed.add(token, request, performed.sizes(), Instant::now());
    }
    transaction.answer(performed, fault, capacity)
}

fn count_refused(participants: &[Participant]) {
    for participant in participants {
        participant.table.with_gate(|gate| gate.statistics.refused_calls += 1);
    }
}

impl Transaction {
    /// The first fault of a table that replaces the answer.
    fn fault(&self) -> InjectedFault {
        let mut faults = self.participants.iter().map(|participant| &participant.call.fault);
        let replacing = faults.find(|fault| fault.replaces_answer().is_some());
        replacing.cloned().unwrap_or(InjectedFault::None)
    }

    /// The places of the actions on the table of this participant.
    fn places(&self, participant: usize) -> Vec<usize> {
        let places = 0..self.actions.len();
        places
            .filter(|place| self.actions[*place].table == participant)
            .collect()
    }

    /// Applies all actions or none, under the locks of all tables. Fails if the request is wrong.
    fn perform(&self, is_lost: bool) -> Result<TransactionResult, Refusal> {
        // Outside of the locks, because the user's predicate may use the handles.
        let is_hot = |action: &TransactionAction| self.participants[action.table].table.is_hot(action.change.entry());
        let hot: Vec<bool> = self.actions.iter().map(is_hot).collect();
        let states = self.participants.iter().map(|participant| participant.table.state());
        let mut states: Vec<MutexGuard<'_, TableState>> = states.collect();

        let mut evaluated: Vec<EvaluatedAction> = Vec::with_capacity(self.actions.len());
        for (action, is_hot) in self.actions.iter().zip(hot) {
            let table = &self.participants[action.table].table;
            // A wrong expression is found even if the key does not fit the table.
            let prepared = states[action.table].prepare(table, &action.change, is_hot, Setting::Transaction);
            evaluated.push(match (prepared, &action.problem) {
                (Err(EvaluationFailure::Request(refusal)), _) => return Err(refusal),
                (_, Some(problem)) => Err(problem.clone()),
                (Err(EvaluationFailure::Item(problem)), None) => Err(problem),
                (Ok(prepared), None) => Ok(prepared),
            });
        }
        let costs: Vec<Cost> = evaluated.iter().map(cost).collect();
        let mut verdicts = vec![Verdict::Accepted; self.actions.len()];
        for (number, (state, participant)) in states.iter_mut().zip(&self.participants).enumerate() {
            let places = self.places(number);
            let of_table: Vec<Cost> = places.iter().map(|place| costs[*place].clone()).collect();
            let drawn = state.gate.draw_faults(&participant.call, places.len());
            let throttles = state.gate.throttles(participant.call.info.at, &of_table);
            for ((place, drawn), throttle) in places.into_iter().zip(drawn).zip(throttles) {
                verdicts[place] = match (drawn, &evaluated[place], throttle) {
                    (failed @ Verdict::Failed { .. }, ..) => failed,
                    (_, Err(_), _) => Verdict::Failed {
                        code: Cow::Borrowed(VALIDATION_ERROR),
                        sender_fault: true,
                    },
                    (_, _, Some(throttle)) => Verdict::Throttled(throttle),
                    (_, Ok(prepared), _) => prepared.verdict(),
                };
            }
        }
        cancel(&mut verdicts);
        for (number, (state, participant)) in states.iter_mut().zip(&self.participants).enumerate() {
            let places = self.places(number);
            let of_table: Vec<Cost> = places.iter().map(|place| costs[*place].clone()).collect();
            let decided: Vec<Verdict> = places.iter().map(|place| verdicts[*place].clone()).collect();
            state.gate.settle(&of_table, &decided);
            for (place, verdict) in places.into_iter().zip(decided) {
                if let Some(prepared) = evaluated[place].as_ref().ok().filter(|_| verdict.is_applied()) {
                    state.apply(&participant.table, prepared);
                }
                let change = &self.actions[place].change;
                state.record_change(&participant.call, change, acknowledgement(&verdict, is_lost));
            }
        }
        Ok(TransactionResult { verdicts, evaluated })
    }

    /// The answer of a fault. The actions may have been applied even so.
    fn answer_with_fault(&self, fault: InjectedFault, is_performed: bool) -> Result<OperationOutcome, Refusal> {
        for (number, participant) in self.participants.iter().enumerate() {
            let places = if is_performed { Vec::new() } else { self.places(number) };
            for place in &places {
                let told = fault.acknowledgement_of_skipped();
                let change = &self.actions[*place].change;
                participant.table.record_change(change, &participant.call, told);
            }
            let skipped = places.len();
            participant
                .table
                .with_gate(|gate| gate.count_failed_call(&fault, skipped));
        }
        match self.participants.first() {
            Some(participant) if fault.is_throttle() => Err(throttled_by_fault(&participant.table, &fault)),
            _ => Ok(OperationOutcome::Fault(fault)),
        }
    }

    /// The answer to a transaction that has succeeded before, with items of these sizes. It has read them.
    fn repeated(&self, sizes: &[usize], capacity: Option<&str>) -> OperationOutcome {
        let mut answer = json!({});
        add_consumed(&mut answer, capacity, |with_table| {
            let participants = self.participants.iter().enumerate();
            let consumed = participants.map(|(number, participant)| {
                let sizes = self
                    .places(number)
                    .into_iter()
                    .filter_map(|place| sizes.get(place).copied());
                reread(&participant.name, sizes, with_table)
            });
            consumed.collect()
        });
        OperationOutcome::Success(answer)
    }

    fn answer(
        &self,
        performed: Result<TransactionResult, Refusal>,
        fault: InjectedFault,
        capacity: Option<&str>,
    ) -> Result<OperationOutcome, Refusal> {
        if fault.replaces_answer().is_some() {
            return self.answer_with_fault(fault, true);
        }
        let performed = performed.inspect_err(|_| count_refused(&self.participants))?;
        if performed.verdicts.iter().any(Verdict::is_internal_error) {
            for participant in &self.participants {
                participant.table.with_gate(|gate| gate.statistics.failed_calls += 1);
            }
            return Err(internal_error());
        }
        if !performed.is_applied() {
            for participant in &self.participants {
                participant.table.with_gate(|gate| gate.statistics.canceled_calls += 1);
            }
            let refusal = canceled(self.reasons(&performed));
            return Err(refusal);
        }
        let mut answer = json!({});
        add_consumed(&mut answer, capacity, |with_indexes| {
            let participants = self.participants.iter().enumerate();
            let consumed = participants.map(|(number, Participant { name, table, .. })| {
                let places = self.places(number).into_iter();
                let prepared = places.filter_map(|place| performed.evaluated[place].as_ref().ok());
                let used = ConsumedUnits::of(table, prepared.map(|prepared| &prepared.cost.demand));
                used.of_transaction(name, table, with_indexes)
            });
            consumed.collect()
        });
        Ok(OperationOutcome::Success(answer))
    }

    fn reasons(&self, performed: &TransactionResult) -> Vec<Value> {
        let TransactionResult { verdicts, evaluated } = performed;
        let first_invalid = evaluated.iter().position(Result::is_err).unwrap_or(usize::MAX);
        let decided = self.actions.iter().zip(verdicts).zip(evaluated).enumerate();
        let reason = decided.map(|(number, ((action, verdict), evaluated))| {
            // The service looks no further than the first action that is invalid.
            if number > first_invalid {
                return no_reason();
            }
            let item = evaluated.as_ref().ok().and_then(PreparedChange::item_before);
            let item = item.filter(|_| action.change.returns_item_of_failure());
            let table = &self.participants[action.table].table;
            reason(table, verdict, evaluated.as_ref().err(), item)
        });
        reason.collect()
    }
}

impl TransactionResult {
    fn is_applied(&self) -> bool {
        self.verdicts.iter().all(Verdict::is_applied)
    }

    fn sizes(&self) -> Arc<[usize]> {
        let sizes = self
            .evaluated
            .iter()
            .map(|evaluated| evaluated.as_ref().map_or(0, |prepared| prepared.size));
        sizes.collect()
    }
}

/// What the caller learns about an action.
fn acknowledgement(verdict: &Verdict, is_lost: bool) -> Acknowledgement {
    match verdict.acknowledgement() {
        known if is_lost => known.without_answer(),
        _ if verdict.is_internal_error() => Acknowledgement::Ambiguous { applied: false },
        known => known,
    }
}

/// One action that is not accepted cancels all others. An internal error is one of the whole call.
fn cancel(verdicts: &mut [Verdict]) {
    if verdicts.iter().any(Verdict::is_internal_error) {
        verdicts.fill(Verdict::internal_error());
    } else if !verdicts.iter().all(Verdict::is_applied) {
        for verdict in verdicts.iter_mut().filter(|verdict| verdict.is_applied()) {
            *verdict = Verdict::Canceled;
        }
    }
}

/// What an action costs: nothing if it cannot be evaluated.
fn cost(evaluated: &EvaluatedAction) -> Cost {
    match evaluated {
        Ok(prepared) => prepared.cost.clone(),
        Err(_) => Cost {
            demand: Demand::new(Place::default(), 0.0),
            is_hot: false,
        },
    }
}

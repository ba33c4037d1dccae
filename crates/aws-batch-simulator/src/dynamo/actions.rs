//! The actions of a transaction, and the tables that they are about.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::change::{Change, ChangeKind, problem_below};
use super::single::poisoned;
use super::table::Table;
use super::tables::Tables;
use super::value::{size_of_item, unexpected};
use super::wording::{Wording, invalid_member};
use crate::calls::Call;
use crate::journal::AnswerReceipt;
use crate::wire::Refusal;

/// Actions in one transaction at most.
const MOST_ACTIONS: usize = 100;
/// Bytes of all actions together at most: 4 MB.
const LARGEST_TRANSACTION: usize = 4 * 1_024 * 1_024;

/// The members that an action may be, of which it has one.
const KINDS: [(&str, ChangeKind); 4] = [
    ("Put", ChangeKind::Put),
    ("Update", ChangeKind::Update),
    ("Delete", ChangeKind::Delete),
    ("ConditionCheck", ChangeKind::Check),
];

/// An action of a transaction.
pub(super) struct TransactionAction {
    /// The place of its table among the participants.
    pub(super) table: usize,
    pub(super) change: Change,
    /// Why it does not fit its table.
    pub(super) problem: Option<Refusal>,
}

/// A table that takes part in a transaction, and the call as it counts it.
pub(super) struct Participant {
    /// The table's name or ARN, as in the request.
    pub(super) name: String,
    pub(super) table: Table,
    pub(super) call: Call,
}

/// The actions of a request that are not checked yet, with their tables.
pub(super) struct Requests {
    requests: Vec<(usize, ChangeKind, Value)>,
    tables: Vec<(String, Table)>,
}

impl Requests {
    /// Finds the actions of a request and their tables. The tables are in the order of their names, in which they are locked.
    pub(super) fn find(tables: &Tables, request: &mut Value) -> Result<Self, Refusal> {
        let actions = actions(request["TransactItems"].take())?;
        let mut requests = Vec::with_capacity(actions.len());
        for (number, action) in actions.into_iter().enumerate() {
            requests.push(request_of(number + 1, action)?);
        }
        let mut found: Vec<(String, Table)> = Vec::new();
        for (_, request) in &requests {
            let table = tables.of_request(request)?;
            if !found.iter().any(|(_, known)| known.name() == table.name()) {
                found.push((request["TableName"].as_str().unwrap_or_default().to_owned(), table));
            }
        }
        found.sort_by(|(_, one), (_, other)| one.name().cmp(other.name()));
        let place = |request: &Value| {
            let table = tables.of_request(request)?;
            let place = found.iter().position(|(_, known)| known.name() == table.name());
            place.ok_or_else(unexpected)
        };
        let requests = requests
            .into_iter()
            .map(|(kind, request)| Ok((place(&request)?, kind, request)));
        Ok(Self {
            requests: requests.collect::<Result<_, Refusal>>()?,
            tables: found,
        })
    }

    /// Counts the call at each of the tables.
    pub(super) fn participants(&self, answered: &AnswerReceipt) -> Vec<Participant> {
        let participant = |(name, table): &(String, Table)| Participant {
            name: name.clone(),
            table: table.clone(),
            call: table.with_gate(|gate| gate.whole_call(answered)),
        };
        self.tables.iter().map(participant).collect()
    }

    /// Checks all actions: one that is invalid whatever its table is causes the transaction to be refused.
    pub(super) fn check(self) -> Result<Vec<TransactionAction>, Refusal> {
        let mut actions = Vec::with_capacity(self.requests.len());
        let mut targets = HashSet::new();
        let mut bytes = 0;
        for (place, kind, request) in self.requests {
            let table = &self.tables[place].1;
            let mut change = Change::parse(kind, request, Wording::Older)?;
            if table.poisons(change.entry()) {
                return Err(poisoned());
            }
            let problem = change.find_key(table).err();
            if let Some(refusal) = problem.as_ref().filter(|_| has_empty_key(table, &change)) {
                return Err(refusal.clone());
            }
            let target = target(table, &change);
            if target.is_some_and(|target| !targets.insert((place, target))) {
                return Err(Refusal::validation(
                    "Transaction request cannot include multiple operations on one item",
                ));
            }
            bytes += size(&change);
            actions.push(TransactionAction {
                table: place,
                change,
                problem,
            });
        }
        if bytes > LARGEST_TRANSACTION {
            return Err(Refusal::validation(
                "Collection size of items exceeded, which can also be caused by the aggregate size of the items in the \
                 transaction exceeding the 4MB limit",
            ));
        }
        Ok(actions)
    }
}

fn actions(value: Value) -> Result<Vec<Value>, Refusal> {
    let problem = match value {
        Value::Array(actions) if (1..=MOST_ACTIONS).contains(&actions.len()) => return Ok(actions),
        Value::Array(actions) if actions.is_empty() => {
            "Value '[]' at 'transactItems' failed to satisfy constraint: Member must have length greater than or equal to 1"
        }
        Value::Array(_) => {
            "Value at 'TransactItems' failed to satisfy constraint: Member must have length less than or equal to 100"
        }
        Value::Null => "Value null at 'transactItems' failed to satisfy constraint: Member must not be null",
        _ => return Err(unexpected()),
    };
    Err(invalid_member(problem))
}

/// The only member of an action, which has this number.
fn request_of(number: usize, mut action: Value) -> Result<(ChangeKind, Value), Refusal> {
    let members = action.as_object_mut().ok_or_else(unexpected)?;
    let mut present = KINDS.into_iter().filter_map(|(member, kind)| {
        let request = members.remove(member).filter(|request| !request.is_null())?;
        Some((member, kind, request))
    });
    let (member, kind, request) = present.next().ok_or_else(|| {
        Refusal::validation("Invalid Request: TransactWriteRequest should contain Delete or Put or Update request")
    })?;
    if present.next().is_some() {
        return Err(Refusal::validation(
            "TransactItems can only contain one of Check, Put, Update or Delete",
        ));
    }
    let member = member[..1].to_lowercase() + &member[1..];
    let path = format!("transactItems.{number}.member.{member}.");
    let required = match kind {
        ChangeKind::Update => Some(("UpdateExpression", "updateExpression")),
        ChangeKind::Check => Some(("ConditionExpression", "conditionExpression")),
        ChangeKind::Put | ChangeKind::Delete => None,
    };
    if let Some((_, of)) = required.filter(|(name, _)| request[*name].is_null()) {
        return Err(Refusal::validation(format!(
            "1 validation error detected: Value null at '{path}{of}' failed to satisfy constraint: Member must not be null"
        )));
    }
    let of_failure = ["ALL_OLD", "NONE"];
    match problem_below(&path, &request, "ReturnValuesOnConditionCheckFailure", &of_failure)? {
        Some(problem) => Err(invalid_member(problem)),
        None => Ok((kind, request)),
    }
}

/// The item of an action as text, even if its key does not fit the table. `None` if the key is not complete.
fn target(table: &Table, change: &Change) -> Option<String> {
    if !change.key.is_empty() {
        return Some(change.key.clone());
    }
    let key = table.schema().project(change.entry());
    let is_complete = key.as_object().is_some_and(|key| !key.values().any(Value::is_null));
    is_complete.then(|| key.to_string())
}

/// Whether a key is empty: the transaction is refused, while another key that does not fit is the reason of its action alone.
fn has_empty_key(table: &Table, change: &Change) -> bool {
    let mut keys = table.schema().attributes();
    keys.any(|(name, kind)| change.entry()[name] == json!({kind.tag(): ""}))
}

/// The bytes of an action: its item, or its key, and the values of an update.
fn size(change: &Change) -> usize {
    let bytes = |value: &Value| value.as_object().and_then(|members| size_of_item(members).ok());
    match change.kind {
        ChangeKind::Put => change.size,
        ChangeKind::Update => {
            let values = bytes(&change.request["ExpressionAttributeValues"]);
            bytes(change.entry()).unwrap_or_default() + values.unwrap_or_default()
        }
        ChangeKind::Delete | ChangeKind::Check => bytes(change.entry()).unwrap_or_default(),
    }
}

//! What a write does to an item, as far as it is known before.

use std::collections::BTreeSet;

use serde_json::Value;

/// What a write does.
#[derive(Clone, Copy)]
pub(super) enum Change<'a> {
    Put(&'a Value),
    /// The key, and everything that is said about the update.
    Update(&'a Value, &'a Value),
    Delete(&'a Value),
    /// The condition of a transaction, which writes nothing.
    Check(&'a Value),
}

impl<'a> Change<'a> {
    /// The item, or its key.
    pub(super) fn item(&self) -> &'a Value {
        match *self {
            Self::Put(item) | Self::Update(item, _) | Self::Delete(item) | Self::Check(item) => item,
        }
    }

    /// As in the journal.
    pub(super) fn action(&self) -> &'static str {
        match self {
            Self::Put(_) => "put",
            Self::Update(..) => "update",
            Self::Delete(_) => "delete",
            Self::Check(_) => "check",
        }
    }
}

/// The names of the attributes that an update may change, and of some that it only reads.
pub(super) fn changed_by(update: &Value) -> BTreeSet<&str> {
    let names = &update["ExpressionAttributeNames"];
    let expression = update["UpdateExpression"].as_str().unwrap_or_default();
    let words = expression.split(|letter: char| !letter.is_alphanumeric() && !"_#:.[]-".contains(letter));
    let first = |path| str::split(path, ['.', '[']).next().unwrap_or_default();
    let of_expression = words.map(first).map(|name| names[name].as_str().unwrap_or(name));
    let older = update["AttributeUpdates"].as_object().into_iter().flatten();
    of_expression.chain(older.map(|(name, _)| name.as_str())).collect()
}

//! Conditions and filters.

use std::cmp::Ordering;

use serde_json::{Map, Value, json};

use super::comparison::{are_equal, begins_with, contains, order, size, tag};
use super::path::Path;

/// A condition in postfix order: each operator follows the conditions that it joins. Nothing about it is recursive, so that its nesting
/// does not need the stack.
#[derive(Debug, Default)]
pub(crate) struct Condition {
    pub(super) parts: Vec<ConditionPart>,
}

#[derive(Debug, Clone)]
pub(super) enum ConditionPart {
    Test(Test),
    Not,
    And,
    Or,
}

/// A condition without `AND`, `OR` and `NOT`.
#[derive(Debug, Clone)]
pub(super) enum Test {
    Compare(Operand, Comparator, Operand),
    Between(Operand, Operand, Operand),
    In(Operand, Vec<Operand>),
    Exists(Path),
    NotExists(Path),
    HasType(Operand, String),
    BeginsWith(Operand, Operand),
    Contains(Operand, Operand),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug, Clone)]
pub(super) enum Operand {
    Path(Path),
    Value(Value),
    /// The size of the value at a path.
    Size(Path),
}

/// The comparators as an expression has them.
pub(super) const COMPARATORS: [(&str, Comparator); 6] = [
    ("=", Comparator::Equal),
    ("<>", Comparator::NotEqual),
    ("<", Comparator::Less),
    ("<=", Comparator::LessOrEqual),
    (">", Comparator::Greater),
    (">=", Comparator::GreaterOrEqual),
];

impl Comparator {
    pub(super) fn symbol(self) -> &'static str {
        let found = COMPARATORS.iter().find(|(_, comparator)| *comparator == self);
        found.map_or("", |(symbol, _)| symbol)
    }

    /// The comparator with its operands exchanged.
    pub(super) fn reversed(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            same => same,
        }
    }

    /// Whether it compares the order of its operands.
    pub(super) fn needs_order(self) -> bool {
        !matches!(self, Self::Equal | Self::NotEqual)
    }

    pub(super) fn accepts(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }

    /// Values that the item lacks are equal to none.
    fn holds(self, one: Option<&Value>, other: Option<&Value>) -> bool {
        let (Some(one), Some(other)) = (one, other) else {
            return self == Self::NotEqual;
        };
        match self {
            Self::Equal => are_equal(one, other),
            Self::NotEqual => !are_equal(one, other),
            _ => order(one, other).is_some_and(|order| self.accepts(order)),
        }
    }
}

impl Operand {
    /// The value of the operand for an item, if there is one.
    fn of<'v>(&'v self, item: &'v Map<String, Value>) -> Option<std::borrow::Cow<'v, Value>> {
        use std::borrow::Cow;
        match self {
            Self::Path(path) => path.find(item).map(Cow::Borrowed),
            Self::Value(value) => Some(Cow::Borrowed(value)),
            Self::Size(path) => {
                let size = size(path.find(item)?)?;
                Some(Cow::Owned(json!({"N": size.to_string()})))
            }
        }
    }

    pub(super) fn path(&self) -> Option<&Path> {
        match self {
            Self::Path(path) | Self::Size(path) => Some(path),
            Self::Value(_) => None,
        }
    }

    /// The type of a value that the request has.
    pub(super) fn tag(&self) -> Option<&str> {
        match self {
            Self::Value(value) => Some(tag(value)),
            Self::Size(_) => Some("N"),
            Self::Path(_) => None,
        }
    }
}

impl Condition {
    /// Whether it is true of an item.
    pub(crate) fn holds(&self, item: &Map<String, Value>) -> bool {
        let mut stack: Vec<bool> = Vec::new();
        let pop = |stack: &mut Vec<bool>| stack.pop().unwrap_or(true);
        for part in &self.parts {
            let result = match part {
                ConditionPart::Test(test) => test.holds(item),
                ConditionPart::Not => !pop(&mut stack),
                ConditionPart::And => pop(&mut stack) & pop(&mut stack),
                ConditionPart::Or => pop(&mut stack) | pop(&mut stack),
            };
            stack.push(result);
        }
        stack.pop().unwrap_or(true)
    }

    pub(super) fn tests(&self) -> impl Iterator<Item = &Test> {
        self.parts.iter().filter_map(|part| match part {
            ConditionPart::Test(test) => Some(test),
            _ => None,
        })
    }

    /// The paths in all of its operands.
    pub(crate) fn roots(&self) -> impl Iterator<Item = &str> {
        self.tests().flat_map(Test::paths).map(|path| path.root.as_str())
    }
}

impl Test {
    fn holds(&self, item: &Map<String, Value>) -> bool {
        match self {
            Self::Compare(one, comparator, other) => {
                comparator.holds(one.of(item).as_deref(), other.of(item).as_deref())
            }
            Self::Between(value, low, high) => {
                let value = value.of(item);
                let is = |comparator: Comparator, bound: &Operand| {
                    comparator.holds(value.as_deref(), bound.of(item).as_deref())
                };
                is(Comparator::GreaterOrEqual, low) && is(Comparator::LessOrEqual, high)
            }
            Self::In(value, among) => {
                let value = value.of(item);
                let mut among = among.iter();
                among.any(|other| Comparator::Equal.holds(value.as_deref(), other.of(item).as_deref()))
            }
            Self::Exists(path) => path.find(item).is_some(),
            Self::NotExists(path) => path.find(item).is_none(),
            Self::HasType(value, expected) => value.of(item).is_some_and(|value| tag(&value) == expected),
            Self::BeginsWith(value, prefix) => both(value, prefix, item, begins_with),
            Self::Contains(value, part) => both(value, part, item, contains),
        }
    }

    fn paths(&self) -> impl Iterator<Item = &Path> {
        let (path, operands): (Option<&Path>, Vec<&Operand>) = match self {
            Self::Compare(one, _, other) | Self::BeginsWith(one, other) | Self::Contains(one, other) => {
                (None, vec![one, other])
            }
            Self::Between(value, low, high) => (None, vec![value, low, high]),
            Self::In(value, among) => (None, std::iter::once(value).chain(among).collect()),
            Self::Exists(path) | Self::NotExists(path) => (Some(path), Vec::new()),
            Self::HasType(value, _) => (None, vec![value]),
        };
        path.into_iter().chain(operands.into_iter().filter_map(Operand::path))
    }
}

/// Whether a function holds for the values of its operands. It does not if there are none.
fn both(one: &Operand, other: &Operand, item: &Map<String, Value>, function: impl Fn(&Value, &Value) -> bool) -> bool {
    match (one.of(item), other.of(item)) {
        (Some(one), Some(other)) => function(&one, &other),
        _ => false,
    }
}

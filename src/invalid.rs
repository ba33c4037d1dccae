//! What is wrong with an entry, with the limit and the value.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

#[cfg(any(feature = "dynamodb", feature = "sqs"))]
use crate::attribute_path::AttributePath;
use crate::debug::debug_fields;

/// An entry that the service would refuse, found before anything was sent.
///
/// It names the part, the path of an attribute, the limit, and the value if that is a size, a count or a number; never the content
/// of the entry. The names of attributes are not content.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidEntry {
    /// A part is larger than the service takes.
    #[error("the {part} has {actual} bytes, the limit is {limit}")]
    TooLarge {
        /// What was measured: `item`, `message` …
        part: &'static str,
        /// The limit in bytes.
        limit: usize,
        /// The size in bytes.
        actual: usize,
    },
    /// There are more of something than the service takes.
    #[error("there are {actual} {part}, the limit is {limit}")]
    TooMany {
        /// What was counted: `message attributes`, `levels of nesting` …
        part: &'static str,
        /// How many are allowed.
        limit: usize,
        /// How many there are.
        actual: usize,
    },
    /// A number lies outside its range.
    #[error("the {part} is {actual}, the limits are {low} and {high}")]
    OutOfRange {
        /// What the number stands for: `delay in seconds` …
        part: &'static str,
        /// The lowest number allowed.
        low: i64,
        /// The highest number allowed.
        high: i64,
        /// The number.
        actual: i64,
    },
    /// Something that must be there is missing or empty.
    #[error("the {part} is missing or empty")]
    Missing {
        /// What is missing: `message body`, `message group id` …
        part: &'static str,
    },
    /// A part breaks a rule of the service.
    #[error("the {part} must be {rule}")]
    Malformed {
        /// What is malformed: `number`, `attribute name` …
        part: &'static str,
        /// The rule that it breaks.
        rule: &'static str,
    },
    /// A text has a character that the service does not take.
    #[error("the {part} has U+{code_point:04X} at byte {position}, a character that is not allowed")]
    Character {
        /// The text: `message body` …
        part: &'static str,
        /// The Unicode code point of the character.
        code_point: u32,
        /// The number of bytes before it.
        position: usize,
    },
    /// An attribute of the entry, or a part of one, is at fault.
    #[error("`{path}`: {invalid}")]
    Attribute {
        /// Where it is: `address.zip`, `lines[3].price`. A name with other characters than letters, digits and `_-:#/@$` is
        /// quoted and escaped; names of more than 64 characters and paths of more than 256 are cut.
        path: String,
        /// What is wrong with it.
        invalid: Box<InvalidEntry>,
    },
    /// An attribute of an item is the key of an index, or the vector of a vector index, and has another type or is empty. An item
    /// without the attribute is not in the index.
    #[error("the index `{index}` needs `{attribute}` as {needs}, the item has {has}")]
    IndexKey {
        /// The name of the index.
        index: String,
        /// The name of the attribute, as in [`Attribute`](Self::Attribute).
        attribute: String,
        /// The type that the index needs: `S`, `N` or `B`, `L` for a vector, or the range of its numbers.
        needs: String,
        /// The type that the item has, or that the value is empty.
        has: &'static str,
    },
    /// A vector has another number of elements than its vector index has dimensions.
    #[error("the index `{index}` needs `{attribute}` with {needs} dimensions, the item has {has}")]
    Dimensions {
        /// The name of the index.
        index: String,
        /// The name of the attribute, as in [`Attribute`](Self::Attribute).
        attribute: String,
        /// The dimensions of the index.
        needs: usize,
        /// The elements of the vector.
        has: usize,
    },
    /// An item has a vector, but not the partition key of its vector index, which would leave it out. It is refused only if that was
    /// asked for.
    #[error("the index `{index}` would leave the item out: it has the vector `{vector}`, but not the key `{key}`")]
    Unindexed {
        /// The name of the index.
        index: String,
        /// The name of the attribute with the vector, as in [`Attribute`](Self::Attribute).
        vector: String,
        /// The name of the attribute that is the partition key of the index.
        key: String,
    },
    /// A value could not be converted into an entry. The error may quote the value, so it is the source and not part of the
    /// message.
    #[error("{type_name} could not be converted into an entry")]
    Unconvertible {
        /// The type of the value, with its path: `shop::Order`.
        type_name: &'static str,
        /// What went wrong.
        #[source]
        error: ConversionError,
    },
}

impl InvalidEntry {
    /// A part that breaks this rule of the service.
    #[cfg(feature = "_service")]
    #[allow(dead_code, reason = "each service uses a part of it")]
    pub(crate) fn malformed(part: &'static str, rule: &'static str) -> Self {
        Self::Malformed { part, rule }
    }

    /// It is the fault of the attribute with this name, or of something inside of it.
    #[cfg(any(feature = "dynamodb", feature = "sqs"))]
    pub(crate) fn of_attribute(self, name: &str) -> Self {
        self.inside(AttributePath::of_name(name))
    }

    /// It is the fault of this member of a list or a set, or of something inside of it.
    #[cfg(feature = "dynamodb")]
    pub(crate) fn of_member(self, index: usize) -> Self {
        self.inside(AttributePath::of_index(index))
    }

    #[cfg(any(feature = "dynamodb", feature = "sqs"))]
    fn inside(self, outer: AttributePath) -> Self {
        let (path, invalid) = match self {
            Self::Attribute { path, invalid } => (outer.with(&path), invalid),
            invalid => (outer, Box::new(invalid)),
        };
        Self::Attribute {
            path: path.into_text(),
            invalid,
        }
    }
}

/// Why a value could not be converted into an entry.
///
/// `Display` shows the error, which may quote the value; `Debug` shows none of it.
#[derive(Clone)]
pub struct ConversionError(Arc<dyn Error + Send + Sync>);

impl ConversionError {
    pub(crate) fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(Arc::from(error.into()))
    }
}

impl fmt::Display for ConversionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

debug_fields!(ConversionError);

impl Error for ConversionError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

/// Two are equal if they share one error.
impl PartialEq for ConversionError {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ConversionError {}

//! The capacity that a write needs.

/// The position of a write among the partitions, which are ranges of the hashes of partition keys and, within one key, of sort
/// keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// A hash of the partition key, evenly distributed over all numbers.
    pub partition_key: u64,
    /// The position among the items of the partition key. It matters only if a hot partition splits.
    pub sort_key: u64,
}

impl Place {
    /// A place.
    pub fn new(partition_key: u64, sort_key: u64) -> Self {
        Self {
            partition_key,
            sort_key,
        }
    }

    pub(super) fn between(self, end: u128) -> Self {
        let start = self.number();
        let middle = start + (end - start) / 2;
        #[expect(clippy::cast_possible_truncation, reason = "the two halves of the number")]
        Self::new((middle >> 64) as u64, middle as u64)
    }

    pub(super) fn number(self) -> u128 {
        u128::from(self.partition_key) << 64 | u128::from(self.sort_key)
    }
}

/// The capacity that one write needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Demand {
    /// The position in the table.
    pub(crate) place: Place,
    /// Write units: one for each started KiB of the item.
    pub(crate) units: f64,
    /// The indexes that the item is in, those of vectors after the others.
    pub(crate) indexes: Vec<IndexDemand>,
    /// The bytes of the write in each vector index.
    pub(crate) vector_bytes: Vec<f64>,
}

/// The capacity that one write needs of one index.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct IndexDemand {
    /// The number of the index, from 0 in the order in which the indexes were declared.
    pub(crate) index: usize,
    /// The position in the index.
    pub(crate) place: Place,
    /// Write units.
    pub(crate) units: f64,
}

impl Demand {
    /// A write of this many units, in no index.
    pub fn new(place: Place, units: f64) -> Self {
        Self {
            place,
            units,
            indexes: Vec::new(),
            vector_bytes: Vec::new(),
        }
    }

    /// The write takes this many units of this index, too. An item that moves within an index takes units at two places.
    #[must_use]
    pub fn with_index(mut self, index: usize, place: Place, units: f64) -> Self {
        self.indexes.push(IndexDemand { index, place, units });
        self
    }
}

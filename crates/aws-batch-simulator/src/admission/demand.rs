//! What a write needs.

/// Where a write belongs among the partitions: they are ranges of the partition keys' hashes, and of sort keys below them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// A hash of the partition key, evenly spread over all numbers.
    pub partition_key: u64,
    /// The position among the items of the partition key. It matters only where a partition splits for heat.
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
    /// Where it belongs in the table.
    pub place: Place,
    /// Write units: one for each started kilobyte of the item.
    pub units: f64,
    /// The indexes that the item is in.
    pub indexes: Vec<IndexDemand>,
}

/// The capacity that one write needs of one index.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IndexDemand {
    /// Which one, in the order in which the indexes were declared, from 0.
    pub index: usize,
    /// Where the item belongs in the index.
    pub place: Place,
    /// Write units.
    pub units: f64,
}

impl Demand {
    /// Of so many units, in no index.
    pub fn new(place: Place, units: f64) -> Self {
        Self {
            place,
            units,
            indexes: Vec::new(),
        }
    }

    /// The item is in this index too, with as many units.
    #[must_use]
    pub fn with_index(mut self, index: usize, place: Place) -> Self {
        let units = self.units;
        self.indexes.push(IndexDemand { index, place, units });
        self
    }
}

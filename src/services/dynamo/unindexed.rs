//! Items that a vector index would leave out: whether a table refuses them, and how many there are.

use super::table::DynamoTable;
use super::tables::DynamoTables;
use super::vectors::VectorFigures;

impl DynamoTable {
    /// An item that has a vector but lacks the partition key of its vector index is handed back, as
    /// [invalid](crate::InvalidEntry::Unindexed). Default: it is written, and DynamoDB silently leaves it out of the index; a
    /// warning is [logged](crate::events::UNINDEXED), and the [figures](Self::vector_figures) count it.
    ///
    /// A table that is not asked for its indexes refuses none: one whose [key](Self::key) is given, or that may not be described.
    ///
    /// With the feature `vector-indexes`.
    pub fn refuse_unindexed(mut self) -> Self {
        self.vectors.set_refuses(true);
        self
    }

    /// What the vector indexes of the table make of the items so far. Zeros for a table without vector indexes, or that was not
    /// asked for them because its key is given.
    ///
    /// With the feature `vector-indexes`.
    pub fn vector_figures(&self) -> VectorFigures {
        self.vectors.figures()
    }
}

impl DynamoTables {
    /// Items that a vector index would leave out are handed back: [`DynamoTable::refuse_unindexed`] for each table.
    ///
    /// With the feature `vector-indexes`.
    pub fn refuse_unindexed(mut self) -> Self {
        self.refuses_unindexed = true;
        let tables = self.tables.iter_mut();
        tables.for_each(|table| table.vectors.set_refuses(true));
        self
    }

    /// What the vector indexes of all tables make of the items so far: [`DynamoTable::vector_figures`].
    ///
    /// With the feature `vector-indexes`.
    pub fn vector_figures(&self) -> VectorFigures {
        let mut all = VectorFigures::default();
        for figures in self.tables.iter().map(DynamoTable::vector_figures) {
            all.unindexed += figures.unindexed;
            all.write_bytes += figures.write_bytes;
        }
        all
    }
}

//! What a worker does with the items of tables.

use crate::connection::Connection;
use crate::job::EntryMaker;
use crate::outcome::Failure;
use crate::sink::{Destination, ExistingTable, TABLE_ARN, Target, existing};
use crate::source::TableReads;

/// What is done with the items of tables.
pub(crate) struct SegmentSource<E> {
    /// What is read, of whichever table.
    pub(crate) reads: TableReads,
    /// How the tables are reached.
    pub(crate) connection: Connection,
    pub(crate) entry: EntryMaker<E>,
    pub(crate) which: SourceTables,
    /// Whether nothing but segments is delivered, because what is read of them is chosen.
    pub(crate) is_only: bool,
}

/// The tables whose items are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SourceTables {
    /// All but the destination, into which they are copied.
    Others,
    /// The destination alone, from which they are deleted or in which they are updated.
    Destination,
}

impl<E> SegmentSource<E> {
    /// The table, if its items are read for this destination.
    pub(super) async fn table<T: Target>(
        &self,
        name: &str,
        destination: &Destination<T>,
        connection: &Connection,
    ) -> Result<ExistingTable, Failure> {
        let refused = |words: String| Err(Failure::WrongUse(words));
        let own = &destination.name;
        if self.which == SourceTables::Destination && own != name {
            return refused(format!(
                "this worker is for the items of {own}, and not for those of {name}: plan and work with the same name"
            ));
        }
        let table = existing(name, &self.connection, "the plan").await?;
        let arn = destination.settings.iter().find(|(name, _)| *name == TABLE_ARN);
        let is_same = match (table.arn(), arn) {
            (Some(table), Some((_, own))) => table == own,
            _ => own == name && self.connection.profile == connection.profile,
        };
        // Emulators have the same ARNs.
        if self.which == SourceTables::Others && is_same && destination.settings.starts_with(&table.settings) {
            return refused(format!("{name} and {own} are the same table: a copy needs two"));
        }
        Ok(table)
    }
}

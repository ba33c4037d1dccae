//! The units that a write or a read takes of a table and of its indexes.

use aws_batch_simulator::{Demand, Place};

/// The units that an entry takes.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Taken {
    pub(super) place: Place,
    /// Of the table without its local indexes.
    pub(super) of_table: f64,
    /// The number of a global index, the place there, and the units.
    pub(super) of_globals: Vec<(usize, Place, f64)>,
    /// The number of a local index, and the units, which are those of the table.
    pub(super) of_locals: Vec<(usize, f64)>,
}

impl Taken {
    pub(super) fn new(place: Place, of_table: f64) -> Self {
        Self {
            place,
            of_table,
            ..Self::default()
        }
    }

    /// Of the capacity of the table, which its local indexes share.
    pub(super) fn of_pool(&self) -> f64 {
        self.of_table + self.of_locals.iter().map(|(_, units)| units).sum::<f64>()
    }

    /// The same on another scale, or negative.
    pub(super) fn times(mut self, factor: f64) -> Self {
        self.of_table *= factor;
        self.of_globals.iter_mut().for_each(|(_, _, units)| *units *= factor);
        self.of_locals.iter_mut().for_each(|(_, units)| *units *= factor);
        self
    }

    /// What the capacity is asked for.
    pub(super) fn demand(&self) -> Demand {
        let demand = Demand::new(self.place, self.of_pool());
        let parts = self.of_globals.iter();
        parts.fold(demand, |demand, (index, place, units)| {
            demand.with_index(*index, *place, *units)
        })
    }
}

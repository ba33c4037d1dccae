//! The paces of the current deliveries.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use aws_smithy_observability::Attributes;
use aws_smithy_observability::instruments::AsyncMeasure;

use super::set;
use crate::backoff::{PaceSnapshot, PaceState};
use crate::pace::Gate;

/// All states. Each is reported, so that a state without a pace reads 0.
const STATES: [PaceState; 4] = [
    PaceState::Searching,
    PaceState::Draining,
    PaceState::Steady,
    PaceState::Outage,
];

/// The paces of the current deliveries.
#[derive(Default)]
pub(super) struct Paces {
    deliveries: Mutex<Vec<PacedDelivery>>,
}

/// The pace and the destination of a current delivery.
#[derive(Clone)]
struct PacedDelivery {
    gate: Weak<Gate>,
    destination: Arc<str>,
}

/// The pace is reported for as long as this is held.
pub(super) struct Registration {
    paces: Arc<Paces>,
    paced: PacedDelivery,
}

impl PacedDelivery {
    fn is(&self, other: &Self) -> bool {
        Weak::ptr_eq(&self.gate, &other.gate) && self.destination == other.destination
    }
}

impl Paces {
    /// A delivery begins.
    pub(super) fn register(self: &Arc<Self>, gate: &Arc<Gate>, destination: &str) -> Registration {
        let paced = PacedDelivery {
            gate: Arc::downgrade(gate),
            destination: destination.into(),
        };
        self.deliveries().push(paced.clone());
        Registration {
            paces: Arc::clone(self),
            paced,
        }
    }

    /// Reports one number for each destination: what `read` returns for its pace, or the sum of those of several paces.
    pub(super) fn report(&self, measure: &dyn AsyncMeasure<Value = f64>, read: impl Fn(&PaceSnapshot) -> Option<f64>) {
        for (destination, snapshots) in self.snapshots() {
            if let Some(value) = snapshots.iter().filter_map(&read).reduce(|a, b| a + b) {
                let mut attributes = Attributes::new();
                set(&mut attributes, "destination", &destination);
                measure.record(value, Some(&attributes), None);
            }
        }
    }

    /// Reports how many paces of each destination are in each state.
    pub(super) fn report_states(&self, measure: &dyn AsyncMeasure<Value = i64>) {
        for (destination, snapshots) in self.snapshots() {
            for state in STATES {
                let mut attributes = Attributes::new();
                set(&mut attributes, "destination", &destination);
                set(&mut attributes, "state", &state.to_string());
                let paces = snapshots.iter().filter(|snapshot| snapshot.state == state).count();
                measure.record(i64::try_from(paces).unwrap_or(i64::MAX), Some(&attributes), None);
            }
        }
    }

    /// The snapshots of the strategies, by destination: one for each pace, however many deliveries share it.
    fn snapshots(&self) -> BTreeMap<Arc<str>, Vec<PaceSnapshot>> {
        let mut different: Vec<PacedDelivery> = Vec::new();
        for paced in &*self.deliveries() {
            if !different.iter().any(|known| known.is(paced)) {
                different.push(paced.clone());
            }
        }
        // The lock is released before the strategies are asked.
        let mut snapshots: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for paced in different {
            let gate = paced.gate.upgrade();
            if let Some(snapshot) = gate.and_then(|gate| gate.strategy.snapshot()) {
                snapshots.entry(paced.destination).or_default().push(snapshot);
            }
        }
        snapshots
    }

    fn deliveries(&self) -> MutexGuard<'_, Vec<PacedDelivery>> {
        self.deliveries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut deliveries = self.paces.deliveries();
        if let Some(place) = deliveries.iter().position(|paced| paced.is(&self.paced)) {
            deliveries.swap_remove(place);
        }
    }
}

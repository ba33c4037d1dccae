//! What happens to the requests of a fleet, decided by a seed and by the numbers of the requests.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use rand::RngExt;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use serde::{Deserialize, Serialize};

use super::activity::HEARTBEAT;

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Service {
    /// Inputs, checkpoints and dead letters in S3.
    Storage,
    Activity,
    /// The table or the queue, and the table that is read.
    Destination,
}

impl Service {
    pub(crate) const ALL: [Self; 3] = [Self::Storage, Self::Activity, Self::Destination];
}

/// What happens to a request. `applied` is whether the service does what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Throttle,
    InternalError {
        applied: bool,
    },
    /// The connection is reset.
    Lost {
        applied: bool,
    },
    /// There is no answer for this time, and then the connection is reset.
    Silent {
        applied: bool,
        time: Duration,
    },
    /// The service does what was asked after this time.
    Late(Duration),
    /// The worker is killed.
    Kill {
        applied: bool,
    },
    /// The worker is frozen for this time. What it has asked for is done before or after that.
    Freeze {
        applied: bool,
        time: Duration,
    },
    /// The worker is told to stop.
    Terminate,
    /// For this time, no request of the worker to the service, or no answer from it, arrives. Connections are reset at once, or have no
    /// answer until then.
    CutOff {
        applied: bool,
        is_silent: bool,
        time: Duration,
    },
}

impl Fault {
    /// The ways in which the worker of one request fails.
    pub(crate) const OF_WORKER: [Self; 4] = [
        Self::Kill { applied: false },
        Self::Kill { applied: true },
        Self::Freeze {
            applied: false,
            time: Duration::from_secs(15),
        },
        Self::Freeze {
            applied: true,
            time: Duration::from_secs(15),
        },
    ];

    /// The ways in which one request fails without the worker.
    pub(crate) const OF_REQUEST: [Self; 6] = [
        Self::Throttle,
        Self::InternalError { applied: false },
        Self::InternalError { applied: true },
        Self::Lost { applied: false },
        Self::Lost { applied: true },
        Self::Late(Duration::from_secs(3)),
    ];

    fn of(random: &mut SmallRng, service: Service) -> Self {
        let applied = random.random_bool(0.5);
        // Shorter and longer than what a worker has to give a sign of life.
        let time = HEARTBEAT.mul_f64(random.random_range(0.3..2.5));
        let cut_off = Self::CutOff {
            applied,
            is_silent: random.random_bool(0.5),
            time: if service == Service::Activity { time * 3 } else { time },
        };
        match random.random_range(0..12) {
            _ if service == Service::Activity && random.random_bool(0.3) => cut_off,
            0..=2 => Self::Kill { applied },
            3..=5 => Self::Freeze { applied, time },
            6 | 7 => cut_off,
            8 => Self::Terminate,
            9 => Self::Silent { applied, time },
            _ => *Self::OF_REQUEST.choose(random).unwrap(),
        }
    }
}

/// The faults of a fleet, by the service and the number of the request to it, from 1.
#[derive(Debug, Default, Clone)]
pub(crate) struct Faults {
    planned: BTreeMap<(Service, u64), Fault>,
    made: HashMap<Service, u64>,
}

impl Faults {
    pub(crate) fn of(random: &mut SmallRng) -> Self {
        let count = random.random_range(0..7);
        let planned = (0..count).map(|_| {
            let (service, last) = *[
                (Service::Storage, 60),
                (Service::Storage, 60),
                (Service::Activity, 20),
                (Service::Destination, 40),
                (Service::Destination, 40),
            ]
            .choose(random)
            .unwrap();
            ((service, random.random_range(1..=last)), Fault::of(random, service))
        });
        Self {
            planned: planned.collect(),
            made: HashMap::new(),
        }
    }

    pub(crate) fn one(service: Service, number: u64, fault: Fault) -> Self {
        Self {
            planned: BTreeMap::from([((service, number), fault)]),
            made: HashMap::new(),
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.planned.len()
    }

    /// The request that has the fault with this place in their order.
    pub(crate) fn place(&self, place: usize) -> (Service, u64) {
        *self.planned.keys().nth(place).unwrap()
    }

    pub(crate) fn has(&self, request: (Service, u64)) -> bool {
        self.planned.contains_key(&request)
    }

    /// Leaves out all faults but those with these places.
    pub(crate) fn keep(&mut self, places: &BTreeSet<usize>) {
        let mut place = 0..;
        self.planned
            .retain(|_, _| place.next().is_some_and(|place| places.contains(&place)));
    }

    /// Another request is made: what happens to it.
    pub(crate) fn next(&mut self, service: Service) -> Option<Fault> {
        let made = self.made.entry(service).or_default();
        *made += 1;
        self.planned.remove(&(service, *made))
    }

    /// Requests that were made.
    pub(crate) fn made(&self, service: Service) -> u64 {
        self.made.get(&service).copied().unwrap_or_default()
    }
}

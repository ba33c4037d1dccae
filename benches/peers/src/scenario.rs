//! The scenarios.

use std::time::Duration;

use aws_batch_simulator::{Capacity, Faults, InjectedFault};

use crate::Offered;

/// The round trip of a call without its work.
const ROUND_TRIP: Duration = Duration::from_millis(10);

/// Calls at once.
const WORKERS: usize = 32;

/// The time limit of a contestant. The crate takes a few seconds at most, except with the throttled table.
const LIMIT: Duration = Duration::from_mins(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    Dynamo,
    Sqs,
}

impl Service {
    /// Entries that fit into a call.
    pub fn chunk(self) -> usize {
        match self {
            Self::Dynamo => 25,
            Self::Sqs => 10,
        }
    }
}

/// The faults of the service.
#[derive(Debug, Clone, Copy)]
pub enum Trouble {
    None,
    /// Its capacity is this many entries per second, with a burst of 0.1 s that is empty at the start.
    Capacity(f64),
    /// This share of the entries is unprocessed or failed with `InternalError`, whatever the pace.
    Unprocessed(f64),
    /// This share of the calls is answered with 500. Half of them are applied all the same.
    Errors(f64),
    /// This share of the calls is throttled as a whole, whatever the pace.
    Throttled(f64),
    /// A call with this entry is refused.
    Poison(usize),
    /// This share of the calls leaves two messages out of both lists, and as many again are answered by an empty 200.
    /// Messages that are not in the answer are not in the queue.
    Silent(f64),
    /// This share of the messages is throttled, with `sender_fault = true`.
    Blamed(f64),
}

/// The kind of load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    Plain,
    /// One write in a hundred has the key of an earlier one.
    Duplicates,
    /// The writes change this many keys, one after another.
    Changes(usize),
    /// This many message groups.
    Groups(usize),
}

pub struct Scenario {
    pub name: &'static str,
    pub title: &'static str,
    pub service: Service,
    pub entries: usize,
    pub load: Load,
    pub trouble: Trouble,
}

macro_rules! scenarios {
    ($($name:literal, $title:literal: $service:ident, $entries:literal, $load:expr, $trouble:expr;)*) => {
        pub const SCENARIOS: &[Scenario] = &[$(Scenario {
            name: $name,
            title: $title,
            service: Service::$service,
            entries: $entries,
            load: $load,
            trouble: $trouble,
        }),*];
    };
}

scenarios! {
    "throttled", "DynamoDB, 1,000 writes/s, 20,000 items": Dynamo, 20_000, Load::Plain, Trouble::Capacity(1_000.0);
    "first", "DynamoDB, one call, 25 items": Dynamo, 25, Load::Plain, Trouble::None;
    "dynamo", "DynamoDB, no limit, 100,000 items": Dynamo, 100_000, Load::Plain, Trouble::None;
    "small", "DynamoDB, no limit, 25,000 items": Dynamo, 25_000, Load::Plain, Trouble::None;
    "sqs", "SQS, no limit, 100,000 messages": Sqs, 100_000, Load::Plain, Trouble::None;
    "unprocessed", "DynamoDB, 30% of the items unprocessed at random, 20,000 items":
        Dynamo, 20_000, Load::Plain, Trouble::Unprocessed(0.3);
    "calls5", "DynamoDB, 5% of the calls throttled at random, 20,000 items": Dynamo, 20_000, Load::Plain, Trouble::Throttled(0.05);
    "calls10", "DynamoDB, 10% of the calls throttled at random, 20,000 items": Dynamo, 20_000, Load::Plain, Trouble::Throttled(0.1);
    "sqscalls10", "SQS, 10% of the calls throttled at random, 20,000 messages": Sqs, 20_000, Load::Plain, Trouble::Throttled(0.1);
    "errors", "DynamoDB, 15% of the calls answered with 500, half of them applied; 20,000 items":
        Dynamo, 20_000, Load::Plain, Trouble::Errors(0.15);
    "poison", "DynamoDB, one item in 5,000 is refused with its whole call": Dynamo, 5_000, Load::Plain, Trouble::Poison(2_503);
    "changes", "DynamoDB, 1,000 writes/s, 20,000 changes of 1,000 keys":
        Dynamo, 20_000, Load::Changes(1_000), Trouble::Capacity(1_000.0);
    "changes10", "DynamoDB, 10% of the items unprocessed at random, 20,000 changes of 1,000 keys":
        Dynamo, 20_000, Load::Changes(1_000), Trouble::Unprocessed(0.1);
    "duplicates", "DynamoDB, 1% of 6,400 writes have the key of an earlier one": Dynamo, 6_400, Load::Duplicates, Trouble::None;
    "silent", "SQS, 3% of the calls leave out two ids and 3% are answered by an empty 200; 20,000 messages":
        Sqs, 20_000, Load::Plain, Trouble::Silent(0.03);
    "blamed", "SQS, 5% of the messages throttled with `sender_fault = true`; 20,000 messages":
        Sqs, 20_000, Load::Plain, Trouble::Blamed(0.05);
    "fifo", "SQS FIFO, 50 groups, 10% of the messages fail; 5,000 messages":
        Sqs, 5_000, Load::Groups(50), Trouble::Unprocessed(0.1);
}

impl Scenario {
    pub fn find(name: &str) -> Option<&'static Self> {
        SCENARIOS.iter().find(|scenario| scenario.name == name)
    }

    pub fn workers(&self) -> usize {
        WORKERS
    }

    pub fn limit(&self) -> Duration {
        LIMIT
    }

    pub fn round_trip(&self) -> Duration {
        ROUND_TRIP
    }

    pub fn offered(&self) -> Offered {
        Offered {
            entries: self.entries,
            duplicates: self.load == Load::Duplicates,
            keys: self.keys(),
            groups: self.groups(),
        }
    }

    fn keys(&self) -> usize {
        match self.load {
            Load::Changes(keys) => keys,
            _ => 0,
        }
    }

    fn groups(&self) -> usize {
        match self.load {
            Load::Groups(groups) => groups,
            _ => 0,
        }
    }

    pub fn capacity(&self) -> Capacity {
        match self.trouble {
            Trouble::Capacity(rate) => Capacity::per_second(rate).burst(rate / 10.0),
            _ => Capacity::unlimited(),
        }
    }

    pub fn faults(&self) -> Faults {
        match self.trouble {
            Trouble::None | Trouble::Capacity(_) | Trouble::Poison(_) => Faults::none(),
            Trouble::Unprocessed(share) => Faults::none().unprocessed(share),
            Trouble::Throttled(share) => Faults::none().calls(share, InjectedFault::AccountLimit),
            Trouble::Errors(share) => Faults::none()
                .calls(share / 2.0, InjectedFault::internal_error(false))
                .calls(share / 2.0, InjectedFault::internal_error(true)),
            Trouble::Silent(share) => {
                let omitted = InjectedFault::Omitted {
                    entries: 2,
                    applied: false,
                };
                Faults::none()
                    .calls(share, omitted)
                    .calls(share, InjectedFault::Empty { applied: false })
            }
            Trouble::Blamed(share) => Faults::none().failed(share, "RequestThrottled", true),
        }
    }

    /// The share of sent entries that the service accepts on average, whatever the pace.
    fn accepted_share(&self) -> f64 {
        match self.trouble {
            Trouble::None | Trouble::Capacity(_) | Trouble::Poison(_) => 1.0,
            // A write that was applied is known to be only when it is sent again.
            Trouble::Unprocessed(share)
            | Trouble::Errors(share)
            | Trouble::Throttled(share)
            | Trouble::Blamed(share) => 1.0 - share,
            Trouble::Silent(share) => 1.0 - share * 1.2,
        }
    }

    /// The calls that are needed on average when each is full.
    #[expect(clippy::cast_precision_loss, reason = "counts are small")]
    pub fn least_calls(&self) -> f64 {
        self.entries.div_ceil(self.service.chunk()) as f64 / self.accepted_share()
    }

    /// The least possible time: by the table's capacity, by the calls in flight, or, if a group has an order, by its messages one
    /// after another.
    #[expect(clippy::cast_precision_loss, reason = "counts are small")]
    pub fn least_time(&self) -> Duration {
        let entries = self.entries as f64;
        match (self.trouble, self.load) {
            (Trouble::Capacity(rate), _) => Duration::from_secs_f64(entries / rate),
            (_, Load::Groups(groups)) => ROUND_TRIP.mul_f64(entries / groups as f64 / self.accepted_share()),
            _ => ROUND_TRIP.mul_f64((self.least_calls() / WORKERS as f64).ceil()),
        }
    }
}

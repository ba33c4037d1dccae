//! One case: what is delivered and how, what fails, and how it ends.

use std::fmt;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::fault::{Faults, millis};

/// The service of a mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    Table,
    Queue,
    Fifo,
    /// Single writes with conditions and updates of one table, and transactions over this table and another one. All workers write to
    /// the same keys.
    Writes,
}

impl Service {
    /// Entries of a full call.
    pub(crate) fn chunk(self) -> usize {
        match self {
            Self::Table => 25,
            Self::Queue | Self::Fifo => 10,
            Self::Writes => 1,
        }
    }
}

/// The way of delivering.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Batch,
    Stream,
    /// A producer that many tasks share.
    Producer(Waiting),
}

/// What a task that sends to a producer waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// The fate of each entry before the next one is sent.
    Each,
    /// The fates of all entries, after all were sent.
    All,
    /// Nothing: the receipts are dropped.
    Nothing,
}

/// How a delivery ends early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// It is cancelled when this many calls have arrived.
    Cancelled(u64),
    /// It has a deadline.
    Deadline(Duration),
    /// Its future is dropped when this many calls have arrived. With a producer, half of the tasks are aborted.
    Dropped(u64),
    /// Each entry has this many retries at most.
    Retries(u32),
    /// Each entry is tried for this long.
    GiveUp(Duration),
}

/// One case.
#[expect(clippy::struct_excessive_bools, reason = "each is drawn by itself")]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mix {
    pub(crate) seed: u64,
    pub(crate) service: Service,
    pub(crate) way: Way,
    /// Deliveries that share their options, or tasks of a producer.
    pub(crate) workers: usize,
    pub(crate) entries: usize,
    /// How many of the workers, the last ones, deliver transactions.
    pub(crate) transactors: usize,
    /// Keys or groups of each worker, or of all with [`Service::Writes`]; `None` if each entry has its own.
    pub(crate) lanes: Option<usize>,
    /// Calls in flight, for each delivery.
    pub(crate) concurrency: usize,
    /// The client's runtime has several threads.
    pub(crate) threads: bool,
    /// The delivery asks for the key of the table.
    pub(crate) asks: bool,
    pub(crate) attempt_timeout: Duration,
    pub(crate) strict_order: bool,
    pub(crate) last_write_wins: bool,
    pub(crate) faults: Faults,
    pub(crate) cut: Option<Cut>,
}

impl Mix {
    /// Whole puts and deletes, or messages.
    pub(crate) fn draw(seed: u64) -> Self {
        let random = &mut SmallRng::seed_from_u64(seed);
        let service = [Service::Table, Service::Queue, Service::Fifo, Service::Table][random.random_range(0..4)];
        Self::of(seed, service, random)
    }

    /// Single writes and transactions.
    pub(crate) fn draw_writes(seed: u64) -> Self {
        let random = &mut SmallRng::seed_from_u64(seed);
        let mix = Self::of(seed, Service::Writes, random);
        let workers = mix.workers.max(2);
        Self {
            workers,
            transactors: random.random_range(1..=workers.div_ceil(4)),
            lanes: Some(random.random_range(2..=16)),
            // What is handed back must tell which entry it is, and an update does not.
            way: match mix.way {
                Way::Producer(Waiting::Nothing) => Way::Producer(Waiting::All),
                way => way,
            },
            ..mix
        }
    }

    fn of(seed: u64, service: Service, random: &mut SmallRng) -> Self {
        let way = match random.random_range(0..6) {
            0 | 1 => Way::Batch,
            2 | 3 => Way::Stream,
            4 => Way::Producer(Waiting::Each),
            _ if random.random() => Way::Producer(Waiting::All),
            _ => Way::Producer(Waiting::Nothing),
        };
        let mut entries: usize = random.random_range(60..900);
        if service == Service::Writes {
            // Each is a call of its own.
            entries /= 3;
        }
        let workers = match way {
            Way::Batch | Way::Stream => random.random_range(1..=4),
            // Each task waits for a round trip for each entry.
            Way::Producer(Waiting::Each) => random.random_range(20..=60),
            Way::Producer(_) => random.random_range(4..=40),
        };
        let has_lanes = service == Service::Fifo || random.random_bool(0.5);
        let lanes = has_lanes.then(|| random.random_range(1..=entries.div_ceil(workers).div_ceil(4)));
        let calls = (entries / service.chunk()).max(4) as u64;
        let faults = Faults::draw(seed, calls, random);
        let attempt_timeout = if faults.hang() {
            millis(random, 300..=600)
        } else {
            Duration::from_secs(30)
        };
        let cut = random.random_bool(0.45).then(|| match random.random_range(0..7) {
            0 | 1 => Cut::Cancelled(random.random_range(0..=calls)),
            2 => Cut::Deadline(millis(random, 20..=300)),
            3 | 4 => Cut::Dropped(random.random_range(0..=calls)),
            5 => Cut::Retries(random.random_range(0..=3)),
            _ => Cut::GiveUp(millis(random, 20..=300)),
        });
        Self {
            seed,
            service,
            way,
            workers,
            transactors: 0,
            entries,
            lanes,
            concurrency: 1 << random.random_range(0..=6),
            threads: random.random(),
            asks: random.random::<bool>() && matches!(service, Service::Table | Service::Writes),
            attempt_timeout,
            strict_order: service == Service::Fifo && random.random_bool(0.3),
            last_write_wins: service == Service::Table && has_lanes && way == Way::Batch && random.random_bool(0.3),
            faults,
            cut,
        }
    }
}

/// The grace period by default.
const GRACE: Duration = Duration::from_secs(1);

/// How long an entry of a producer may be tried by default.
const PATIENCE: Duration = Duration::from_mins(1);

impl Mix {
    /// How long the fate of an entry of a producer may take, as documented.
    pub(crate) fn limit_of_sender(&self) -> Duration {
        let patience = match self.cut {
            Some(Cut::GiveUp(time)) => time,
            _ => PATIENCE,
        };
        patience + self.attempt_timeout
    }

    /// How long a delivery may take from its start, if that is documented: a deadline, and the grace for calls and for the
    /// target to clean up.
    pub(crate) fn limit_of_delivery(&self) -> Option<Duration> {
        match self.cut {
            Some(Cut::Deadline(time)) => Some(time + 2 * GRACE),
            _ => None,
        }
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "seed {}: {:?}, {} entries, {:?} of {}, {} calls at once, attempt timeout {:?}",
            self.seed, self.service, self.entries, self.way, self.workers, self.concurrency, self.attempt_timeout
        )?;
        if let Some(lanes) = self.lanes {
            let of = if self.service == Service::Writes {
                "for all"
            } else {
                "each"
            };
            write!(f, ", {lanes} lanes {of}")?;
        }
        if self.transactors > 0 {
            write!(f, ", {} with transactions", self.transactors)?;
        }
        for (is_so, what) in [
            (self.threads, "threads"),
            (self.asks, "asks"),
            (self.strict_order, "strict order"),
            (self.last_write_wins, "last write wins"),
        ] {
            if is_so {
                write!(f, ", {what}")?;
            }
        }
        if let Some(cut) = self.cut {
            write!(f, ", {cut:?}")?;
        }
        write!(f, "{}", self.faults)
    }
}

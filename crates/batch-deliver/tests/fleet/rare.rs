//! Rare states that fleets have to reach. Faults that never meet them show nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use super::faults::{Fault, Service};
use super::fleet::Ended;
use super::http::Request;
use super::shared::operation;

/// Whether a fault meets a request in a state.
type Meets = fn(&Meeting<'_>) -> bool;

/// The states in which a fault meets a request.
const MET: [(&str, Meets); 23] = [
    ("killed while it looks up its destination", |met| {
        met.is_kill() && met.is_lookup()
    }),
    ("killed while it reads its input", |met| {
        met.is_kill() && met.is_of("GET", "/b/in/")
    }),
    ("killed with a shard that it has not heard of", |met| {
        met.is_kill_after() && met.operation == "GetActivityTask"
    }),
    ("killed when a call was applied", |met| {
        met.is_kill_after() && met.service == Service::Destination
    }),
    ("killed when a checkpoint was put", |met| {
        met.is_kill_after() && met.is_of("PUT", "/b/checkpoints/")
    }),
    ("killed before a checkpoint is put", |met| {
        met.is_kill() && !met.is_kill_after() && met.is_of("PUT", "/b/checkpoints/")
    }),
    ("killed when a dead letter was put", |met| {
        met.is_kill_after() && met.is_of("PUT", "/b/letters/")
    }),
    ("killed when a part of an export was put", |met| {
        met.is_kill_after() && met.is_of("PUT", "/b/out/")
    }),
    ("killed after the last checkpoint, before the answer", |met| {
        met.is_kill() && !met.is_kill_after() && met.operation == "SendTaskSuccess"
    }),
    ("killed when the answer was taken", |met| {
        met.is_kill_after() && met.operation == "SendTaskSuccess"
    }),
    ("the task of a shard is lost on the way", |met| {
        met.is_unheard() && met.operation == "GetActivityTask"
    }),
    ("the answer after the last checkpoint is lost", |met| {
        met.is_unheard() && met.operation == "SendTaskSuccess"
    }),
    ("a call is applied, and its answer lost", |met| {
        met.is_unheard() && met.service == Service::Destination
    }),
    ("a checkpoint is put, and its answer lost", |met| {
        met.is_unheard() && met.is_of("PUT", "/b/checkpoints/")
    }),
    ("a dead letter is put, and its answer lost", |met| {
        met.is_unheard() && met.is_of("PUT", "/b/letters/")
    }),
    ("a part of an export is put, and its answer lost", |met| {
        met.is_unheard() && met.is_of("PUT", "/b/out/")
    }),
    ("a checkpoint is put while S3 is cut off", |met| {
        met.is_cut_off && met.is_of("PUT", "/b/checkpoints/")
    }),
    ("a dead letter is put while S3 is cut off", |met| {
        met.is_cut_off && met.is_of("PUT", "/b/letters/")
    }),
    ("a page of a scan has no answer", |met| {
        met.is_unanswered() && met.operation == "Scan"
    }),
    ("a lookup of the destination has no answer", |met| {
        met.is_unanswered() && met.is_lookup()
    }),
    ("a part of an input has no answer", |met| {
        met.is_unanswered() && met.is_of("GET", "/b/in/")
    }),
    ("told to stop while it waits for a shard", |met| {
        met.is_stop() && met.operation == "GetActivityTask"
    }),
    ("told to stop while it sends", |met| {
        met.is_stop() && met.service == Service::Destination && !met.is_lookup()
    }),
];

/// The states that show in what programs say.
const SAID: [(&str, &str); 18] = [
    (
        "a journal of a run that was killed is continued",
        "the last run did not end cleanly",
    ),
    (
        "lines are left that earlier runs have not settled",
        "lines are settled by earlier runs",
    ),
    ("a scan is continued", "items are settled by earlier runs"),
    (
        "nothing is accepted for a while",
        "nothing is accepted: the delivery keeps trying",
    ),
    ("a lookup holds the delivery up", "code=\"DescribeTable: "),
    ("a queue cannot be looked up for a while", "code=\"GetQueue"),
    ("a heartbeat fails", "a heartbeat has failed: "),
    ("a heartbeat comes too late", "a heartbeat has failed: TaskTimedOut"),
    (
        "the answer for a shard cannot be sent",
        "the answer for a shard could not be sent: ",
    ),
    (
        "the answer for a shard comes too late",
        "the answer for a shard could not be sent: TaskTimedOut",
    ),
    (
        "the activity cannot be polled",
        "the activity cannot be polled for shards: ",
    ),
    (
        "a shard is handed out too late",
        "a shard is not begun, as it was handed out too late: ",
    ),
    (
        "a shard is interrupted by a stop",
        "the shard has failed: Interrupted: the worker had to stop",
    ),
    (
        "a checkpoint is another worker's",
        "the shard has failed: Interrupted: it was removed, or another run continues it",
    ),
    ("a checkpoint cannot be written", "the shard has failed: Checkpoint: "),
    ("dead letters cannot be written", "the shard has failed: DeadLetters: "),
    ("a service is gone for a worker", "the shard has failed: Stopped: "),
    (
        "a worker ends because of a fault of its own",
        "error: the worker ends: ",
    ),
];

/// The states that only the services see.
const SEEN: [&str; 16] = [
    TWO_WORKERS,
    THREE_WORKERS,
    RESUMED,
    RESUMED_AT_THE_END,
    OWN_PUT,
    TAKEN_OVER,
    STALE,
    LETTER_TWICE,
    PART_TWICE,
    SENT_AGAIN,
    HALVED,
    ALONE,
    STOPPED_LATE,
    PLANNED_AGAIN,
    ALL_ENDED,
    SKEWED,
];

pub(crate) const TWO_WORKERS: &str = "two workers have one shard";
pub(crate) const THREE_WORKERS: &str = "three workers had one shard";
pub(crate) const RESUMED: &str = "a worker continues what another one has begun";
pub(crate) const RESUMED_AT_THE_END: &str = "a worker continues where nothing is left";
pub(crate) const OWN_PUT: &str = "a worker finds its own put that had no answer";
pub(crate) const TAKEN_OVER: &str = "a put is refused because another worker has the checkpoint";
pub(crate) const STALE: &str = "the checkpoint of another load is replaced";
pub(crate) const LETTER_TWICE: &str = "a dead letter is kept twice";
pub(crate) const PART_TWICE: &str = "a part of an export is written again";
pub(crate) const SENT_AGAIN: &str = "an entry that was applied is sent again";
pub(crate) const HALVED: &str = "a call of several entries is refused as a whole";
pub(crate) const ALONE: &str = "an entry is refused alone";
pub(crate) const STOPPED_LATE: &str = "a worker that has lost its shard says that it is delivered";
pub(crate) const PLANNED_AGAIN: &str = "a plan fails, and is made again";
pub(crate) const ALL_ENDED: &str = "no worker of a fleet is left";
pub(crate) const SKEWED: &str = "a worker with another time of day delivers";

/// A fault and the request that it meets.
pub(crate) struct Meeting<'a> {
    pub(crate) service: Service,
    pub(crate) operation: &'a str,
    pub(crate) request: &'a Request,
    pub(crate) fault: Option<Fault>,
    pub(crate) is_cut_off: bool,
    /// Whether the service does what is asked, and the worker does not hear of it.
    pub(crate) applied: bool,
}

impl<'a> Meeting<'a> {
    pub(crate) fn new(service: Service, request: &'a Request, fault: Option<Fault>, cut_off: Option<bool>) -> Self {
        let of_fault = matches!(
            fault,
            Some(
                Fault::InternalError { applied: true }
                    | Fault::Lost { applied: true }
                    | Fault::Silent { applied: true, .. }
                    | Fault::Kill { applied: true }
            )
        );
        Self {
            service,
            operation: operation(request),
            request,
            fault,
            is_cut_off: cut_off.is_some(),
            applied: cut_off.unwrap_or(of_fault),
        }
    }

    fn is_of(&self, method: &str, prefix: &str) -> bool {
        self.operation.is_empty() && self.request.method == method && self.request.target.starts_with(prefix)
    }

    fn is_lookup(&self) -> bool {
        ["DescribeTable", "GetQueueUrl", "GetQueueAttributes"].contains(&self.operation)
    }

    fn is_kill(&self) -> bool {
        matches!(self.fault, Some(Fault::Kill { .. })) && !self.is_cut_off
    }

    fn is_kill_after(&self) -> bool {
        self.is_kill() && self.applied
    }

    fn is_stop(&self) -> bool {
        matches!(self.fault, Some(Fault::Terminate))
    }

    /// Whether it is applied, and a worker that goes on does not hear of it.
    fn is_unheard(&self) -> bool {
        self.applied && !self.is_kill()
    }

    fn is_unanswered(&self) -> bool {
        let is_lost = matches!(self.fault, Some(Fault::Lost { .. } | Fault::Silent { .. }));
        self.is_cut_off || is_lost
    }
}

/// The states that a fleet has reached.
#[derive(Default)]
pub(crate) struct Rare(Mutex<BTreeSet<&'static str>>);

impl Rare {
    pub(crate) fn reach(&self, state: &'static str) {
        self.0.lock().unwrap().insert(state);
    }

    pub(crate) fn meet(&self, met: &Meeting<'_>) {
        let states = MET.iter().filter(|(_, is_reached)| is_reached(met));
        states.for_each(|(state, _)| self.reach(state));
    }

    /// Programs have said this.
    pub(crate) fn say(&self, said: &str) {
        let states = SAID.iter().filter(|(_, words)| said.contains(words));
        states.for_each(|(state, _)| self.reach(state));
    }

    pub(crate) fn reached(&self) -> BTreeSet<String> {
        self.0.lock().unwrap().iter().map(ToString::to_string).collect()
    }
}

/// In how many fleets each state was reached, and those that none has reached.
pub(crate) fn table(fleets: &[Ended]) -> (String, Vec<&'static str>) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for state in fleets.iter().flat_map(|fleet| &fleet.reached) {
        *counts.entry(state).or_default() += 1;
    }
    let met = MET.iter().map(|(state, _)| *state);
    let said = SAID.iter().map(|(state, _)| *state);
    let all: Vec<&'static str> = met.chain(said).chain(SEEN).collect();
    let count = |state: &str| counts.get(state).copied().unwrap_or_default();
    let rows = all.iter().map(|state| format!("{:>7} {state}\n", count(state)));
    let never = all.iter().filter(|state| count(state) == 0).copied().collect();
    (rows.collect(), never)
}

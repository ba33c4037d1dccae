//! A fleet: a plan, and workers that deliver its shards while requests fail and workers are killed, frozen and cut off.

use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::Duration;

use aws_batch_simulator::{KeyType, QueueOptions, Server, Simulator, TableOptions};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::activity::{Activity, HEARTBEAT};
use crate::bucket::Objects;
use crate::clock::{Clock, Skew, real};
use crate::content::number;
use crate::faults::{Faults, Service};
use crate::front::{Front, exchanged};
use crate::ledger::{Ledger, Sink};
use crate::load::{Load, Work};
use crate::shared::Shared;

/// The time in which a fleet must come to its end. It is much longer than all faults of a seed.
const LONGEST: Duration = Duration::from_mins(15);

/// The time in which a worker that is told to stop must end.
const LONGEST_STOP: Duration = Duration::from_mins(10);

/// How often it is looked whether workers have ended.
const LOOK: Duration = Duration::from_millis(200);

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(1).enable_all().build().unwrap()
});

/// What is said of a fleet that takes too long: the program holds it up, or a machine that is too busy for its clock.
pub(crate) const ENDLESS: &str = "it does not come to its end";

/// What a fleet is made of.
#[derive(Clone)]
pub(crate) struct Plan {
    pub(crate) work: Work,
    pub(crate) load: Load,
    pub(crate) faults: Faults,
    pub(crate) workers: usize,
    pub(crate) shards: u64,
    /// Entries or read units per second of each worker.
    pub(crate) rate: u32,
    pub(crate) has_checkpoints: bool,
    /// Whether dead letters and checkpoints are in a folder that all workers share.
    pub(crate) is_local: bool,
    /// Whether another load has left a checkpoint of the same name.
    pub(crate) has_stale_checkpoint: bool,
    /// The clock of the first worker.
    pub(crate) skew: Skew,
}

impl Plan {
    pub(crate) fn of(seed: u64) -> Self {
        let mut random = SmallRng::seed_from_u64(seed);
        let work = *Work::ALL.choose(&mut random).unwrap();
        let load = Load::of(&mut random, work);
        let second = Duration::from_secs(1);
        let skew = match random.random_range(0..6) {
            0 => Skew::Percent(random.random_range(60..180)),
            1 => Skew::Jump {
                at: second * random.random_range(0..10),
                by: second * random.random_range(1..40),
            },
            _ => Skew::None,
        };
        let has_checkpoints = work == Work::Export || random.random_bool(0.85);
        let is_local = work != Work::Export && random.random_bool(0.15);
        Self {
            work,
            load,
            workers: random.random_range(1..4),
            shards: random.random_range(1..5),
            rate: match work {
                Work::Load | Work::Send | Work::SendInGroups => *[4, 15, 30, 60].choose(&mut random).unwrap(),
                Work::Copy | Work::Export => random.random_range(200..600),
            },
            has_checkpoints,
            is_local,
            has_stale_checkpoint: has_checkpoints && !is_local && !work.is_of_segments() && random.random_bool(0.1),
            skew,
            faults: Faults::of(&mut random),
        }
    }

    /// One worker with few entries in one shard.
    pub(crate) fn small(work: Work, faults: Faults) -> Self {
        Self {
            work,
            load: Load::small(work),
            faults,
            workers: 1,
            shards: 1,
            rate: 20,
            has_checkpoints: true,
            is_local: false,
            has_stale_checkpoint: false,
            skew: Skew::None,
        }
    }

    fn worker(&self) -> String {
        let arn = "arn:aws:states:us-east-1:000000000000:activity:deliver";
        let heartbeat = HEARTBEAT.as_secs();
        let common = format!("worker --activity {arn} --heartbeat {heartbeat}s");
        let place = if self.is_local { "" } else { "s3://b/" };
        let checkpoints = format!("--checkpoints {place}checkpoints/");
        let delivery = format!(
            "--dead-letters {place}letters/ --concurrency 2 --max-rate {} {}",
            self.rate,
            if self.has_checkpoints { &checkpoints } else { "" }
        );
        match self.work {
            Work::Load => format!("{common} --table items {delivery}"),
            Work::Send => format!("{common} --queue q {delivery}"),
            Work::SendInGroups => format!("{common} --queue q.fifo --format json {delivery}"),
            Work::Copy => format!("{common} --table copy {delivery}"),
            Work::Export => format!("{common} --export s3://b/out/ --part-bytes 15KB {checkpoints}"),
        }
    }

    fn planner(&self) -> String {
        if self.work.is_of_segments() {
            return format!("plan --lines --from-table source --segments {}", self.shards);
        }
        let largest = self.load.objects.iter().map(|object| object.text().len() as u64).max();
        let bytes = largest.unwrap_or_default().div_ceil(self.shards);
        format!("plan --lines --shard-bytes {bytes} s3://b/in/")
    }
}

/// What a fleet has come to.
pub(crate) struct Ended {
    /// Requests to each service.
    pub(crate) requests: HashMap<Service, u64>,
    pub(crate) time: Duration,
    pub(crate) shards: usize,
    pub(crate) handed_out: usize,
    pub(crate) overlapping: usize,
    pub(crate) sent_again: usize,
    /// Shards that two workers had at the same time, and in which an older item or message came after a newer one.
    pub(crate) out_of_order: usize,
}

pub(crate) struct Fleet {
    pub(crate) plan: Plan,
    front: Front,
    _server: Server,
    /// The shards as they were planned.
    pub(crate) shards: Vec<Value>,
    planned_faults: String,
}

impl Fleet {
    /// Runs a fleet to its end, and checks what holds then. Returns what does not.
    pub(crate) fn run(plan: Plan) -> Result<Ended, String> {
        let mut fleet = Self::new(plan);
        let ended = fleet.finish().and_then(|()| fleet.checked());
        ended.map_err(|words| {
            format!(
                "{words}\n{}\n{}",
                fleet.planned_faults,
                fleet.front.shared.workers.said()
            )
        })
    }

    fn new(mut plan: Plan) -> Self {
        let _within = RUNTIME.enter();
        let simulator = Simulator::new(7);
        let table = |name: &str| simulator.table(name, TableOptions::key("id", KeyType::N));
        let objects = Objects::default();
        let sink = match plan.work {
            Work::Send | Work::SendInGroups => {
                let name = if plan.work == Work::Send { "q" } else { "q.fifo" };
                let queue = simulator.queue(name, QueueOptions::default());
                queue.keep_journal();
                let refused = plan.load.refused.clone();
                queue.poison(move |message| {
                    let body = message["MessageBody"]
                        .as_str()
                        .and_then(|body| serde_json::from_str(body).ok());
                    body.and_then(|body| number(&body))
                        .is_some_and(|number| refused.contains(&number))
                });
                Sink::Queue(queue)
            }
            Work::Export => {
                table("source");
                Sink::Export
            }
            Work::Load | Work::Copy => {
                let name = if plan.work == Work::Load { "items" } else { "copy" };
                let (destination, refused) = (table(name), plan.load.refused.clone());
                table("source");
                destination.keep_journal();
                destination.poison(move |item| number(item).is_some_and(|number| refused.contains(&number)));
                Sink::Table(destination)
            }
        };
        let server = RUNTIME.block_on(simulator.serve("127.0.0.1:0")).unwrap();
        for object in &plan.load.objects {
            objects
                .lock()
                .unwrap()
                .insert(object.key.clone(), object.text().into_bytes());
        }
        let clock = Clock::start();
        let mut ledger = Ledger::new(sink, objects.clone());
        // A call in flight when the clock jumps has taken too long.
        ledger.is_in_doubt = matches!(plan.skew, Skew::Jump { .. });
        let faults = std::mem::take(&mut plan.faults);
        let planned_faults = format!(
            "{faults:?}, {:?}, {:?}, local {}, stale {}, checkpoints {}",
            plan.skew, plan.work, plan.is_local, plan.has_stale_checkpoint, plan.has_checkpoints
        );
        let shared = Shared::new((clock, Activity::new(clock)), objects, server.address(), ledger, faults);
        let front = Front::serve(shared);
        Self {
            plan,
            front,
            _server: server,
            shards: Vec::new(),
            planned_faults,
        }
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.front.shared
    }

    fn start(&self, arguments: &str, skew: Skew) -> usize {
        let arguments = format!("{arguments} --endpoint-url {}", self.front.endpoint());
        self.shared().workers.start(&arguments, skew)
    }

    fn finish(&mut self) -> Result<(), String> {
        if self.plan.work.is_of_segments() {
            self.fill();
        }
        self.make_plan()?;
        let (arguments, shared) = (self.plan.worker(), self.shared());
        let mut running: Vec<usize> = (0..self.plan.workers)
            .map(|index| self.start(&arguments, if index == 0 { self.plan.skew } else { Skew::None }))
            .collect();
        while !shared.activity.has_finished(real(LOOK)) {
            if shared.clock.now() > LONGEST {
                return Err(ENDLESS.to_owned());
            }
            if let Some(violation) = shared.ledger().violations.first() {
                return Err(violation.clone());
            }
            for worker in &mut running {
                if shared.workers.has_ended(*worker) {
                    if !shared.workers.may_have_ended(*worker) {
                        return Err(format!("worker {worker} has ended by itself"));
                    }
                    *worker = self.start(&arguments, Skew::None);
                }
            }
        }
        self.stop()
    }

    /// Writes the entries to the table that is read.
    fn fill(&self) {
        let entries: Vec<_> = self.plan.load.entries().collect();
        for some in entries.chunks(25) {
            let puts = some.iter().map(|entry| {
                let number = |number: u32| json!({"N": number.to_string()});
                json!({"PutRequest": {"Item": {"id": number(entry.id), "number": number(entry.number)}}})
            });
            let body = json!({"RequestItems": {"source": puts.collect::<Vec<_>>()}}).to_string();
            let target = "DynamoDB_20120810.BatchWriteItem";
            let answer = exchanged(self.shared().simulator, target, body.as_bytes()).unwrap();
            assert_eq!(answer.0, 200);
        }
    }

    /// Lets the program plan, again if it fails, and hands out what it has planned.
    fn make_plan(&mut self) -> Result<(), String> {
        let shared = &self.front.shared;
        let output = loop {
            let planner = self.start(&self.plan.planner(), Skew::None);
            while !shared.workers.has_ended(planner) {
                if shared.clock.now() > LONGEST {
                    return Err("the plan does not come to its end".to_owned());
                }
                shared.pause(LOOK);
            }
            if shared.workers.all()[planner]
                .status()
                .is_some_and(|status| status.success())
            {
                break shared.workers.output(planner);
            }
        };
        let shards = output.lines().map(|line| {
            let mut planned: Value = serde_json::from_str(line).unwrap();
            planned["execution"] = "one".into();
            planned
        });
        self.shards = shards.collect();
        let entries = |shard| self.plan.load.shard(shard);
        shared
            .ledger()
            .begin(self.shards.iter().map(|shard| (shard, entries(shard))));
        if self.plan.has_stale_checkpoint {
            shared.ledger().leave_a_stale_checkpoint();
        }
        shared.activity.begin(self.shards.iter().cloned());
        Ok(())
    }

    /// Tells the workers to stop, and waits for their ends.
    fn stop(&self) -> Result<(), String> {
        let shared = self.shared();
        shared.end();
        let count = shared.workers.all().len();
        let until = shared.clock.now() + LONGEST_STOP;
        for worker in 0..count {
            shared.workers.thaw(worker);
            shared.workers.terminate(worker);
        }
        while let Some(worker) = (0..count).find(|worker| !shared.workers.has_ended(*worker)) {
            if shared.clock.now() > until {
                return Err(format!("worker {worker} does not stop"));
            }
            shared.pause(LOOK);
        }
        Ok(())
    }
}

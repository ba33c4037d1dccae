//! A fleet: a plan, and workers that deliver its shards while requests fail and workers are killed, frozen and cut off.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aws_batch_simulator::{KeyType, QueueOptions, TableOptions};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::activity::{Activity, HEARTBEAT};
use super::bucket::Objects;
use super::clock::{Clock, Skew, pause};
use super::content::number;
use super::faults::{Faults, Service};
use super::front::{Front, Services, exchanged};
use super::ledger::{Ledger, Sink};
use super::load::{Load, Work};
use super::rare;
use super::shared::Shared;
use super::worker::SHARES_FOLDERS;

/// The time in which a fleet must come to its end. It is much longer than all faults of a seed.
const LONGEST: Duration = Duration::from_mins(15);

/// The time in which a worker that is told to stop must end.
const LONGEST_STOP: Duration = Duration::from_mins(10);

/// How often it is looked whether workers have ended.
const LOOK: Duration = Duration::from_millis(200);

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
        let skew = Skew::of(&mut random);
        let has_checkpoints = work == Work::Export || random.random_bool(0.85);
        let is_local = work != Work::Export && random.random_bool(0.15) && SHARES_FOLDERS;
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
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ended {
    /// Requests to each service.
    pub(crate) requests: BTreeMap<Service, u64>,
    pub(crate) time: Duration,
    /// From the end of the last fault to the end of the fleet, and how long that may take at most.
    pub(crate) after_faults: (Duration, Duration),
    pub(crate) shards: usize,
    pub(crate) handed_out: usize,
    pub(crate) overlapping: usize,
    pub(crate) sent_again: usize,
    /// Shards that two workers had at the same time, and in which an older item or message came after a newer one.
    pub(crate) out_of_order: usize,
    /// The rare states that it has reached.
    pub(crate) reached: BTreeSet<String>,
}

impl Ended {
    /// What fleets have come to, which ran for this long.
    pub(crate) fn summary(all: &[Self], took: Duration) -> String {
        let sum = |of: fn(&Self) -> usize| all.iter().map(of).sum::<usize>();
        let most = |of: fn(&Self) -> f64| all.iter().map(of).fold(0.0, f64::max);
        format!(
            "{} seeds in {:.0} s, with {:.0} s of theirs: {} shards, handed out {} times, {} of them while another worker had them, \
             {} of these out of order; {} entries sent again; they end at most {:.0} s after their faults, at {:.0}% of the bound",
            all.len(),
            took.as_secs_f64(),
            all.iter().map(|fleet| fleet.time.as_secs_f64()).sum::<f64>(),
            sum(|fleet| fleet.shards),
            sum(|fleet| fleet.handed_out),
            sum(|fleet| fleet.overlapping),
            sum(|fleet| fleet.out_of_order),
            sum(|fleet| fleet.sent_again),
            most(|fleet| fleet.after_faults.0.as_secs_f64()),
            most(|fleet| 100.0 * fleet.after_faults.0.div_duration_f64(fleet.after_faults.1)),
        )
    }
}

pub(crate) struct Fleet {
    pub(crate) plan: Plan,
    front: Front,
    /// The shards as they were planned.
    pub(crate) shards: Vec<Value>,
    /// When its last shard was delivered.
    pub(crate) delivered: Duration,
    planned_faults: String,
}

impl Fleet {
    /// Runs a fleet to its end, and checks what holds then. Returns what does not.
    pub(crate) async fn run(plan: Plan) -> Result<Ended, String> {
        let mut fleet = Self::new(plan).await;
        let ended = fleet.finish().await.and_then(|()| fleet.checked());
        ended.map_err(|words| {
            format!(
                "{words}\n{}\n{}",
                fleet.planned_faults,
                fleet.front.shared.workers.said()
            )
        })
    }

    async fn new(mut plan: Plan) -> Self {
        let simulator = Services::new();
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
        let services = Services::serve(&simulator).await;
        for object in &plan.load.objects {
            objects
                .lock()
                .unwrap()
                .insert(object.key.clone(), object.text().into_bytes());
        }
        let clock = Clock::start();
        let mut ledger = Ledger::new(sink, objects.clone());
        // A call in flight when the clock jumps has taken too long.
        ledger.is_in_doubt = plan.skew.jumps();
        let faults = std::mem::take(&mut plan.faults);
        let planned_faults = format!(
            "{faults:?}, {:?}, {:?}, local {}, stale {}, checkpoints {}",
            plan.skew, plan.work, plan.is_local, plan.has_stale_checkpoint, plan.has_checkpoints
        );
        let shared = Shared::new((clock, Activity::new(clock)), objects, services, ledger, faults);
        let front = Front::serve(shared);
        Self {
            plan,
            front,
            shards: Vec::new(),
            delivered: Duration::ZERO,
            planned_faults,
        }
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.front.shared
    }

    async fn finish(&mut self) -> Result<(), String> {
        if self.plan.work.is_of_segments() {
            self.fill().await;
        }
        self.make_plan().await?;
        let (arguments, shared) = (self.plan.worker(), self.shared());
        let mut running: Vec<usize> = (0..self.plan.workers)
            .map(|index| {
                self.front
                    .start(&arguments, if index == 0 { self.plan.skew } else { Skew::None })
            })
            .collect();
        while !shared.activity.has_finished() {
            pause(LOOK).await;
            if shared.clock.now() > LONGEST {
                return Err(ENDLESS.to_owned());
            }
            if let Some(violation) = shared.ledger().violations.first() {
                return Err(violation.clone());
            }
            if running.iter().all(|worker| shared.workers.has_ended(*worker)) {
                shared.rare.reach(rare::ALL_ENDED);
            }
            for worker in &mut running {
                if shared.workers.has_ended(*worker) {
                    if !shared.workers.may_have_ended(*worker) {
                        return Err(format!("worker {worker} has ended by itself"));
                    }
                    *worker = self.front.start(&arguments, Skew::None);
                }
            }
        }
        self.delivered = shared.clock.now();
        self.stop().await
    }

    /// Writes the entries to the table that is read.
    async fn fill(&self) {
        let entries: Vec<_> = self.plan.load.entries().collect();
        for some in entries.chunks(25) {
            let puts = some.iter().map(|entry| {
                let number = |number: u32| json!({"N": number.to_string()});
                json!({"PutRequest": {"Item": {"id": number(entry.id), "number": number(entry.number)}}})
            });
            let body = json!({"RequestItems": {"source": puts.collect::<Vec<_>>()}}).to_string();
            let target = "DynamoDB_20120810.BatchWriteItem";
            let answer = exchanged(&self.shared().services, target, body.as_bytes())
                .await
                .unwrap();
            assert_eq!(answer.0, 200);
        }
    }

    /// Lets the program plan, again if it fails, and hands out what it has planned.
    async fn make_plan(&mut self) -> Result<(), String> {
        let shared = &self.front.shared;
        let output = loop {
            let planner = self.front.start(&self.plan.planner(), Skew::None);
            while !shared.workers.has_ended(planner) {
                if shared.clock.now() > LONGEST {
                    return Err("the plan does not come to its end".to_owned());
                }
                pause(LOOK).await;
            }
            if shared.workers.all()[planner]
                .status()
                .is_some_and(|status| status.success())
            {
                break shared.workers.output(planner);
            }
            shared.rare.reach(rare::PLANNED_AGAIN);
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

    /// Ends the faults, tells the workers to stop, and waits for their ends.
    async fn stop(&self) -> Result<(), String> {
        let shared = self.shared();
        shared.end.set();
        let count = shared.workers.all().len();
        let until = shared.clock.now() + LONGEST_STOP;
        for worker in 0..count {
            shared.workers.terminate(worker);
        }
        while let Some(worker) = (0..count).find(|worker| !shared.workers.has_ended(*worker)) {
            if shared.clock.now() > until {
                return Err(format!("worker {worker} does not stop"));
            }
            pause(LOOK).await;
        }
        Ok(())
    }
}

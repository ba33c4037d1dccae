//! What each program of a fleet asks for: it has the faults that are planned, and is noted.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use serde_json::{Value, json};

use super::activity::{Activity, Said};
use super::bucket::{self, Objects};
use super::clock::{Clock, End};
use super::content::number;
use super::faults::{Fault, Faults, Service};
use super::front::{Services, exchanged};
use super::http::{Request, Response};
use super::ledger::Ledger;
use super::rare::{self, Meeting, Rare};
use super::worker::{Cut, Workers};

/// The time of a fleet after which a worker that stops may no longer wait for an answer. Only a busy machine takes so long.
const SLOW: Duration = Duration::from_secs(5);

/// What the requests of a fleet share.
pub(crate) struct Shared {
    pub(crate) clock: Clock,
    pub(crate) activity: Activity,
    pub(crate) objects: Objects,
    /// Where the tables and queues are.
    pub(crate) services: Services,
    pub(crate) workers: Workers,
    pub(crate) ledger: Mutex<Ledger>,
    pub(crate) faults: Mutex<Faults>,
    /// The shards of which a worker had not let go when another one got them.
    pub(crate) overlapping: Mutex<HashSet<usize>>,
    /// The shards that workers have not let go.
    held: Mutex<HashSet<(usize, usize)>>,
    /// Requests of destinations that were applied, and whose answers were lost.
    pub(crate) in_doubt: Mutex<usize>,
    /// When the last fault so far has ended.
    pub(crate) healed: Mutex<Duration>,
    pub(crate) end: End,
    pub(crate) rare: Rare,
}

impl Shared {
    pub(crate) fn new(
        (clock, activity): (Clock, Activity),
        objects: Objects,
        services: Services,
        ledger: Ledger,
        faults: Faults,
    ) -> Self {
        let workers = Workers::new();
        let ledger = ledger.with_folder(workers.folder.path("."));
        Self {
            clock,
            activity,
            objects,
            services,
            workers,
            ledger: Mutex::new(ledger),
            faults: Mutex::new(faults),
            overlapping: Mutex::default(),
            held: Mutex::default(),
            in_doubt: Mutex::default(),
            healed: Mutex::default(),
            end: End::default(),
            rare: Rare::default(),
        }
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap()
    }

    /// What is answered to a request of a worker. `None` for a connection that is reset.
    pub(crate) async fn respond(&self, worker: usize, request: &Request) -> Option<Response> {
        if self.workers.was_killed(worker) {
            return None;
        }
        let service = service(request);
        let fault = self
            .faults
            .lock()
            .unwrap()
            .next(service)
            .filter(|_| !self.end.has_come());
        if service == Service::Destination {
            // What a fault holds up was sent before what the worker does meanwhile.
            self.ledger().sends(worker, &sent(request), self.clock.now());
        }
        if let Some(fault) = fault {
            let mut healed = self.healed.lock().unwrap();
            *healed = (*healed).max(self.clock.now() + fault.lasts());
        }
        if let Some(Fault::CutOff {
            applied,
            is_silent,
            time,
        }) = fault
        {
            let until = self.clock.now() + time;
            self.workers.all()[worker].cut = Some(Cut {
                service,
                until,
                applied,
                is_silent,
            });
        }
        if operation(request) == "SendTaskHeartbeat" {
            let call = request.header("amz-sdk-invocation-id").unwrap_or_default();
            self.ledger().beats(worker, call);
        }
        if fault.is_some() && service == Service::Destination {
            self.ledger().is_in_doubt = true;
        }
        let cut = self.workers.all()[worker].cut_off(service, self.clock);
        let cut = cut.filter(|_| !self.end.has_come());
        self.rare
            .meet(&Meeting::new(service, request, fault, cut.map(|cut| cut.applied)));
        if let Some(cut) = cut {
            self.unheard(worker, service, request, cut.applied).await;
            if cut.is_silent {
                self.end.wait(cut.until.saturating_sub(self.clock.now())).await;
            }
            return None;
        }
        match fault {
            None | Some(Fault::CutOff { .. }) => self.answer(worker, service, request, true).await,
            Some(Fault::Throttle) => Some(refusal(service, request, true)),
            Some(Fault::InternalError { applied }) => {
                self.unheard(worker, service, request, applied).await;
                Some(refusal(service, request, false))
            }
            Some(Fault::Lost { applied }) => {
                self.unheard(worker, service, request, applied).await;
                None
            }
            Some(Fault::Silent { applied, time }) => {
                self.unheard(worker, service, request, applied).await;
                self.end.wait(time).await;
                None
            }
            Some(Fault::Late(time)) => {
                self.end.wait(time).await;
                self.answer(worker, service, request, true).await
            }
            Some(Fault::Kill { applied }) => {
                self.workers.kill(worker);
                self.unheard(worker, service, request, applied).await;
                None
            }
            Some(Fault::Freeze { applied, time }) => {
                self.workers.freeze(worker);
                let mut answer = None;
                if applied {
                    answer = self.answer(worker, service, request, false).await;
                }
                self.end.wait(time).await;
                self.ledger().hears(worker);
                self.workers.thaw(worker);
                if applied {
                    answer
                } else {
                    self.answer(worker, service, request, true).await
                }
            }
            Some(Fault::Terminate) => {
                self.workers.terminate(worker);
                self.answer(worker, service, request, true).await
            }
        }
    }

    /// The worker does not hear the answer.
    async fn unheard(&self, worker: usize, service: Service, request: &Request, applied: bool) {
        if applied {
            if service == Service::Destination {
                *self.in_doubt.lock().unwrap() += 1;
            }
            self.answer(worker, service, request, false).await;
        }
    }

    async fn answer(&self, worker: usize, service: Service, request: &Request, is_heard: bool) -> Option<Response> {
        match service {
            Service::Storage => Some(self.store(worker, request)),
            Service::Activity => Some(self.act(worker, request, is_heard).await),
            Service::Destination => self.forward(request).await,
        }
    }

    fn store(&self, worker: usize, request: &Request) -> Response {
        let key = request
            .target
            .split('?')
            .next()
            .and_then(|path| path.strip_prefix("/b/"));
        let key = key.map(bucket::decoded).unwrap_or_default();
        let mut ledger = self.ledger();
        let Some(shard) = ledger.shard_of(&key) else {
            drop(ledger);
            let is_part = request.method == "PUT" && key.starts_with("out/");
            if is_part && self.objects.lock().unwrap().contains_key(&key) {
                self.rare.reach(rare::PART_TWICE);
            }
            return bucket::answer(request, &self.objects);
        };
        if request.method == "PUT" {
            ledger.puts_checkpoint(worker, shard, &request.body);
        }
        let is_stale = ledger.is_stale(shard);
        let answer = bucket::answer(request, &self.objects);
        match (request.method.as_str(), answer.0) {
            ("PUT", 200) => {
                ledger.has_checkpoint(worker, shard, &request.body);
                if is_stale {
                    self.rare.reach(rare::STALE);
                }
            }
            ("PUT", 412) => ledger.refuses_checkpoint(worker),
            ("GET", 200) => {
                if let Some(state) = ledger.reads_checkpoint(worker, shard, &answer.2) {
                    self.rare.reach(state);
                }
            }
            ("DELETE", _) => ledger.removes_checkpoint(worker, shard),
            _ => {}
        }
        answer
    }

    async fn act(&self, worker: usize, request: &Request, is_heard: bool) -> Response {
        let operation = operation(request);
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let shard = self.activity.shard_of(&body);
        match (shard, operation) {
            (Some(shard), "SendTaskSuccess") => self.ledger().says_delivered(worker, shard),
            (Some(shard), "SendTaskFailure") => {
                // Another cause is that its checkpoint is another worker's, and so it is when an answer that was lost is sent again late.
                let cause = body["cause"].as_str().unwrap_or_default();
                let is_last = self.activity.holders(shard).last() == Some(&worker);
                if is_last && cause.starts_with("the worker had to stop") {
                    self.ledger().says_interrupted(worker, shard);
                }
            }
            _ => {}
        }
        if operation != "SendTaskHeartbeat" {
            self.ledger().ends_shard(worker);
        }
        if operation == "GetActivityTask" {
            // A worker asks for a shard when it has let go of the last one, whether its answer has arrived or not.
            self.held.lock().unwrap().retain(|(holder, _)| *holder != worker);
        }
        let (status, answer, said) = if operation == "GetActivityTask" {
            self.activity.poll(worker, &self.end).await
        } else {
            self.activity.answer(operation, &body)
        };
        if is_heard {
            self.ledger().hears(worker);
        }
        match said {
            Said::Handed(shard) => self.hand_out(worker, shard),
            Said::Answer {
                shard,
                is_accepted,
                is_success,
            } => {
                if is_success && !is_accepted {
                    self.rare.reach(rare::STOPPED_LATE);
                }
                self.held.lock().unwrap().remove(&(worker, shard));
            }
            Said::Beat { is_accepted: false, .. } if is_heard && self.workers.all()[worker].freezes == 0 => {
                self.ledger().loses_shard(worker);
            }
            _ => {}
        }
        json_answer(status, &answer)
    }

    /// The worker has got the shard.
    fn hand_out(&self, worker: usize, shard: usize) {
        let mut held = self.held.lock().unwrap();
        let mut others = held.iter().filter(|(other, held)| *held == shard && *other != worker);
        if others.any(|(other, _)| !self.workers.has_ended(*other)) {
            self.overlapping.lock().unwrap().insert(shard);
            self.rare.reach(rare::TWO_WORKERS);
        }
        held.insert((worker, shard));
        if self.activity.holders(shard).iter().collect::<HashSet<_>>().len() > 2 {
            self.rare.reach(rare::THREE_WORKERS);
        }
        self.ledger().begins_shard(worker);
    }

    /// Sends the request to the simulator.
    async fn forward(&self, request: &Request) -> Option<Response> {
        let sent = sent(request);
        if self.ledger().applied().iter().any(|number| sent.contains(number)) {
            self.rare.reach(rare::SENT_AGAIN);
        }
        let target = request.header("x-amz-target").unwrap_or_default();
        let begun = self.clock.now();
        let answer = exchanged(&self.services, target, &request.body).await.ok()?;
        if self.clock.now() > begun + SLOW {
            self.ledger().is_in_doubt = true;
        }
        let is_refused = answer.0 == 400 && String::from_utf8_lossy(&answer.2).contains("ValidationException");
        if is_refused && !sent.is_empty() {
            self.rare.reach(if sent.len() > 1 { rare::HALVED } else { rare::ALONE });
        }
        if operation(request) == "Scan" {
            let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
            let found: Value = serde_json::from_slice(&answer.2).unwrap_or_default();
            let items = found["Items"].as_array().into_iter().flatten().filter_map(number);
            let segment = body["Segment"]
                .as_u64()
                .and_then(|segment| usize::try_from(segment).ok());
            self.ledger()
                .scanned(segment.unwrap_or_default(), &items.collect::<Vec<_>>());
        }
        Some(answer)
    }
}

pub(crate) fn service(request: &Request) -> Service {
    match request.header("x-amz-target") {
        Some(target) if target.starts_with("AWSStepFunctions.") => Service::Activity,
        Some(_) => Service::Destination,
        None => Service::Storage,
    }
}

pub(crate) fn operation(request: &Request) -> &str {
    let target = request.header("x-amz-target").unwrap_or_default();
    target.split_once('.').map_or("", |(_, operation)| operation)
}

/// The numbers of the entries that a request sends.
fn sent(request: &Request) -> BTreeSet<u32> {
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let of_messages = || {
        let bodies = body["Entries"].as_array().into_iter().flatten();
        let bodies = bodies.filter_map(|entry| entry["MessageBody"].as_str());
        bodies
            .filter_map(|body| number(&serde_json::from_str(body).ok()?))
            .collect()
    };
    let of_items = || {
        let tables = body["RequestItems"].as_object().into_iter().flatten();
        let writes = tables.filter_map(|(_, writes)| writes.as_array()).flatten();
        writes.filter_map(|write| number(&write["PutRequest"])).collect()
    };
    match operation(request) {
        "SendMessageBatch" => of_messages(),
        "BatchWriteItem" => of_items(),
        "PutItem" => number(&body).into_iter().collect(),
        _ => BTreeSet::new(),
    }
}

fn json_answer(status: u16, body: &Value) -> Response {
    let headers = "content-type: application/x-amz-json-1.0\r\n".to_owned();
    Response(status, headers, body.to_string().into_bytes())
}

/// A throttle or a failure of the service.
fn refusal(service: Service, request: &Request, is_throttle: bool) -> Response {
    let code = match (service, is_throttle) {
        (Service::Storage, true) => "SlowDown",
        (Service::Storage, false) => "InternalError",
        (Service::Destination, true) if operation(request) == "SendMessageBatch" => "RequestThrottled",
        (Service::Destination, true) => "ProvisionedThroughputExceededException",
        (Service::Activity, true) => "ThrottlingException",
        (_, false) => "InternalServerError",
    };
    if service == Service::Storage {
        let error = format!("<Error><Code>{code}</Code><Message>planned</Message></Error>");
        return Response(if is_throttle { 503 } else { 500 }, String::new(), error.into_bytes());
    }
    json_answer(
        if is_throttle { 400 } else { 500 },
        &json!({"__type": code, "message": "planned"}),
    )
}

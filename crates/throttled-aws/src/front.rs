//! Answers requests: what takes capacity is limited, everything else passes.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::HOST;
use hyper::http::request::Parts;
use hyper::{Request, Response};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::body::{Body, answer, describe, full};
use crate::config::{Config, TableLimits, limits_of};
use crate::dynamo::{Table, TableCall, tables_of};
use crate::faults::Faults;
use crate::journal::{Figures, JournalEntry, Ledger, Outcome, now};
use crate::kinesis::{self, Stream, StreamCall};
use crate::origin::{Origin, is_json};
use crate::plan::{BY_FAULT, Decision, Plan};
use crate::refusal::Refusal;
use crate::registry::{Registry, last_part, lock};
use crate::rule::Fault;
use crate::sqs::{self, Queue, QueueCall};
use crate::target::Target;
use crate::upstream::UpstreamError;

/// The largest request body of `DynamoDB`, from "Quotas in Amazon DynamoDB". The other two services take less.
const LARGEST_BODY: usize = 16 * 1024 * 1024;

/// How a call ends.
pub(crate) enum End {
    Answer(Response<Body>),
    /// The connection is closed.
    Closed,
    /// There is no answer, and the connection stays open.
    Hung,
}

/// What all connections share.
pub(crate) struct Front {
    pub(crate) config: Config,
    target: Target,
    tables: Registry<Table>,
    queues: Registry<Queue>,
    streams: Registry<Stream>,
    pub(crate) faults: Mutex<Faults>,
    pub(crate) ledger: Mutex<Ledger>,
}

impl Front {
    pub(crate) fn new(config: Config, target: Target) -> Self {
        Self {
            faults: Mutex::new(Faults::new(&config)),
            ledger: Mutex::new(Ledger::new(config.journal.entries)),
            tables: Registry::default(),
            queues: Registry::default(),
            streams: Registry::default(),
            config,
            target,
        }
    }

    /// As at the start: full or empty buckets, the faults of the file, no journal and no figures.
    pub(crate) fn reset(&self) {
        *lock(&self.faults) = Faults::new(&self.config);
        lock(&self.ledger).clear();
        self.tables.clear();
        self.queues.clear();
        self.streams.clear();
    }

    pub(crate) async fn answer(self: Arc<Self>, request: Request<Incoming>) -> End {
        let (parts, body) = request.into_parts();
        let origin = Origin::of(&parts);
        if !is_json(&parts.headers) || !takes_capacity(&origin) {
            return self.pass(&origin, parts, Body::Right(body)).await;
        }
        let body = match Limited::new(body, LARGEST_BODY).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<http_body_util::LengthLimitError>() => {
                let message = format!(
                    "throttled-aws: the request has more than {LARGEST_BODY} bytes, the most that DynamoDB takes"
                );
                let refusal = Refusal {
                    status: 413,
                    ..Refusal::new("RequestEntityTooLarge", message)
                };
                return End::Answer(refusal.answer(&origin.service, true));
            }
            // The client is gone, or sent no HTTP.
            Err(_) => return End::Closed,
        };
        // In a task of its own: a client that goes away in between does not keep the journal from what was applied.
        let call = tokio::spawn(async move { self.limited(origin, parts, body).await });
        call.await.unwrap_or(End::Closed)
    }

    async fn limited(&self, origin: Origin, parts: Parts, bytes: Bytes) -> End {
        let plan = match serde_json::from_slice(&bytes) {
            Ok(body) => self.plan(&origin, &parts, body).await,
            Err(_) => None,
        };
        match plan {
            Some(plan) => self.perform(&origin, &parts, plan).await,
            // What is refused is refused by the emulator.
            None => self.pass(&origin, parts, full(bytes)).await,
        }
    }

    /// The call, entry by entry. `None` if it has another form or a destination that does not exist.
    async fn plan(&self, origin: &Origin, parts: &Parts, body: Value) -> Option<Box<dyn Plan>> {
        let operation = &*origin.operation;
        match &*origin.service {
            "dynamodb" => {
                let names = tables_of(operation, &body)?;
                let mut tables = Vec::new();
                for name in &names {
                    tables.push(self.table(parts, last_part(name)).await?);
                }
                Some(Box::new(TableCall::new(operation, body, names, tables)?))
            }
            "sqs" => {
                let url = body["QueueUrl"].as_str()?.to_owned();
                let name = last_part(&url).to_owned();
                let queue = self.queue(parts, &url, &name).await?;
                Some(Box::new(QueueCall::new(operation, body, name, queue)?))
            }
            _ => {
                let name = body["StreamName"].as_str().or(body["StreamARN"].as_str())?;
                let name = last_part(name).to_owned();
                let stream = self.stream(parts, &body, &name).await?;
                Some(Box::new(StreamCall::new(operation, body, name, stream)?))
            }
        }
    }

    async fn table(&self, parts: &Parts, name: &str) -> Option<Arc<Table>> {
        let describe = async {
            let body = json!({"TableName": name});
            let described = self.target.ask(parts, "DynamoDB_20120810.DescribeTable", &body).await?;
            let default = TableLimits::default();
            let limits = limits_of(&self.config.tables, name).unwrap_or(&default);
            Table::described(&described["Table"], limits, self.seed(name), Instant::now())
        };
        self.tables.get(name, describe).await
    }

    async fn queue(&self, parts: &Parts, url: &str, name: &str) -> Option<Arc<Queue>> {
        let limits = limits_of(&self.config.queues, name).copied().unwrap_or_default();
        let describe = async {
            let attributes = if Queue::needs_attributes(name, &limits) {
                let body = json!({"QueueUrl": url, "AttributeNames": ["All"]});
                self.target.ask(parts, "AmazonSQS.GetQueueAttributes", &body).await?
            } else {
                Value::Null
            };
            Some(Queue::described(
                name,
                &attributes["Attributes"],
                &limits,
                self.seed(name),
                Instant::now(),
            ))
        };
        self.queues.get(name, describe).await
    }

    async fn stream(&self, parts: &Parts, body: &Value, name: &str) -> Option<Arc<Stream>> {
        let limits = limits_of(&self.config.streams, name).copied().unwrap_or_default();
        let describe = async {
            let member = if body["StreamName"].is_string() {
                "StreamName"
            } else {
                "StreamARN"
            };
            let body = json!({member: body[member]});
            let described = self
                .target
                .ask(parts, "Kinesis_20131202.DescribeStreamSummary", &body)
                .await?;
            let summary = &described["StreamDescriptionSummary"];
            Some(Stream::described(summary, &limits, self.seed(name), Instant::now()))
        };
        self.streams.get(name, describe).await
    }

    fn seed(&self, name: &str) -> u64 {
        name.bytes().fold(self.config.seed, |seed, byte| {
            seed.wrapping_mul(31).wrapping_add(byte.into())
        })
    }

    async fn perform(&self, origin: &Origin, parts: &Parts, mut plan: Box<dyn Plan>) -> End {
        let (fault, latency) = {
            let mut faults = lock(&self.faults);
            (faults.next(origin, &plan.destinations()), faults.latency())
        };
        let call = Call {
            front: self,
            number: lock(&self.ledger).call(),
            has_fault: fault != Fault::None,
        };
        sleep_for(latency).await;
        let mut decisions = vec![Decision::Accepted; plan.entries().len()];
        match &fault {
            Fault::Throttle => {
                let refusal = plan.throttle();
                call.record(&*plan, Outcome::Throttled);
                return End::Answer(refusal.answer(plan.service(), true));
            }
            Fault::Dropped => {
                call.record(&*plan, Outcome::Dropped);
                return End::Closed;
            }
            Fault::Hung => {
                call.record(&*plan, Outcome::Dropped);
                return End::Hung;
            }
            Fault::Error(error) if !error.applied => {
                call.record(&*plan, Outcome::Failed);
                return End::Answer(fault_answer(&fault, plan.service(), true));
            }
            Fault::Unprocessed(entries) => {
                let entries = (*entries).min(decisions.len());
                decisions[..entries].fill(Decision::Throttled(BY_FAULT));
            }
            Fault::Failed(failed) => {
                let entries = failed.entries.min(decisions.len());
                decisions[..entries].fill(Decision::Failed {
                    code: failed.code.clone(),
                    sender_fault: failed.sender_fault,
                });
            }
            Fault::Slow(time) => sleep_for(*time).await,
            Fault::None | Fault::Lost | Fault::Garbage | Fault::Error(_) => {}
        }
        plan.admit(&mut decisions);
        if let Some(refusal) = plan.refusal(&decisions) {
            call.record_each(&*plan, |place| outcome(&decisions[place], true));
            return End::Answer(refusal.answer(plan.service(), true));
        }
        let answered = match decisions.iter().any(Decision::is_accepted) {
            true => {
                self.target
                    .call(parts, plan.request(&decisions).to_string().into())
                    .await
            }
            // There is nothing to forward.
            false => Ok(empty(plan.service())),
        };
        let answered = match answered {
            Ok(answered) => answered,
            Err(error) => {
                call.record_each(&*plan, |place| match outcome(&decisions[place], false) {
                    Outcome::Accepted => Outcome::Unknown,
                    other => other,
                });
                return End::Answer(self.failed(&origin.service, &error));
            }
        };
        let mut value = serde_json::from_slice::<Value>(answered.body())
            .ok()
            .filter(Value::is_object);
        if !answered.status().is_success() || value.is_none() {
            let takes_capacity = value.as_ref().is_some_and(|error| {
                let kind = error["__type"].as_str().unwrap_or_default();
                kind.ends_with("ConditionalCheckFailedException") || kind.ends_with("TransactionCanceledException")
            });
            if answered.status().is_client_error() && !takes_capacity {
                plan.give_back(&decisions);
            }
            call.record_each(&*plan, |place| match outcome(&decisions[place], false) {
                Outcome::Accepted if answered.status().is_client_error() => Outcome::Refused,
                Outcome::Accepted => Outcome::Unknown,
                other => other,
            });
            return End::Answer(answered.map(full));
        }
        if let Some(value) = &mut value {
            plan.complete(value, &mut decisions);
        }
        let is_lost = matches!(fault, Fault::Lost | Fault::Garbage | Fault::Error(_));
        call.record_each(&*plan, |place| match outcome(&decisions[place], false) {
            Outcome::Accepted if is_lost => Outcome::Lost,
            other => other,
        });
        let (mut parts, _) = answered.into_parts();
        let mut body: Bytes = value.unwrap_or_default().to_string().into();
        match fault {
            Fault::Lost => return End::Closed,
            Fault::Error(_) => return End::Answer(fault_answer(&fault, plan.service(), true)),
            Fault::Garbage => body.truncate(body.len() / 2),
            _ => {}
        }
        describe(&mut parts.headers, &body);
        End::Answer(Response::from_parts(parts, full(body)))
    }

    /// A call that takes no capacity here. Faults that are about calls are for it, too.
    async fn pass(&self, origin: &Origin, parts: Parts, body: Body) -> End {
        let fault = {
            let mut faults = lock(&self.faults);
            let drawn = (faults.next(origin, &[]), faults.latency());
            lock(&self.ledger).passed(&format!("{}.{}", origin.service, origin.operation));
            drawn
        };
        let (fault, latency) = fault;
        sleep_for(latency).await;
        let is_json = is_json(&parts.headers);
        match &fault {
            Fault::Throttle => {
                return End::Answer(Refusal::throttled(&origin.service).answer(&origin.service, is_json));
            }
            Fault::Dropped => return End::Closed,
            Fault::Hung => return End::Hung,
            Fault::Error(error) if !error.applied => {
                return End::Answer(fault_answer(&fault, &origin.service, is_json));
            }
            Fault::Slow(time) => sleep_for(*time).await,
            _ => {}
        }
        let answered = match changes(origin) {
            None => self.target.send(parts, body).await,
            Some(change) => self.change(change, parts, body).await,
        };
        match (answered, fault) {
            (Err(error), _) => End::Answer(self.failed(&origin.service, &error)),
            (Ok(_), Fault::Lost) => End::Closed,
            (Ok(_), fault @ Fault::Error(_)) => End::Answer(fault_answer(&fault, &origin.service, is_json)),
            (Ok(_), Fault::Garbage) => End::Answer(answer(200, "application/octet-stream", "{\"")),
            (Ok(answered), _) => End::Answer(answered),
        }
    }

    /// A call that creates, changes or deletes something, or whose answer has the URL of a queue.
    async fn change(&self, change: Change, parts: Parts, body: Body) -> Result<Response<Body>, UpstreamError> {
        let Ok(body) = body.collect().await else {
            return Ok(answer(
                400,
                "text/plain",
                "throttled-aws: the request ended within its body",
            ));
        };
        let body = body.to_bytes();
        let mut answered = self.target.call(&parts, body.clone()).await?;
        let request: Value = serde_json::from_slice(&body).unwrap_or_default();
        let name = last_part(request[change.member()].as_str().unwrap_or_default()).to_owned();
        match change {
            Change::Table => self.tables.forget(&name),
            Change::Stream => self.streams.forget(&name),
            Change::Queue => self.queues.forget(&name),
            Change::Urls => {}
        }
        let host = parts.headers.get(HOST).and_then(|host| host.to_str().ok());
        if matches!(change, Change::Queue | Change::Urls)
            && let (Some(host), Ok(mut value)) = (host, serde_json::from_slice::<Value>(answered.body()))
            && point_to(host, &mut value)
        {
            let body = Bytes::from(value.to_string());
            describe(answered.headers_mut(), &body);
            *answered.body_mut() = body;
        }
        Ok(answered.map(full))
    }

    /// The answer for an emulator that has not answered.
    fn failed(&self, service: &str, error: &UpstreamError) -> Response<Body> {
        lock(&self.ledger).upstream_failed();
        let refusal = Refusal {
            status: 502,
            ..Refusal::new("BadGateway", error.to_string())
        };
        refusal.answer(service, service != "s3")
    }
}

fn takes_capacity(origin: &Origin) -> bool {
    match &*origin.service {
        // The names of the tables, and whether it takes capacity, are in the body.
        "dynamodb" => crate::dynamo::is_limited(&origin.operation),
        "sqs" => sqs::is_limited(&origin.operation),
        "kinesis" => kinesis::is_limited(&origin.operation),
        _ => false,
    }
}

/// What a call that takes no capacity changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Table,
    Queue,
    Stream,
    /// Nothing, but its answer has the URLs of queues.
    Urls,
}

impl Change {
    /// The member of the request with the name.
    fn member(self) -> &'static str {
        match self {
            Self::Table => "TableName",
            Self::Stream => "StreamName",
            Self::Queue | Self::Urls => "QueueUrl",
        }
    }
}

fn changes(origin: &Origin) -> Option<Change> {
    Some(match (&*origin.service, &*origin.operation) {
        ("dynamodb", "CreateTable" | "UpdateTable" | "DeleteTable") => Change::Table,
        ("kinesis", "CreateStream" | "DeleteStream" | "UpdateShardCount" | "SplitShard" | "MergeShards") => {
            Change::Stream
        }
        ("sqs", "SetQueueAttributes" | "DeleteQueue") => Change::Queue,
        ("sqs", "CreateQueue" | "GetQueueUrl" | "ListQueues") => Change::Urls,
        _ => return None,
    })
}

/// Lets the URLs of queues lead here, and tells whether there were any.
fn point_to(host: &str, value: &mut Value) -> bool {
    let redirect = |url: &mut Value| {
        let path = url
            .as_str()
            .and_then(|url| url.splitn(4, '/').nth(3))
            .map(str::to_owned);
        if let Some(path) = path {
            *url = format!("http://{host}/{path}").into();
        }
    };
    if let Some(url) = value.get_mut("QueueUrl") {
        redirect(url);
        return true;
    }
    let urls = value.get_mut("QueueUrls").and_then(Value::as_array_mut);
    urls.map(|urls| urls.iter_mut().for_each(redirect)).is_some()
}

async fn sleep_for(time: std::time::Duration) {
    if !time.is_zero() {
        sleep(time).await;
    }
}

fn fault_answer(fault: &Fault, service: &str, is_json: bool) -> Response<Body> {
    let (status, code) = match fault {
        Fault::Error(error) => (error.status, error.code.clone()),
        _ => (500, None),
    };
    let code = code.unwrap_or_else(|| Refusal::internal_code(service).to_owned());
    let refusal = Refusal {
        status,
        ..Refusal::new(code, "By a fault of throttled-aws")
    };
    refusal.answer(service, is_json)
}

/// The answer to a call of which nothing was forwarded.
fn empty(service: &str) -> Response<Bytes> {
    let kind = if service == "kinesis" {
        "application/x-amz-json-1.1"
    } else {
        "application/x-amz-json-1.0"
    };
    let mut answer = Response::new(Bytes::from_static(b"{}"));
    let headers = answer.headers_mut();
    headers.insert(
        hyper::header::CONTENT_TYPE,
        hyper::header::HeaderValue::from_static(kind),
    );
    if service == "dynamodb" {
        headers.insert(crate::body::CRC, hyper::header::HeaderValue::from_static("0"));
    }
    answer
}

/// `is_error`: the whole call is answered with an error, so that nothing of it is accepted.
fn outcome(decision: &Decision, is_error: bool) -> Outcome {
    match decision {
        Decision::Accepted if is_error => Outcome::Throttled,
        Decision::Accepted => Outcome::Accepted,
        Decision::Throttled(_) => Outcome::Throttled,
        Decision::Failed { .. } => Outcome::Failed,
        Decision::Refused => Outcome::Refused,
    }
}

/// A call whose outcome is to be recorded.
struct Call<'a> {
    front: &'a Front,
    number: u64,
    has_fault: bool,
}

impl Call<'_> {
    fn record(&self, plan: &dyn Plan, outcome: Outcome) {
        self.record_each(plan, |_| outcome);
    }

    fn record_each(&self, plan: &dyn Plan, outcome: impl Fn(usize) -> Outcome) {
        let mut ledger = lock(&self.front.ledger);
        let service = plan.service();
        let at = now();
        let destinations = plan.destinations();
        let mut accepted = vec![false; destinations.len()];
        for (place, entry) in plan.entries().iter().enumerate() {
            let outcome = outcome(place);
            let name = destinations[entry.destination];
            let is_applied = matches!(outcome, Outcome::Accepted | Outcome::Lost);
            let figures = ledger.figures_of(service, name);
            figures.count(outcome);
            if is_applied {
                accepted[entry.destination] = true;
                let units = if entry.is_read() {
                    &mut figures.read
                } else {
                    &mut figures.written
                };
                *units += entry.units;
            }
            if !entry.is_read() {
                ledger.record(JournalEntry {
                    at,
                    call: self.number,
                    service,
                    destination: name.to_owned(),
                    action: entry.action,
                    key: entry.key.clone(),
                    outcome,
                });
            }
        }
        for (name, accepted) in destinations.into_iter().zip(accepted) {
            let figures: &mut Figures = ledger.figures_of(service, name);
            figures.calls += 1;
            figures.faults += u64::from(self.has_fault);
            figures.throttled_calls += u64::from(!accepted);
        }
    }
}

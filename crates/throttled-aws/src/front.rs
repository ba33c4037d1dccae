//! Answers requests: what takes capacity is limited, everything else passes.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Request, Response};

use crate::body::{Body, answer, full};
use crate::call::perform;
use crate::config::Config;
use crate::faults::Faults;
use crate::origin::{Origin, is_json};
use crate::refusal::Refusal;
use crate::registry::lock;
use crate::resources::{Resources, changes};
use crate::rule::Fault;
use crate::shared::{End, Shared, fault_answer, sleep_for};
use crate::target::Target;
use crate::{dynamo, kinesis, sqs};

/// The largest request body of `DynamoDB`, from "Quotas in Amazon DynamoDB". The other two services take less.
const LARGEST_BODY: usize = 16 * 1024 * 1024;

/// What all connections share.
pub(crate) struct Front {
    pub(crate) shared: Shared,
    pub(crate) resources: Resources,
}

impl Front {
    pub(crate) fn new(config: Config, target: Target) -> Self {
        Self {
            shared: Shared::new(config, target),
            resources: Resources::default(),
        }
    }

    /// As at the start: full or empty buckets, the faults of the file, no journal and no figures.
    pub(crate) fn reset(&self) {
        *lock(&self.shared.faults) = Faults::new(&self.shared.config);
        lock(&self.shared.ledger).clear();
        self.resources.clear();
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
                return End::Answer(closing(refusal.answer(&origin.service, true)));
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
            Ok(body) => self.resources.plan(&self.shared, &origin, &parts, body).await,
            Err(_) => None,
        };
        match plan {
            Some(plan) => perform(&self.shared, &origin, &parts, plan).await,
            // What is refused is refused by the emulator.
            None => self.pass(&origin, parts, full(bytes)).await,
        }
    }

    /// A call that takes no capacity here. Faults that are about calls are for it, too.
    async fn pass(&self, origin: &Origin, parts: Parts, body: Body) -> End {
        let fault = {
            let mut faults = lock(&self.shared.faults);
            let drawn = (faults.next(origin, &[]), faults.latency());
            lock(&self.shared.ledger).passed(&format!("{}.{}", origin.service, origin.operation));
            drawn
        };
        let (fault, latency) = fault;
        sleep_for(latency).await;
        let is_json = is_json(&parts.headers);
        match &fault {
            Fault::Throttle => {
                let refusal = Refusal::throttled(&origin.service);
                return End::Answer(after(body, refusal.answer(&origin.service, is_json)).await);
            }
            Fault::Dropped => return End::Closed,
            Fault::Hung => {
                // The end of the connection is noticed only after the body.
                read(body, usize::MAX).await;
                return End::Hung;
            }
            Fault::Error(error) if !error.applied => {
                return End::Answer(after(body, fault_answer(&fault, &origin.service, is_json)).await);
            }
            Fault::Slow(time) => sleep_for(*time).await,
            _ => {}
        }
        let answered = match changes(origin) {
            None => self.shared.target.send(parts, body).await,
            Some(change) => self.resources.change(&self.shared, change, parts, body).await,
        };
        match (answered, fault) {
            (Err(error), _) => End::Answer(self.shared.failed(&origin.service, &error)),
            (Ok(_), Fault::Lost) => End::Closed,
            (Ok(_), fault @ Fault::Error(_)) => End::Answer(fault_answer(&fault, &origin.service, is_json)),
            (Ok(_), Fault::Garbage) => End::Answer(answer(200, "application/octet-stream", "{\"")),
            (Ok(answered), _) => End::Answer(answered),
        }
    }
}

/// The answer to a request that is not forwarded. The connection takes the next one only if the body was read to its end.
async fn after(body: Body, answer: Response<Body>) -> Response<Body> {
    if read(body, LARGEST_BODY).await {
        answer
    } else {
        closing(answer)
    }
}

/// The same, with which the connection ends.
fn closing(mut answer: Response<Body>) -> Response<Body> {
    let close = HeaderValue::from_static("close");
    answer.headers_mut().insert(CONNECTION, close);
    answer
}

/// Reads a body without keeping it, and returns whether it has ended within this many bytes.
async fn read(mut body: Body, most: usize) -> bool {
    let mut bytes = 0_usize;
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return false };
        bytes = bytes.saturating_add(frame.data_ref().map_or(0, Bytes::len));
        if bytes > most {
            return false;
        }
    }
    true
}

fn takes_capacity(origin: &Origin) -> bool {
    match &*origin.service {
        // The names of the tables, and whether it takes capacity, are in the body.
        "dynamodb" => dynamo::is_limited(&origin.operation),
        "sqs" => sqs::is_limited(&origin.operation),
        "kinesis" => kinesis::is_limited(&origin.operation),
        _ => false,
    }
}

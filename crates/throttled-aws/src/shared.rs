//! What all connections share, and how calls end.

use std::sync::Mutex;
use std::time::Duration;

use hyper::Response;
use tokio::time::sleep;

use crate::body::Body;
use crate::config::Config;
use crate::faults::Faults;
use crate::journal::Ledger;
use crate::refusal::Refusal;
use crate::registry::lock;
use crate::rule::Fault;
use crate::target::Target;
use crate::upstream::UpstreamError;

/// What all connections share.
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) target: Target,
    pub(crate) faults: Mutex<Faults>,
    pub(crate) ledger: Mutex<Ledger>,
}

impl Shared {
    pub(crate) fn new(config: Config, target: Target) -> Self {
        Self {
            faults: Mutex::new(Faults::new(&config)),
            ledger: Mutex::new(Ledger::new(config.journal.entries)),
            config,
            target,
        }
    }

    /// The answer for an emulator that has not answered.
    pub(crate) fn failed(&self, service: &str, error: &UpstreamError) -> Response<Body> {
        lock(&self.ledger).upstream_failed();
        let refusal = Refusal {
            status: 502,
            ..Refusal::new("BadGateway", error.to_string())
        };
        refusal.answer(service, service != "s3")
    }
}

/// How a call ends.
pub(crate) enum End {
    Answer(Response<Body>),
    /// The connection is closed.
    Closed,
    /// There is no answer, and the connection stays open.
    Hung,
}

/// The error of a fault.
pub(crate) fn fault_answer(fault: &Fault, service: &str, is_json: bool) -> Response<Body> {
    let (status, code) = match fault {
        Fault::Error(error) => (error.status, error.code.as_deref()),
        _ => (500, None),
    };
    Refusal::by_fault(status, code, service).answer(service, is_json)
}

pub(crate) async fn sleep_for(time: Duration) {
    if !time.is_zero() {
        sleep(time).await;
    }
}

//! A destination of entries, whichever service has it.

use std::error::Error;
use std::sync::Arc;

use aws_batch_delivery::targets::dynamo::{DynamoTable, VectorFigures};
use aws_batch_delivery::targets::{Answer, BatchTarget, Verdict, classify};
use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

use super::simulated::SimulatedService;
use crate::connection::{self, Connection, Site};
use crate::console::EXPIRED;
use crate::outcome::Failure;

/// Codes of calls that are not permitted, or that an emulator does not have.
pub(super) const NOT_PERMITTED: [&str; 3] = ["AccessDeniedException", "AccessDenied", "UnknownOperationException"];

/// What the library delivers to, as often as needed.
pub(crate) trait Target: BatchTarget + Clone {}

impl<T: BatchTarget + Clone> Target for T {}

/// The settings of a delivery, by name.
pub(crate) type Settings = Vec<(&'static str, String)>;

/// Where entries are delivered to, and how they are measured.
pub(crate) struct Destination<T: Target> {
    /// As it was named by the user.
    pub(crate) name: String,
    pub(crate) target: T,
    pub(crate) measure: fn(&T, &T::Entry) -> EntrySize,
    /// A hash of the content of an entry, if the service drops one whose deduplication id it has had.
    pub(crate) content: Option<fn(&T::Entry) -> u64>,
    /// The unit of the capacity.
    pub(crate) unit: &'static str,
    /// What identifies the service and the destination.
    pub(crate) settings: Settings,
    /// Where it is; `None` if nothing is sent.
    pub(crate) site: Option<Site>,
    pub(crate) simulated: Option<Arc<SimulatedService>>,
    /// The table, which counts what its vector indexes make of the items.
    pub(crate) vectors: Option<DynamoTable>,
}

impl<T: Target> Destination<T> {
    /// What the vector indexes make of the items so far, if there are any.
    pub(crate) fn vector_figures(&self) -> Option<VectorFigures> {
        let figures = self.vectors.as_ref()?.vector_figures();
        (figures != VectorFigures::default()).then_some(figures)
    }
}

/// The size of an entry.
pub(crate) struct EntrySize {
    pub(crate) bytes: usize,
    pub(crate) units: usize,
}

impl EntrySize {
    /// A unit for each started `unit` of bytes, and one at least.
    pub(super) fn in_units(bytes: usize, unit: usize) -> Self {
        let units = bytes.div_ceil(unit).max(1);
        Self { bytes, units }
    }
}

/// How the service is reached.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    pub(crate) connection: Connection,
    /// Simulates a service with this capacity per second instead.
    pub(crate) simulate: Option<f64>,
    /// A dry run sends nothing. With the key of the table it makes no call at all, so it needs neither an account nor a region.
    pub(crate) is_dry_run: bool,
    /// Whether a journal is to recognize the destination, for which it is looked up.
    pub(crate) has_journal: bool,
    /// Whether items are refused that a vector index would leave out.
    pub(crate) refuses_unindexed: bool,
}

/// The settings that identify a simulated service.
pub(super) fn simulated_settings(rate: f64) -> Settings {
    vec![("--simulate", rate.to_string())]
}

/// The lookup failed: without an answer, or with an unexpected error, which is explained as that of a delivery.
pub(super) fn not_looked_up<E>(what: &str, error: SdkError<E, HttpResponse>) -> Failure
where
    E: Error + ProvideErrorMetadata + Send + Sync + 'static,
{
    let advice = if error.code().is_some_and(|code| EXPIRED.contains(&code)) {
        "Renew them, for example by aws sso login"
    } else {
        "Check --region, --profile and --endpoint-url"
    };
    let words = match error.raw_response().map(|answer| answer.status().as_u16()) {
        None => connection::words(&error),
        // Its body was not read to the end.
        Some(_) if matches!(error, SdkError::ResponseError(_)) => explained(error),
        Some(status) if error.code().is_none() => {
            format!("HTTP {status} without an error code, as from a proxy or a wrong endpoint")
        }
        Some(_) => explained(error),
    };
    let words = words.trim_end_matches('.');
    Failure::Failed(format!("{what} cannot be looked up: {words}. {advice}"))
}

/// The code of an error, what it means and what the service says about it.
fn explained<E>(error: SdkError<E, HttpResponse>) -> String
where
    E: Error + ProvideErrorMetadata + Send + Sync + 'static,
{
    let words = connection::words(&error);
    let fault = match classify(error) {
        Answer::Whole(Verdict::Rejected(_, fault) | Verdict::Refused(fault))
        | Answer::Disputed(fault)
        | Answer::Stop(fault) => fault,
        Answer::Whole(_) | Answer::Each(_) => return words,
    };
    match fault.message() {
        Some(message) => format!("{fault}: {message}"),
        None => fault.to_string(),
    }
}

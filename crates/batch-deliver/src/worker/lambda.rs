//! A Lambda function that is invoked for each shard.

use std::time::{Duration, SystemTime};

use lambda_runtime::{Diagnostic, LambdaEvent, service_fn};
use serde_json::Value;
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use super::attempts::Attempts;
use super::shard_result::ShardResult;
use crate::blocking::run_blocking;
use crate::console::{print_waiting, print_warnings};
use crate::outcome::{CommandOutcome, Failure};
use crate::sink::GRACE;
use crate::stop::Stop;

/// The variable in which Lambda gives a function the address of its runtime API.
pub(super) const API: &str = "AWS_LAMBDA_RUNTIME_API";

/// How long before the function's timeout a delivery stops: the time for calls in flight, and for the answer.
const KEPT: Duration = GRACE.saturating_add(Duration::from_secs(5));

/// Answers each invocation with the result of its shard.
pub(super) async fn serve<W: Attempts>(worker: &W) -> Result<CommandOutcome, Failure> {
    // What expires with the function comes again with the next one.
    print_warnings(worker.console().clone(), || false);
    let handler = service_fn(|event: LambdaEvent<Value>| async move {
        let left = event
            .context
            .deadline()
            .duration_since(SystemTime::now())
            .unwrap_or_default();
        let Some(time) = left.checked_sub(KEPT).filter(|time| !time.is_zero()) else {
            return Err(Diagnostic {
                error_type: "FunctionTimeout".to_owned(),
                error_message: format!(
                    "the function's timeout must be above {} s, which are kept for calls in flight and the answer, and {:.0} s are left",
                    KEPT.as_secs(),
                    left.as_secs_f64()
                ),
            });
        };
        let stop = Stop::default();
        let _timer = cancel_after(time, stop.clone());
        let answer = Box::pin(worker.attempt(&event.payload.to_string(), stop)).await;
        worker.print(&answer);
        // The environment may be frozen from the answer to the next invocation.
        let _ = run_blocking(print_waiting).await;
        match answer {
            ShardResult::Delivered(counts) => Ok(counts),
            ShardResult::Failed { error, cause, .. } => Err(Diagnostic {
                error_type: error.to_owned(),
                error_message: cause,
            }),
        }
    });
    let served = Box::pin(lambda_runtime::run(handler)).await;
    served.map_err(|error| Failure::Failed(format!("the runtime API of Lambda has failed: {error}")))?;
    Ok(CommandOutcome::Interrupted)
}

/// Stops a delivery early enough to answer before the timeout, so that its shard is handed out again with a known cause.
fn cancel_after(time: Duration, stop: Stop) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(async move {
        sleep(time).await;
        stop.token.cancel();
    }))
}

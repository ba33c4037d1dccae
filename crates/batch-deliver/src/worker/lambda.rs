//! A Lambda function that is invoked for each shard.

use std::time::{Duration, SystemTime};

use lambda_runtime::{Diagnostic, LambdaEvent, service_fn};
use serde_json::Value;
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use super::attempts::Attempts;
use super::shard_result::ShardResult;
use crate::console::print_warnings;
use crate::outcome::{Failure, Outcome};
use crate::sink::GRACE;
use crate::stop::Stop;

/// The variable in which Lambda gives a function the address of its runtime API.
pub(super) const API: &str = "AWS_LAMBDA_RUNTIME_API";

/// How long before the function's timeout its answer must be sent, in addition to the time for calls in flight.
const RESERVE: Duration = Duration::from_secs(5);

/// Answers each invocation with the result of its shard.
pub(super) async fn serve<W: Attempts>(worker: &W) -> Result<Outcome, Failure> {
    print_warnings(worker.console().clone());
    let handler = service_fn(|event: LambdaEvent<Value>| async move {
        let stop = Stop::default();
        let _timer = cancel_before(event.context.deadline(), stop.clone());
        // Whether the answer arrives is not known, so the checkpoint stays: the same invocation has nothing to do then.
        let (answer, _) = Box::pin(worker.attempt(&event.payload.to_string(), stop)).await;
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
    Ok(Outcome::Interrupted)
}

/// Stops a delivery early enough to answer before the timeout, so that its shard is handed out again with a known cause.
fn cancel_before(deadline: SystemTime, stop: Stop) -> AbortOnDropHandle<()> {
    let left = deadline.duration_since(SystemTime::now()).unwrap_or_default();
    let time = left.saturating_sub(GRACE + RESERVE);
    AbortOnDropHandle::new(tokio::spawn(async move {
        sleep(time).await;
        stop.token.cancel();
    }))
}

//! Receives from a queue, each of which is an entry: a call receives up to ten messages.

use std::borrow::Cow;
use std::sync::Arc;

use aws_sdk_sqs::Client;

use super::calls::SqsCalls;
use super::receive::{ReceiveRequest, Receiver};
use super::short_name;
use crate::contract::{Answer, BatchTarget, Fault, Limits, Verdict};
use crate::debug::debug_fields;
use crate::invalid::InvalidEntry;

/// A queue that is received from.
#[derive(Clone)]
pub(crate) struct Receives<R> {
    calls: SqsCalls,
    request: Arc<ReceiveRequest>,
    receiving: std::marker::PhantomData<fn() -> R>,
}

impl<R> Receives<R> {
    pub(crate) fn new(client: Client, request: ReceiveRequest) -> Self {
        Self {
            calls: SqsCalls::new(client),
            request: Arc::new(request),
            receiving: std::marker::PhantomData,
        }
    }
}

impl<R: Receiver> BatchTarget for Receives<R> {
    type Entry = R;

    fn name(&self) -> Cow<'_, str> {
        format!("sqs/{}", short_name(&self.request.queue_url)).into()
    }

    fn limits(&self) -> Limits {
        Limits::new(1, 1)
    }

    fn check(&self, _: &R) -> Result<usize, InvalidEntry> {
        Ok(1)
    }

    async fn send(&self, chunk: &[R]) -> Answer {
        let [receive] = chunk else {
            return Answer::Whole(Verdict::Refused(Fault::new("a call is one receive")));
        };
        if !receive.is_wanted() {
            return Answer::Whole(Verdict::Accepted);
        }
        receive.leaves();
        // A call that is given up has no answer either.
        let doubt = DoubtGuard(Some(receive));
        let answer = self.calls.receive(&self.request, receive.most()).await;
        match answer {
            Ok(output) => {
                doubt.ends();
                receive.has_received(output.messages.unwrap_or_default());
                Answer::Whole(Verdict::Accepted)
            }
            Err(answer) => {
                let answer = final_answer(answer);
                if !is_ambiguous(&answer) {
                    doubt.ends();
                }
                answer
            }
        }
    }
}

/// Later receives are from the same queue with the same permission, so there are no others to wait for or to compare with.
fn final_answer(answer: Answer) -> Answer {
    match answer {
        Answer::Disputed(fault) => Answer::Whole(Verdict::Refused(fault)),
        Answer::Stop(fault) if MISSING.contains(&fault.code()) => Answer::Whole(Verdict::Refused(fault)),
        answer => answer,
    }
}

/// What a queue that does not exist is called, in the JSON protocol and in the older one.
const MISSING: [&str; 3] = [
    "QueueDoesNotExist",
    "NonExistentQueue",
    "AWS.SimpleQueueService.NonExistentQueue",
];

fn is_ambiguous(answer: &Answer) -> bool {
    match answer {
        Answer::Whole(Verdict::Rejected(_, fault) | Verdict::Refused(fault)) => fault.is_ambiguous(),
        _ => false,
    }
}

/// Informs a receive that it is in doubt, unless that is over before.
struct DoubtGuard<'a, R: Receiver>(Option<&'a R>);

impl<R: Receiver> DoubtGuard<'_, R> {
    fn ends(mut self) {
        self.0 = None;
    }
}

impl<R: Receiver> Drop for DoubtGuard<'_, R> {
    fn drop(&mut self) {
        if let Some(receive) = self.0 {
            receive.is_in_doubt();
        }
    }
}

debug_fields!(receives: Receives<R>, queue = short_name(&receives.request.queue_url));

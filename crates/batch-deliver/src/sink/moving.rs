//! Moves messages from one queue to another by the library.

use std::future::ready;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_batch_delivery::sources::{Receive, ReceiveFigures, ReceiveProgress, Received};
use aws_batch_delivery::targets::sqs::SqsQueue;
use aws_batch_delivery::{Delivery, DeliveryOptions, Disposition};
use aws_sdk_sqs::error::BuildError;
use aws_sdk_sqs::types::{MessageSystemAttributeName as System, SendMessageBatchRequestEntry};
use futures::StreamExt;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::message_filter::MessageFilter;
use super::moved_message::{MoveTarget, MovedMessage};
use super::pace::GRACE;
use super::queue::ExistingQueue;
use super::undelivered::{UndeliveredEntry, printed};
use crate::format::traced;

/// How long a queue is empty at the end. A receive that waits asks all servers of SQS.
pub(super) const EMPTY_FOR: Duration = Duration::from_secs(5);

/// Messages that are in progress at most: they come again after a kill.
const WINDOW: usize = 2_000;

/// Messages of a queue that SQS hides at most, less some for messages that others have received: it counts about 120,000, and answers
/// further receives that wait as if the queue was empty. From "Amazon SQS message quotas".
const MOST_HIDDEN: u64 = 115_000;

/// The operation that deletes messages.
const DELETION: &str = "DeleteMessageBatch";

/// A move from one queue to another.
pub(crate) struct Move {
    pub(crate) from: ExistingQueue,
    pub(crate) to: ExistingQueue,
    pub(crate) filter: MessageFilter,
    /// The name of the only queue whose dead letters are moved. It is in the account and the region of the dead letters.
    pub(crate) source: Option<String>,
    /// The most messages.
    pub(crate) most: Option<u64>,
    /// The group of messages that have none.
    pub(crate) group: Option<String>,
}

/// What came of a move from a queue to another one or into a file.
#[derive(Debug, Default)]
pub(crate) struct MoveResult {
    /// Messages that the other queue has accepted, or whose lines are safe.
    pub(crate) taken: u64,
    /// Messages that were not accepted, and stay.
    pub(crate) unsent: u64,
    /// Why the first of them was not.
    pub(crate) cause: Option<String>,
    /// Messages that do not match, and stay.
    pub(crate) unmatched: u64,
    /// Dead letters of other queues, which stay.
    pub(crate) foreign: u64,
    /// Messages that were taken and not deleted: they are in both places.
    pub(crate) undeleted: u64,
    /// Why they were not, if it was not that their time was over.
    pub(crate) undeleted_because: Option<String>,
    /// Why not all messages were received or written.
    pub(crate) failure: Option<String>,
    /// Why the move ended before the queue was empty, if it did and nothing has failed.
    pub(crate) unread: Option<String>,
}

/// The receiver of the messages of a queue.
pub(super) fn receive(
    from: &ExistingQueue,
    filter: &MessageFilter,
    most: Option<u64>,
    stop: &CancellationToken,
) -> Receive {
    let receive = Receive::new(from.client.clone(), &from.url)
        .options(DeliveryOptions::default().cancellation(stop.clone()))
        .window(WINDOW)
        .until_empty_for(EMPTY_FOR);
    match most {
        // Of those that do not match, the number is not known.
        Some(most) if filter.is_empty() => receive.max(most),
        _ => receive,
    }
}

/// Whether the message is a dead letter of another queue than the one with this name. One that was sent to the dead-letter queue itself
/// has no such queue.
fn is_foreign(received: &Received, source: Option<&str>) -> bool {
    let arn = received.system_attribute(&System::DeadLetterQueueSourceArn);
    let of_message = arn.and_then(|arn| arn.rsplit(':').next());
    source.is_some_and(|source| of_message.is_some_and(|of_message| of_message != source))
}

impl MoveResult {
    /// Notes that a message was not accepted, and why.
    fn is_unsent(&mut self, cause: &str) {
        self.unsent += 1;
        self.cause.get_or_insert_with(|| cause.to_owned());
    }

    /// Whether messages may be left that were not received, because as many are hidden as can be: the queue has seemed empty then.
    pub(crate) fn is_full(&self) -> bool {
        self.unmatched + self.foreign + self.unsent >= MOST_HIDDEN
    }
}

impl Move {
    /// Moves the messages. Calls `watch` with the progress first.
    pub(crate) async fn run(
        self,
        options: DeliveryOptions,
        stop: &CancellationToken,
        watch: impl FnOnce(ReceiveProgress),
    ) -> MoveResult {
        let Self {
            from,
            to,
            filter,
            source,
            most,
            group,
        } = self;
        // As with a filter, the number of those that stay is not known.
        let received = if source.is_some() { None } else { most };
        let mut receive = receive(&from, &filter, received, stop);
        if source.is_some() {
            receive = receive.system_attributes([
                System::MessageDeduplicationId,
                System::AwsTraceHeader,
                System::DeadLetterQueueSourceArn,
            ]);
        }
        let messages = receive.messages();
        let progress = messages.progress();
        watch(progress.clone());
        let moved = Arc::new(Mutex::new(MoveResult::default()));
        let note = |moved: &Arc<Mutex<MoveResult>>| {
            let moved = Arc::clone(moved);
            move |change: &dyn Fn(&mut MoveResult)| change(&mut moved.lock().unwrap_or_else(PoisonError::into_inner))
        };
        let note_of_stream = note(&moved);
        let matching = messages.filter_map(move |received| {
            ready(match received {
                Ok(received) if is_foreign(&received, source.as_deref()) => {
                    note_of_stream(&|moved| moved.foreign += 1);
                    received.ticket.set_aside();
                    None
                }
                Ok(received) if filter.holds(&received.message) => Some(received),
                Ok(received) => {
                    note_of_stream(&|moved| moved.unmatched += 1);
                    received.ticket.set_aside();
                    None
                }
                Err(error) => {
                    note_of_stream(&|moved| moved.failure = Some(error.to_string()));
                    None
                }
            })
        });
        let matching = matching.take(most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX));
        let is_fifo = to.is_fifo;
        let note_of_message = note(&moved);
        let entries = matching.filter_map(move |received| {
            let message = entry(&received, is_fifo, group.as_deref());
            ready(match message {
                Ok(message) => Some(MovedMessage { received, message }),
                Err(error) => {
                    received.ticket.set_aside();
                    note_of_message(&|moved| moved.is_unsent(&error.to_string()));
                    None
                }
            })
        });
        let note_of_undelivered = note(&moved);
        let delivery = Delivery::new(MoveTarget(SqsQueue::new(to.client, to.url)))
            .options(options.cancellation(stop.clone()))
            .on_delivered(|_, moved: &MovedMessage, disposition| {
                // Any other one is in its own queue, and comes again.
                if let Disposition::Delivered(_) = disposition {
                    moved.received.ticket.settle();
                }
            })
            .on_undelivered(move |undelivered| {
                // Visible at once, it would be received repeatedly.
                undelivered.entry.received.ticket.set_aside();
                let cause = UndeliveredEntry::of(undelivered).printed();
                note_of_undelivered(&|moved| moved.is_unsent(&cause));
                ready(())
            });
        let (report, unread) = match delivery.deliver_stream(entries).await {
            Ok(report) => (report, None),
            // Each of its entries was given to the handler.
            Err(error) => (error.report.clone(), error.interruption().map(printed)),
        };
        let (undeleted, undeleted_because) = undeleted(&progress, report.delivered, stop).await;
        let moved = std::mem::take(&mut *moved.lock().unwrap_or_else(PoisonError::into_inner));
        MoveResult {
            taken: report.delivered,
            undeleted,
            undeleted_because,
            unread,
            ..moved
        }
    }
}

/// How many of the settled messages were finally not deleted, and why if their time was not over and the stream has not said it. They
/// are tried for long, but no longer than the calls in flight after a stop.
pub(super) async fn undeleted(
    progress: &ReceiveProgress,
    settled: u64,
    stop: &CancellationToken,
) -> (u64, Option<String>) {
    let stopped = async {
        stop.cancelled().await;
        sleep(GRACE).await;
    };
    tokio::select! {
        ReceiveFigures { undeleted, .. } = progress.finished() => {
            let failure = progress.take_failure().filter(|failure| failure.operation == DELETION);
            (undeleted, failure.map(|failure| failure.cause.to_string()))
        }
        () = stopped => {
            let words = format!("they were not deleted within {} s", GRACE.as_secs());
            (settled.saturating_sub(progress.figures().deleted), Some(words))
        }
    }
}

/// The id by which a FIFO queue recognizes the message when it comes again after a kill: its own one. Messages that were sent more
/// than five minutes apart may have the same deduplication id, and the queue to which they are moved would accept the second one and
/// drop it, as would their own queue when they come back to it at once. SQS does the same on the way to a dead-letter queue.
pub(super) fn deduplication_id(received: &Received) -> Option<&str> {
    received
        .message
        .message_id()
        .or_else(|| received.system_attribute(&System::MessageDeduplicationId))
}

/// The message as it is sent again: with its body, its attributes, its group, its trace, and an id by which a FIFO queue recognizes it.
fn entry(received: &Received, is_fifo: bool, group: Option<&str>) -> Result<SendMessageBatchRequestEntry, BuildError> {
    let own_group = received.system_attribute(&System::MessageGroupId);
    let deduplication_id = deduplication_id(received).filter(|_| is_fifo);
    let attributes = received.message.message_attributes().cloned();
    let trace = received.system_attribute(&System::AwsTraceHeader);
    SendMessageBatchRequestEntry::builder()
        .id("0")
        .message_body(received.message.body().unwrap_or_default())
        .set_message_attributes(attributes.filter(|attributes| !attributes.is_empty()))
        .set_message_system_attributes(traced(trace)?)
        .set_message_group_id(own_group.or(group).map(str::to_owned))
        .set_message_deduplication_id(deduplication_id.map(str::to_owned))
        .build()
}

#[cfg(test)]
mod tests {
    use std::iter::{once, repeat_n};

    use aws_batch_simulator::{Faults, InjectedFault, Queue, QueueOptions};
    use tokio::time::{Instant, sleep};

    use super::*;
    use crate::sink::queue::existing_queue_in;
    use crate::sink::simulated::SimulatedService;

    const COUNT: usize = 10;

    /// Sends messages to a queue.
    async fn fill(simulated: &SimulatedService, queue: &Queue) {
        let entries = (0..COUNT).map(|number| {
            let entry = SendMessageBatchRequestEntry::builder().id(number.to_string());
            entry.message_body("text").build().unwrap()
        });
        let client = simulated.simulator.sqs_client();
        let fill = client.send_message_batch().queue_url(queue.url());
        fill.set_entries(Some(entries.collect())).send().await.unwrap();
    }

    /// A move of all messages from one queue to another.
    fn moving(simulated: &SimulatedService, from: &Queue, to: &Queue) -> Move {
        let existing = |queue: &Queue| existing_queue_in(simulated, queue.url(), &"a".parse().unwrap());
        Move {
            from: existing(from),
            to: existing(to),
            filter: MessageFilter::default(),
            source: None,
            most: None,
            group: None,
        }
    }

    /// Their deletions would be tried for a quarter of an hour.
    #[tokio::test(start_paused = true)]
    async fn a_move_that_is_stopped_does_not_wait_for_deletions_that_are_throttled() {
        let (simulated, _) = SimulatedService::queue("from", 1e6);
        let simulator = &simulated.simulator;
        let (from, to) = (
            simulator.queue("a", QueueOptions::default()),
            simulator.queue("b", QueueOptions::default()),
        );
        fill(&simulated, &from).await;
        // One receive, and then nothing more.
        let throttled = repeat_n(InjectedFault::Throttle, 100_000);
        from.script_consumers(once(InjectedFault::None).chain(throttled));
        let stop = CancellationToken::new();
        let job = moving(&simulated, &from, &to).run(DeliveryOptions::default(), &stop, drop);
        let interrupted = async {
            while to.is_empty() {
                sleep(Duration::from_millis(100)).await;
            }
            stop.cancel();
            Instant::now()
        };
        let (moved, stopped) = tokio::join!(job, interrupted);
        let took = stopped.elapsed();
        assert!(took <= Duration::from_secs(40), "{took:?}");
        assert_eq!((moved.taken, moved.undeleted), (to.len() as u64, moved.taken));
        let because = moved.undeleted_because.unwrap_or_default();
        assert_eq!(because, "they were not deleted within 20 s");
    }

    /// Its messages are visible in their own queue then, and are received and sent once more.
    #[tokio::test(start_paused = true)]
    async fn a_message_that_is_no_longer_held_when_it_could_be_sent_is_sent_once() {
        let (simulated, _) = SimulatedService::queue("from", 1e6);
        let simulator = &simulated.simulator;
        let (from, to) = (
            simulator.queue("a", QueueOptions::default()),
            simulator.queue("b", QueueOptions::default()),
        );
        fill(&simulated, &from).await;
        let stop = CancellationToken::new();
        let job = moving(&simulated, &from, &to).run(DeliveryOptions::default(), &stop, drop);
        // Neither renewals nor sends succeed while the visibility timeout ends.
        to.set_faults(Faults::none().calls(1.0, InjectedFault::Throttle));
        let frozen = async {
            while from.in_flight() < COUNT {
                sleep(Duration::from_millis(100)).await;
            }
            from.set_consumer_faults(Faults::none().calls(1.0, InjectedFault::Throttle));
            while from.in_flight() > 0 {
                sleep(Duration::from_secs(1)).await;
            }
            to.set_faults(Faults::none());
            sleep(Duration::from_mins(1)).await;
            from.set_consumer_faults(Faults::none());
        };
        let (moved, ()) = tokio::join!(job, frozen);
        assert_eq!((moved.taken, moved.undeleted, moved.unsent), (COUNT as u64, 0, 0));
        assert_eq!((from.len(), to.len()), (0, COUNT));
    }

    #[test]
    fn a_queue_that_seems_empty_is_not_if_sqs_hides_no_more_of_it() {
        let moved = |unmatched, unsent| MoveResult {
            unsent,
            unmatched,
            ..MoveResult::default()
        };
        assert!(moved(120_000, 0).is_full() && moved(60_000, 59_990).is_full());
        assert!(!moved(100_000, 5_000).is_full());
    }
}

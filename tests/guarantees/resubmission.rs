//! Only entries that were not accepted are sent again.

use std::collections::HashMap;
use std::error::Error;

use aws_batch_delivery::{Cause, DeliveryOptions, Progress, deliver_batch_to_dynamo, deliver_batch_to_sqs};
use aws_batch_simulator::{Acknowledgement, Action, Capacity, InjectedFault, Record, Simulator};
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::batch_write_item::BatchWriteItemError;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;

use crate::guarantees::entries::{
    delete, message, messages, no_delay, one_at_a_time, put, puts, with_queue, with_table,
};

/// The entries of a call, independent of their order.
fn sent_in(records: &[Record], call: u64) -> Vec<(Action, String)> {
    let of_call = records.iter().filter(|record| record.call == call);
    let mut sent: Vec<_> = of_call.map(|record| (record.action, record.key.to_string())).collect();
    sent.sort_by(|one, other| one.1.cmp(&other.1));
    sent
}

#[tokio::test(start_paused = true)]
async fn leftovers_are_topped_up_with_fresh_writes() {
    let (simulator, table) = with_table();
    table.keep_journal();
    table.script([InjectedFault::Unprocessed(6)]);
    let client = simulator.dynamo_client();
    let report = deliver_batch_to_dynamo(&client, "orders", puts(80), &one_at_a_time())
        .await
        .unwrap();
    assert_eq!((report.calls, report.resubmitted, report.throttled), (4, 6, 6));
    let mut times: HashMap<_, u32> = HashMap::new();
    for record in table.journal() {
        *times.entry(record.key).or_default() += 1;
    }
    assert_eq!(times.values().filter(|times| **times == 2).count(), 6);
    assert_eq!(times.values().filter(|times| **times == 1).count(), 74);
}

#[tokio::test(start_paused = true)]
async fn exactly_what_failed_is_sent_again_puts_as_puts_and_deletes_as_deletes() {
    let (simulator, table) = with_table();
    table.keep_journal();
    table.script([InjectedFault::Unprocessed(2)]);
    let writes = [put("a"), delete("b"), put("c"), delete("d")];
    let client = simulator.dynamo_client();
    deliver_batch_to_dynamo(&client, "orders", writes, &one_at_a_time())
        .await
        .unwrap();
    let journal = table.journal();
    let rejected: Vec<_> = journal
        .iter()
        .filter(|record| record.acknowledgement() == Acknowledgement::Rejected)
        .cloned()
        .collect();
    assert_eq!(rejected.len(), 2);
    assert_eq!(sent_in(&journal, 2), sent_in(&rejected, 1));
}

#[tokio::test(start_paused = true)]
async fn ten_retries_are_eleven_attempts() {
    let (simulator, table) = with_table();
    table.set_capacity(Capacity::none());
    let client = simulator.dynamo_client();
    let error = deliver_batch_to_dynamo(&client, "orders", puts(25), &no_delay().retries(10))
        .await
        .unwrap_err();
    assert_eq!((table.statistics().calls, error.undelivered().len()), (11, 25));
    for undelivered in error.undelivered() {
        assert!(matches!(&undelivered.cause, Cause::RetriesUsedUp(_)), "{undelivered:?}");
        assert_eq!(undelivered.attempts, 11);
        assert!(!undelivered.may_have_been_delivered);
    }
}

#[tokio::test(start_paused = true)]
async fn an_entry_that_tops_up_a_chunk_has_its_full_count_of_retries() {
    let (simulator, table) = with_table();
    table.keep_journal();
    // Calls: 25, again 25 of which one is left over, that one with 24 fresh ones, these 24 again, and again.
    table.script([
        InjectedFault::Throttle,
        InjectedFault::Unprocessed(1),
        InjectedFault::Throttle,
        InjectedFault::Throttle,
        InjectedFault::None,
    ]);
    let client = simulator.dynamo_client();
    let error = deliver_batch_to_dynamo(&client, "orders", puts(49), &one_at_a_time().retries(2))
        .await
        .unwrap_err();
    assert_eq!((error.undelivered().len(), error.undelivered()[0].attempts), (1, 3));
    assert_eq!((error.report.delivered, error.report.calls), (48, 5));
}

#[tokio::test(start_paused = true)]
async fn a_throttled_call_is_sent_again_as_a_whole() {
    let (simulator, table) = with_table();
    table.script([InjectedFault::Throttle]);
    let client = simulator.dynamo_client();
    let report = deliver_batch_to_dynamo(&client, "orders", puts(25), &no_delay())
        .await
        .unwrap();
    assert_eq!((report.calls, report.resubmitted, table.len()), (2, 25, 25));
}

#[tokio::test(start_paused = true)]
async fn a_missing_permission_stops_the_delivery() {
    let (simulator, table) = with_table();
    table.script(vec![InjectedFault::error(400, "AccessDeniedException", false); 1_000]);
    let client = simulator.dynamo_client();
    let error = deliver_batch_to_dynamo(&client, "orders", puts(100), &one_at_a_time())
        .await
        .unwrap_err();
    assert_eq!((error.report.delivered, error.report.undelivered), (0, 100));
    assert!(table.statistics().calls < 150, "{} calls", table.statistics().calls);
    for undelivered in error.undelivered() {
        assert!(matches!(&undelivered.cause, Cause::Stopped(fault) if fault.code() == "AccessDeniedException"));
        assert!(
            undelivered
                .cause
                .source()
                .is_some_and(<dyn Error>::is::<SdkError<BatchWriteItemError>>),
            "the original error is lost"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_refused_once_hands_nothing_back() {
    for code in [
        "AccessDeniedException",
        "LimitExceededException",
        "ResourceNotFoundException",
        "NeverSeen",
    ] {
        let (simulator, table) = with_table();
        table.script([InjectedFault::None, InjectedFault::error(400, code, false)]);
        let client = simulator.dynamo_client();
        let report = deliver_batch_to_dynamo(&client, "orders", puts(100), &one_at_a_time()).await;
        assert_eq!((report.unwrap().delivered, table.len()), (100, 100), "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_missing_table_or_queue_is_an_error_at_once() {
    let simulator = Simulator::new(42);
    let progress = Progress::default();
    let options = DeliveryOptions::default().progress(&progress).concurrency(1);
    let error = deliver_batch_to_dynamo(&simulator.dynamo_client(), "nowhere", puts(100), &options)
        .await
        .unwrap_err();
    assert_eq!((error.undelivered().len(), error.report.calls), (100, 1));
    assert!(
        matches!(&error.undelivered()[0].cause, Cause::Stopped(fault) if fault.code() == "ResourceNotFoundException")
    );

    let (simulator, queue) = with_queue("orders");
    let url = queue.url().replace("orders", "nowhere");
    let error = deliver_batch_to_sqs(&simulator.sqs_client(), url, messages(100), &options)
        .await
        .unwrap_err();
    assert_eq!((error.undelivered().len(), error.report.calls), (100, 1));
    assert!(matches!(&error.undelivered()[0].cause, Cause::Stopped(_)));
}

#[tokio::test(start_paused = true)]
async fn a_code_decides_and_not_whom_the_service_blames() {
    let (simulator, queue) = with_queue("orders");
    queue.script([InjectedFault::failed(3, "RequestThrottled", true)]);
    let client = simulator.sqs_client();
    let report = deliver_batch_to_sqs(&client, queue.url(), messages(10), &no_delay())
        .await
        .unwrap();
    assert_eq!((report.calls, report.resubmitted, report.throttled), (2, 3, 3));

    queue.script([InjectedFault::failed(3, "InvalidMessageContents", false)]);
    let error = deliver_batch_to_sqs(&client, queue.url(), messages(10), &no_delay())
        .await
        .unwrap_err();
    assert_eq!((error.report.calls, error.undelivered().len()), (1, 3));
    assert!(matches!(&error.undelivered()[0].cause, Cause::Refused(fault) if fault.code() == "InvalidMessageContents"));
}

/// Sends ten messages with this fault in the first call. Returns how many were sent again.
async fn resubmitted_after(fault: InjectedFault) -> u64 {
    let (simulator, queue) = with_queue("orders");
    queue.script([fault]);
    let report = deliver_batch_to_sqs(&simulator.sqs_client(), queue.url(), messages(10), &no_delay())
        .await
        .unwrap();
    let bodies: std::collections::HashSet<_> = queue.messages().into_iter().map(|message| message.body).collect();
    assert_eq!(bodies.len(), 10, "a message is missing");
    report.resubmitted
}

#[tokio::test(start_paused = true)]
async fn entries_that_the_answer_does_not_name_are_sent_again() {
    assert_eq!(
        resubmitted_after(InjectedFault::Omitted {
            entries: 4,
            applied: false
        })
        .await,
        4
    );
    assert_eq!(resubmitted_after(InjectedFault::Repeated(4)).await, 4);
    assert_eq!(resubmitted_after(InjectedFault::Unknown(4)).await, 0);
    assert_eq!(resubmitted_after(InjectedFault::Empty { applied: false }).await, 10);
    assert_eq!(resubmitted_after(InjectedFault::Garbage { applied: true }).await, 10);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_cannot_be_read_leaves_its_entries_marked() {
    let (simulator, queue) = with_queue("orders");
    queue.script([InjectedFault::Garbage { applied: true }]);
    let client = simulator.sqs_client();
    let error = deliver_batch_to_sqs(&client, queue.url(), messages(10), &no_delay().retries(0))
        .await
        .unwrap_err();
    assert_eq!(error.undelivered().len(), 10);
    assert!(
        error
            .undelivered()
            .iter()
            .all(|undelivered| undelivered.may_have_been_delivered)
    );
}

#[tokio::test(start_paused = true)]
async fn callers_ids_may_repeat_or_be_invalid_and_come_back_as_they_were() {
    let (simulator, queue) = with_queue("orders");
    queue.script([InjectedFault::failed(10, "InvalidMessageContents", true)]);
    let ids = ["same", "same", "", "with space", "ö", "same", "x", "y", "z", "same"];
    let entries: Vec<_> = ids.iter().map(|id| message(*id, format!("body of {id}"))).collect();
    let client = simulator.sqs_client();
    let error = deliver_batch_to_sqs(&client, queue.url(), entries.clone(), &no_delay())
        .await
        .unwrap_err();
    let handed_back: Vec<_> = error
        .into_undelivered()
        .into_iter()
        .map(|undelivered| *undelivered.entry)
        .collect();
    assert_eq!(handed_back, entries);

    deliver_batch_to_sqs(&client, queue.url(), handed_back, &no_delay())
        .await
        .unwrap();
    assert_eq!(queue.messages().len(), 10);
}

/// The ways in which a call is applied and its answer lost.
fn lost_answers() -> [InjectedFault; 4] {
    [
        InjectedFault::internal_error(true),
        InjectedFault::Dropped { applied: true },
        InjectedFault::Garbage { applied: true },
        InjectedFault::Empty { applied: true },
    ]
}

#[tokio::test(start_paused = true)]
async fn a_write_whose_answer_was_lost_is_sent_again_and_the_table_ends_the_same() {
    for fault in lost_answers() {
        let (simulator, table) = with_table();
        table.script([fault]);
        let client = simulator.dynamo_client();
        let report = deliver_batch_to_dynamo(&client, "orders", puts(25), &no_delay())
            .await
            .unwrap();
        assert_eq!((report.calls, report.resubmitted, table.len()), (2, 25, 25));
    }
}

#[tokio::test(start_paused = true)]
async fn a_fifo_message_whose_answer_was_lost_is_in_the_queue_once() {
    for fault in lost_answers() {
        let (simulator, queue) = with_queue("orders.fifo");
        queue.script([fault]);
        let entry = SendMessageBatchRequestEntry::builder()
            .id("m")
            .message_body("body")
            .message_group_id("g")
            .message_deduplication_id("d");
        let client = simulator.sqs_client();
        let report = deliver_batch_to_sqs(&client, queue.url(), [entry.build().unwrap()], &no_delay())
            .await
            .unwrap();
        assert_eq!((report.calls, queue.messages().len()), (2, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn without_retries_each_chunk_is_sent_once() {
    let (simulator, table) = with_table();
    table.set_capacity(Capacity::none());
    let client = simulator.dynamo_client();
    let error = deliver_batch_to_dynamo(&client, "orders", puts(100), &no_delay().retries(0))
        .await
        .unwrap_err();
    assert_eq!((table.statistics().calls, error.undelivered().len()), (4, 100));
    assert!(error.undelivered().iter().all(|undelivered| undelivered.attempts == 1));
}

#[tokio::test(start_paused = true)]
async fn codes_in_the_older_spelling_mean_the_same() {
    for older in [true, false] {
        let (simulator, queue) = with_queue("orders");
        simulator.set_query_errors(older);
        queue.script([InjectedFault::error(403, "RequestThrottled", false)]);
        let client = simulator.sqs_client();
        let report = deliver_batch_to_sqs(&client, queue.url(), messages(10), &no_delay())
            .await
            .unwrap();
        assert_eq!((report.calls, report.throttled), (2, 10));
    }
}

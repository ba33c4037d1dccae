//! Faults apply exactly what they report.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use aws_batch_simulator::{
    Acknowledgement, Action, Capacity, Faults, InjectedFault, QueueOptions, Record, Simulator, Value,
};
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::types::WriteRequest;
use aws_sdk_sqs::types::BatchResultErrorEntry;
use tokio::time::{Instant, timeout};

use proptest::prelude::*;

use crate::{by_id, delete, messages, put_of, puts, send, string, unprocessed, write};

#[tokio::test(start_paused = true)]
async fn entries_that_come_back_are_not_applied() {
    let simulator = Simulator::new(1);
    let orders = simulator.table("orders", by_id());
    orders.script([InjectedFault::Unprocessed(6), InjectedFault::None]);
    let dynamo = simulator.dynamo_client();
    let output = write(&dynamo, "orders", puts(0..25)).await.unwrap();
    assert_eq!((unprocessed(&output), orders.len()), (6, 19));
    let rest = output.unprocessed_items().unwrap()["orders"].clone();
    write(&dynamo, "orders", rest).await.unwrap();
    assert_eq!(orders.len(), 25);
}

#[tokio::test(start_paused = true)]
async fn random_faults_keep_their_share_and_apply_what_they_report() {
    let simulator = Simulator::new(1);
    let orders = simulator.table("orders", by_id());
    orders.set_faults(Faults::none().unprocessed(0.3));
    let dynamo = simulator.dynamo_client();
    let mut back = 0;
    for call in 0..100 {
        let output = write(&dynamo, "orders", puts(call * 25..call * 25 + 25)).await.unwrap();
        back += unprocessed(&output);
    }
    assert!((650..850).contains(&back), "{back}");
    assert_eq!(orders.len(), 2_500 - back);
}

#[tokio::test(start_paused = true)]
async fn faults_in_the_place_of_the_answer_apply_all_or_nothing() {
    for applied in [false, true] {
        for fault in [
            InjectedFault::internal_error(applied),
            InjectedFault::error(503, "", applied),
            InjectedFault::Dropped { applied },
            InjectedFault::Garbage { applied },
            InjectedFault::Hung { applied },
            InjectedFault::Empty { applied },
        ] {
            let simulator = Simulator::new(1);
            let orders = simulator.table("orders", by_id());
            let queue = simulator.queue("orders", QueueOptions::default());
            orders.keep_journal();
            queue.keep_journal();
            orders.script([fault.clone()]);
            queue.script([fault.clone()]);
            let limit = Duration::from_mins(1);
            let written = timeout(limit, write(&simulator.dynamo_client(), "orders", puts(0..25))).await;
            let sent = timeout(limit, send(&simulator.sqs_client(), queue.url(), messages(0..10))).await;
            match &fault {
                InjectedFault::Empty { .. } => {
                    assert_eq!(written.unwrap().unwrap().unprocessed_items(), None);
                    let sent = sent.unwrap().unwrap();
                    assert!(sent.successful().is_empty() && sent.failed().is_empty());
                }
                InjectedFault::Hung { .. } => assert!(written.is_err() && sent.is_err(), "there is no answer"),
                _ => assert!(written.unwrap().is_err() && sent.unwrap().is_err(), "{fault:?}"),
            }
            assert_eq!(orders.len(), if applied { 25 } else { 0 }, "{fault:?}");
            assert_eq!(queue.len(), if applied { 10 } else { 0 }, "{fault:?}");
            for record in orders.journal().iter().chain(&queue.journal()) {
                assert_eq!(
                    record.acknowledgement(),
                    Acknowledgement::Ambiguous { applied },
                    "{fault:?}"
                );
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_closed_connection_is_a_dispatch_failure() {
    let simulator = Simulator::new(1);
    let orders = simulator.table("orders", by_id());
    orders.script([InjectedFault::Dropped { applied: true }]);
    let error = write(&simulator.dynamo_client(), "orders", puts(0..1))
        .await
        .unwrap_err();
    assert!(matches!(error, SdkError::DispatchFailure(failure) if failure.is_io()));
}

#[tokio::test(start_paused = true)]
async fn the_read_timeout_of_a_client_holds() {
    let simulator = Simulator::new(1);
    let orders = simulator.table("orders", by_id());
    orders.script([InjectedFault::Hung { applied: true }]);
    let timeouts = TimeoutConfig::builder().read_timeout(Duration::from_secs(3)).build();
    let config = simulator.dynamo_client().config().to_builder().timeout_config(timeouts);
    let dynamo = aws_sdk_dynamodb::Client::from_conf(config.build());
    let start = Instant::now();
    let error = write(&dynamo, "orders", puts(0..1)).await.unwrap_err();
    assert!(matches!(error, SdkError::DispatchFailure(failure) if failure.is_timeout()));
    assert_eq!(start.elapsed(), Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn errors_carry_their_status_and_code() {
    let simulator = Simulator::new(1);
    let orders = simulator.table("orders", by_id());
    orders.keep_journal();
    orders.script([
        InjectedFault::Throttle,
        InjectedFault::error(400, "AccessDeniedException", false),
        InjectedFault::internal_error(false),
    ]);
    let dynamo = simulator.dynamo_client();
    for (code, status) in [
        ("ProvisionedThroughputExceededException", 400),
        ("AccessDeniedException", 400),
        ("InternalServerError", 500),
    ] {
        let error = write(&dynamo, "orders", puts(0..1)).await.unwrap_err();
        assert_eq!(error.code(), Some(code));
        assert_eq!(error.raw_response().unwrap().status().as_u16(), status);
    }
    let told: Vec<Acknowledgement> = orders.journal().iter().map(Record::acknowledgement).collect();
    assert_eq!(
        told,
        [
            Acknowledgement::Rejected,
            Acknowledgement::Rejected,
            Acknowledgement::Ambiguous { applied: false }
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_slow_answer_is_late_but_applied_in_time() {
    let simulator = Simulator::new(1);
    let orders = simulator.table("orders", by_id());
    orders.script([InjectedFault::Slow(Duration::from_secs(9))]);
    let dynamo = simulator.dynamo_client();
    let start = Instant::now();
    let call = tokio::spawn(async move { write(&dynamo, "orders", puts(0..1)).await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(orders.len(), 1);
    call.await.unwrap().unwrap();
    assert_eq!(start.elapsed(), Duration::from_secs(9));
}

#[tokio::test(start_paused = true)]
async fn a_slow_answer_is_slow_also_if_it_is_a_throttle() {
    let simulator = Simulator::new(1);
    let delay = Duration::from_secs(9);
    let orders = simulator.table("orders", by_id().capacity(Capacity::none()));
    let queue = simulator.queue("orders", QueueOptions::default().capacity(Capacity::none()));
    orders.set_read_capacity(Capacity::none());
    orders.script([InjectedFault::Slow(delay), InjectedFault::Slow(delay)]);
    orders.script_reads([InjectedFault::Slow(delay), InjectedFault::Slow(delay)]);
    queue.script([InjectedFault::Slow(delay)]);
    queue.script_consumers([InjectedFault::Slow(delay)]);
    let config = simulator.dynamo_client().config().to_builder();
    let once = aws_sdk_dynamodb::config::retry::RetryConfig::disabled();
    let dynamo = aws_sdk_dynamodb::Client::from_conf(config.retry_config(once).build());
    let sqs = simulator.sqs_client();
    let start = Instant::now();
    let has_taken = |calls: u32| assert_eq!(start.elapsed(), delay * calls);
    write(&dynamo, "orders", puts(0..1)).await.unwrap_err();
    has_taken(1);
    let put = dynamo.put_item().table_name("orders").item("id", string("1"));
    put.send().await.unwrap_err();
    has_taken(2);
    dynamo.scan().table_name("orders").send().await.unwrap_err();
    has_taken(3);
    // Or if the call is refused.
    dynamo.scan().table_name("orders").limit(0).send().await.unwrap_err();
    has_taken(4);
    send(&sqs, queue.url(), messages(0..1)).await.unwrap_err();
    has_taken(5);
    sqs.receive_message().queue_url(queue.url()).send().await.unwrap();
    has_taken(6);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_not_waited_for_is_ambiguous() {
    let simulator = Simulator::new(1);
    let orders = simulator.table("orders", by_id());
    orders.keep_journal();
    orders.script([InjectedFault::Slow(Duration::from_secs(9))]);
    let dynamo = simulator.dynamo_client();
    assert!(
        timeout(Duration::from_secs(1), write(&dynamo, "orders", puts(0..1)))
            .await
            .is_err()
    );
    assert_eq!(
        orders.journal()[0].acknowledgement(),
        Acknowledgement::Ambiguous { applied: true }
    );
}

#[tokio::test(start_paused = true)]
async fn a_queue_may_fail_omit_repeat_and_invent_entries() {
    let simulator = Simulator::new(1);
    let queue = simulator.queue("orders", QueueOptions::default());
    queue.keep_journal();
    queue.script([
        InjectedFault::failed(3, "KMS.ThrottlingException", true),
        InjectedFault::Omitted {
            entries: 4,
            applied: true,
        },
        InjectedFault::Omitted {
            entries: 4,
            applied: false,
        },
        InjectedFault::Repeated(2),
        InjectedFault::Unknown(2),
    ]);
    let sqs = simulator.sqs_client();
    let mut outputs = Vec::new();
    let mut lengths = Vec::new();
    for _ in 0..5 {
        let output = send(&sqs, queue.url(), messages(0..10)).await.unwrap();
        lengths.push((output.successful().len(), output.failed().len(), queue.len()));
        outputs.push(output);
    }
    assert_eq!(lengths, [(7, 3, 7), (6, 0, 17), (6, 0, 23), (8, 4, 31), (12, 2, 41)]);
    assert_eq!(outputs[0].failed()[0].code(), "KMS.ThrottlingException");
    let repeated: HashSet<&str> = outputs[3].failed().iter().map(BatchResultErrorEntry::id).collect();
    assert_eq!(repeated.len(), 2);
    assert!(outputs[4].failed()[0].id().starts_with("never-sent"));
    let count = |call, told| {
        let journal = queue.journal();
        journal
            .iter()
            .filter(|record| record.call == call && record.acknowledgement() == told)
            .count()
    };
    assert_eq!(count(1, Acknowledgement::Rejected), 3);
    assert_eq!(count(2, Acknowledgement::Ambiguous { applied: true }), 4);
    assert_eq!(count(3, Acknowledgement::Ambiguous { applied: false }), 4);
}

#[tokio::test(start_paused = true)]
async fn a_table_may_repeat_and_invent_entries() {
    let simulator = Simulator::new(1);
    let orders = simulator.table("orders", by_id());
    orders.script([InjectedFault::Repeated(2), InjectedFault::Unknown(3)]);
    let dynamo = simulator.dynamo_client();
    assert_eq!(unprocessed(&write(&dynamo, "orders", puts(0..25)).await.unwrap()), 4);
    assert_eq!(orders.len(), 23);
    assert_eq!(unprocessed(&write(&dynamo, "orders", puts(25..50)).await.unwrap()), 3);
    assert_eq!(orders.len(), 48);
}

fn any_fault() -> impl Strategy<Value = InjectedFault> {
    let replacing = any::<bool>().prop_flat_map(|applied| {
        prop_oneof![
            Just(InjectedFault::internal_error(applied)),
            Just(InjectedFault::Dropped { applied }),
            Just(InjectedFault::Empty { applied }),
            Just(InjectedFault::Garbage { applied }),
        ]
    });
    prop_oneof![
        3 => Just(InjectedFault::None),
        3 => (0_usize..10).prop_map(InjectedFault::Unprocessed),
        1 => (0_usize..10).prop_map(InjectedFault::Repeated),
        1 => Just(InjectedFault::Throttle),
        3 => replacing,
    ]
}

fn id_of(write: &WriteRequest) -> String {
    let put = write.put_request().map(|put| &put.item()["id"]);
    let id = put.or_else(|| write.delete_request().map(|delete| &delete.key()["id"]));
    id.unwrap().as_s().unwrap().clone()
}

/// Whatever happens, the journal alone tells what the table has, and each answer tells what the journal tells.
async fn the_journal_agrees(seed: u64, calls: Vec<(InjectedFault, Vec<(u8, bool)>)>) {
    let simulator = Simulator::new(seed);
    let capacity = Capacity::per_second(1.0).burst(40.0).starts_full();
    let orders = simulator.table("orders", by_id().capacity(capacity));
    orders.keep_journal();
    orders.script(calls.iter().map(|(fault, _)| fault.clone()));
    let dynamo = simulator.dynamo_client();
    for (number, (_, writes)) in calls.into_iter().enumerate() {
        let keys: BTreeMap<u8, bool> = writes.into_iter().collect();
        let writes = keys.into_iter().map(|(key, is_put)| {
            if is_put {
                put_of([("id", string(key.to_string())), ("call", string(number.to_string()))])
            } else {
                delete(key.to_string())
            }
        });
        let answer = write(&dynamo, "orders", writes.collect()).await;
        let journal = orders.journal();
        let of_call: Vec<Acknowledgement> = journal
            .iter()
            .filter(|record| record.call == number as u64 + 1)
            .map(Record::acknowledgement)
            .collect();
        if let Ok(output) = &answer
            && let Some(unprocessed) = output.unprocessed_items()
        {
            let rejected = of_call
                .iter()
                .filter(|told| **told == Acknowledgement::Rejected)
                .count();
            let back: BTreeSet<String> = unprocessed.values().flatten().map(id_of).collect();
            assert_eq!(back.len(), rejected);
            assert!(
                !of_call
                    .iter()
                    .any(|told| matches!(told, Acknowledgement::Ambiguous { .. }))
            );
        } else {
            assert!(!of_call.contains(&Acknowledgement::Accepted));
        }
    }
    let mut expected = BTreeMap::new();
    for record in orders
        .journal()
        .iter()
        .filter(|record| record.acknowledgement().is_applied())
    {
        match record.action {
            Action::Put => expected.insert(record.key.to_string(), record.entry()),
            _ => expected.remove(&*record.key),
        };
    }
    let items = orders
        .items()
        .into_iter()
        .map(|item| (orders.key_of(&item).unwrap(), item));
    assert_eq!(items.collect::<BTreeMap<String, Value>>(), expected);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_table_has_what_its_journal_says(
        seed: u64,
        calls in prop::collection::vec((any_fault(), prop::collection::vec((0_u8..30, any::<bool>()), 1..25)), 1..12),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(the_journal_agrees(seed, calls));
    }
}

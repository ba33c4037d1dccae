//! Which entries are held, behind which, and until when.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use aws_batch_delivery::targets::{Answer, Fault, Verdict};
use aws_batch_delivery::{Delivery, Progress};
use tokio::time::Instant;

use crate::order::service::{
    Fate, Order, Service, Write, accepted, numbers, options, throttled, throttling_once, writes,
};

#[tokio::test(start_paused = true)]
async fn the_same_key_twice_goes_in_two_calls_in_input_order() {
    let (service, seen) = Service::new(Order::Exclusive, 4, |_, chunk| Fate::after(8, accepted(chunk)));
    let input = writes([1, 2, 1, 3, 1]);
    let report = Delivery::new(service).options(options(0)).deliver(input).await.unwrap();
    let seen = seen.lock().unwrap();
    assert_eq!(numbers(&seen.calls), [vec![0, 1, 3], vec![2], vec![4]]);
    assert_eq!((report.delivered, report.calls), (5, 3));
}

#[tokio::test(start_paused = true)]
async fn a_newer_write_waits_until_the_throttled_older_one_is_settled() {
    let (service, seen) = Service::new(Order::Exclusive, 2, throttling_once(&[0]));
    let input = writes([1, 2, 3, 4, 1, 5, 6]);
    Delivery::new(service)
        .options(options(1_000))
        .deliver(input)
        .await
        .unwrap();
    let seen = seen.lock().unwrap();
    // The others do not wait.
    assert_eq!(
        numbers(&seen.calls),
        [vec![0, 1], vec![2, 3], vec![5, 6], vec![0], vec![4]]
    );
}

#[tokio::test(start_paused = true)]
async fn a_newer_write_is_sent_when_the_older_one_is_handed_back() {
    let fate = |_: usize, chunk: &[Write]| {
        let verdict = |write: &Write| match write.number {
            0 => Verdict::Refused(Fault::new("never")),
            1 => throttled(),
            _ => Verdict::Accepted,
        };
        Fate::after(8, Answer::Each(chunk.iter().map(verdict).collect()))
    };
    let (service, seen) = Service::new(Order::Exclusive, 4, fate);
    let error = Delivery::new(service)
        .options(options(0).retries(2))
        .deliver(writes([1, 2, 1, 2]))
        .await
        .unwrap_err();
    assert_eq!(error.report.delivered, 2);
    assert_eq!(numbers(std::slice::from_ref(&seen.lock().unwrap().log)), [vec![2, 3]]);
}

/// The strategy is asked for as many as the call may carry, not only for the first of the group.
#[tokio::test(start_paused = true)]
async fn messages_of_one_group_fill_calls_with_the_default_strategy() {
    let (service, seen) = Service::new(Order::Ordered, 10, |_, chunk| Fate::after(8, accepted(chunk)));
    let report = Delivery::new(service).deliver(writes([1; 1_000])).await.unwrap();
    assert_eq!(seen.lock().unwrap().violations, [""; 0]);
    assert!(report.calls <= 150, "{} calls for 1,000 messages", report.calls);
}

#[tokio::test(start_paused = true)]
async fn messages_of_a_group_share_a_call_in_order() {
    let (service, seen) = Service::new(Order::Ordered, 4, |_, chunk| Fate::after(8, accepted(chunk)));
    Delivery::new(service)
        .options(options(0))
        .deliver(writes([1; 10]))
        .await
        .unwrap();
    let seen = seen.lock().unwrap();
    assert_eq!(numbers(&seen.calls), [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![8, 9]]);
    assert_eq!(seen.violations, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_call_carries_different_groups_where_it_can() {
    let (service, seen) = Service::new(Order::Ordered, 3, |_, chunk| Fate::after(8, accepted(chunk)));
    let one_at_a_time = options(0).concurrency(1);
    let input = writes([1, 1, 1, 2, 2, 2, 3, 3, 3]);
    Delivery::new(service)
        .options(one_at_a_time)
        .deliver(input)
        .await
        .unwrap();
    assert_eq!(
        numbers(&seen.lock().unwrap().calls),
        [vec![0, 3, 6], vec![1, 4, 7], vec![2, 5, 8]]
    );
}

#[tokio::test(start_paused = true)]
async fn a_failure_holds_what_follows_it_in_its_group_only() {
    let (service, seen) = Service::new(Order::Ordered, 2, throttling_once(&[0]));
    let input = writes([1, 2, 1, 2, 3, 1, 2]);
    Delivery::new(service)
        .options(options(1_000).concurrency(2))
        .deliver(input)
        .await
        .unwrap();
    let seen = seen.lock().unwrap();
    let log = numbers(std::slice::from_ref(&seen.log)).remove(0);
    // Group 1 is held for the second that its first message waits; groups 2 and 3 are delivered by then.
    assert_eq!(log, [1, 3, 4, 6, 0, 2, 5]);
    assert_eq!(seen.violations, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn calls_stay_full_though_single_messages_fail_and_hold_up_their_groups() {
    const MESSAGES: usize = 5_000;
    let sent = AtomicUsize::new(0);
    let fate = move |_: usize, chunk: &[Write]| {
        let verdict = |_: &Write| {
            if sent.fetch_add(1, Relaxed).is_multiple_of(10) {
                throttled()
            } else {
                Verdict::Accepted
            }
        };
        Fate::after(8, Answer::Each(chunk.iter().map(verdict).collect()))
    };
    let (service, seen) = Service::new(Order::Ordered, 10, fate);
    let groups = (0..MESSAGES).map(|number| u8::try_from(number % 50).unwrap());
    let report = Delivery::new(service)
        .options(options(20).concurrency(16))
        .deliver(writes(groups))
        .await
        .unwrap();
    let fewest = (MESSAGES as u64 + report.resubmitted) / 10;
    assert!(
        report.calls * 10 <= fewest * 12,
        "{} calls, and {fewest} would do",
        report.calls
    );
    assert_eq!(seen.lock().unwrap().violations, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn leftovers_of_a_group_go_before_its_later_messages_in_order() {
    let fate = |number: usize, chunk: &[Write]| {
        let answer = if number == 1 {
            Answer::Whole(throttled())
        } else {
            accepted(chunk)
        };
        Fate::after(8, answer)
    };
    let (service, seen) = Service::new(Order::Ordered, 4, fate);
    Delivery::new(service)
        .options(options(10))
        .deliver(writes([1; 7]))
        .await
        .unwrap();
    assert_eq!(
        numbers(&seen.lock().unwrap().calls),
        [vec![0, 1, 2, 3], vec![0, 1, 2, 3], vec![4, 5, 6]]
    );
}

#[tokio::test(start_paused = true)]
async fn no_group_shares_a_call_after_one_was_accepted_in_part() {
    let (service, seen) = Service::new(Order::Ordered, 4, throttling_once(&[1, 3]));
    Delivery::new(service)
        .options(options(10))
        .deliver(writes([1; 5_000]))
        .await
        .unwrap();
    let calls = numbers(&seen.lock().unwrap().calls);
    assert_eq!(calls[..4], [vec![0, 1, 2, 3], vec![1], vec![3], vec![4]]);
    // After a thousand calls it may share calls again.
    assert_eq!(calls[1_000], [1_001]);
    assert_eq!(calls[1_001], [1_002, 1_003, 1_004, 1_005]);
}

#[tokio::test(start_paused = true)]
async fn a_group_that_is_accepted_as_a_whole_shares_calls_after_another_was_rejected() {
    let fate = |number: usize, chunk: &[Write]| {
        let verdict = |write: &Write| {
            let is_rejected = number == 1 && write.key == 2;
            if is_rejected { throttled() } else { Verdict::Accepted }
        };
        Fate::after(8, Answer::Each(chunk.iter().map(verdict).collect()))
    };
    let (service, seen) = Service::new(Order::Together, 4, fate);
    let keys = (0..40).map(|number| 1 + u8::from(number % 4 >= 2));
    let report = Delivery::new(service)
        .options(options(10))
        .deliver(writes(keys))
        .await
        .unwrap();
    let seen = seen.lock().unwrap();
    // 42 writes are sent. Alone in its group, each would take every second place of 21 calls.
    assert!((11..=13).contains(&report.calls), "{:?}", numbers(&seen.calls));
    for key in [1, 2] {
        let of_key = seen.log.iter().filter(|write| write.key == key);
        assert!(of_key.is_sorted_by_key(|write| write.number));
    }
}

#[tokio::test(start_paused = true)]
async fn groups_of_a_busy_group_are_not_starved() {
    let (service, seen) = Service::new(Order::Ordered, 2, |_, chunk| Fate::after(8, accepted(chunk)));
    let keys = (0..40).map(|number| if number % 4 == 3 { 2 } else { 1 });
    let one_at_a_time = options(0).concurrency(1);
    Delivery::new(service)
        .options(one_at_a_time)
        .deliver(writes(keys))
        .await
        .unwrap();
    let calls = &seen.lock().unwrap().calls;
    assert_eq!(calls.len(), 20);
    assert!(calls[..10].iter().all(|call| call[0].key != call[1].key));
}

#[tokio::test(start_paused = true)]
async fn all_entries_in_one_lane_are_delivered_and_the_input_is_not_read_to_its_end() {
    for (order, per_call, limit, entries) in [
        (Order::Exclusive, 1, Some(1_000), 5_000),
        (Order::Ordered, 4, None, 40_000),
    ] {
        let read = Arc::new(AtomicUsize::new(0));
        let ahead = Arc::new(AtomicUsize::new(0));
        let (counter, most) = (Arc::clone(&read), Arc::clone(&ahead));
        let sent = AtomicUsize::new(0);
        let (service, seen) = Service::new(order, 4, move |_, chunk| {
            let sent = sent.fetch_add(chunk.len(), Relaxed);
            most.fetch_max(counter.load(Relaxed) - sent, Relaxed);
            Fate::after(8, accepted(chunk))
        });
        let input = writes(vec![7; entries]).into_iter().inspect(move |_| {
            read.fetch_add(1, Relaxed);
        });
        let options = limit.map_or_else(|| options(0), |limit| options(0).read_ahead(limit));
        let report = Delivery::new(service).options(options).deliver(input).await.unwrap();
        assert_eq!(report.delivered, entries as u64);
        assert_eq!(report.calls, (entries / per_call) as u64);
        let seen = seen.lock().unwrap();
        assert!(seen.log.is_sorted_by_key(|write| write.number), "{order:?}");
        let ahead = ahead.load(Relaxed);
        assert!(
            (1_000..=limit.unwrap_or(30_000) + 100).contains(&ahead),
            "{ahead} read ahead"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn read_ahead_stays_within_the_options_and_progress_has_its_size() {
    let progress = Progress::default();
    let (figures, most) = (progress.clone(), Arc::new(AtomicUsize::new(0)));
    let ahead = Arc::clone(&most);
    let (service, _) = Service::new(Order::Exclusive, 4, move |_, chunk| {
        let read_ahead = usize::try_from(figures.snapshot().read_ahead).unwrap();
        ahead.fetch_max(read_ahead, Relaxed);
        Fate::after(8, accepted(chunk))
    });
    let options = options(0).read_ahead(100).progress(&progress);
    Delivery::new(service)
        .options(options)
        .deliver(writes([7; 1_000]))
        .await
        .unwrap();
    assert_eq!(most.load(Relaxed), 100);
    assert_eq!(progress.snapshot().read_ahead, 0);
}

#[tokio::test(start_paused = true)]
async fn few_large_entries_of_one_lane_are_read_ahead() {
    const ENTRIES: usize = 1_000;
    /// An eighth of a call.
    const BYTES: usize = 2 << 20;
    /// Of entries that wait.
    const MOST: usize = 64 << 20;
    for order in [Order::Exclusive, Order::Ordered] {
        let (read, sent) = (Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
        let ahead = Arc::new(AtomicUsize::new(0));
        let (counter, most) = (Arc::clone(&read), Arc::clone(&ahead));
        let (service, seen) = Service::new(order, 8, move |_, chunk| {
            let sent = sent.fetch_add(chunk.len(), Relaxed);
            most.fetch_max(counter.load(Relaxed) - sent, Relaxed);
            Fate::after(8, accepted(chunk))
        });
        let service = service.with_bytes(16 << 20, vec![BYTES; ENTRIES]);
        let input = writes(vec![7; ENTRIES]).into_iter().inspect(move |_| {
            read.fetch_add(1, Relaxed);
        });
        let report = Delivery::new(service).options(options(0)).deliver(input).await.unwrap();
        assert_eq!(report.delivered, ENTRIES as u64);
        assert!(seen.lock().unwrap().log.is_sorted_by_key(|write| write.number));
        // And those of the next call.
        let ahead = ahead.load(Relaxed) * BYTES;
        assert!(
            (MOST / 2..=MOST + 2 * (16 << 20)).contains(&ahead),
            "{ahead} bytes read ahead"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_write_wins_where_that_is_wanted() {
    let (service, seen) = Service::new(Order::Exclusive, 2, throttling_once(&[0]));
    let progress = Progress::default();
    // 0 waits for its retry, 1 is out, and 2 to 7 arrive one after another. The last of each key remains.
    let report = Delivery::new(service)
        .options(options(1_000).concurrency(2).progress(&progress).last_write_wins())
        .deliver(writes([1, 2, 1, 1, 3, 1, 2, 1]))
        .await
        .unwrap();
    let seen = seen.lock().unwrap();
    let last = |key| {
        seen.log
            .iter()
            .rfind(|write| write.key == key)
            .map(|write| write.number)
    };
    assert_eq!((last(1), last(2), last(3)), (Some(7), Some(6), Some(4)));
    assert!(!seen.log.contains(&Write { key: 1, number: 0 }));
    assert_eq!((report.delivered, report.superseded, report.undelivered), (4, 4, 0));
    let figures = progress.snapshot();
    assert_eq!((figures.superseded, figures.waiting, figures.in_flight), (4, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn however_many_writes_are_superseded_others_go_on_meanwhile() {
    const WRITES: usize = 100_000;
    let read = Arc::new(AtomicUsize::new(0));
    let (counter, at_first_call) = (Arc::clone(&read), Arc::new(AtomicUsize::new(0)));
    let first = Arc::clone(&at_first_call);
    let (service, seen) = Service::new(Order::Exclusive, 2, move |number, chunk| {
        if number == 1 {
            first.store(counter.load(Relaxed), Relaxed);
        }
        Fate::after(8, accepted(chunk))
    });
    let input = writes(vec![7; WRITES]).into_iter().inspect(move |_| {
        read.fetch_add(1, Relaxed);
    });
    let report = Delivery::new(service)
        .options(options(0).last_write_wins())
        .deliver(input)
        .await
        .unwrap();
    assert_eq!(report.delivered + report.superseded, WRITES as u64);
    assert_eq!(
        seen.lock().unwrap().log.last().map(|write| write.number),
        Some(WRITES - 1)
    );
    let read = at_first_call.load(Relaxed);
    assert!(read < WRITES / 2, "{read} read before the first call");
}

#[tokio::test(start_paused = true)]
async fn without_the_option_every_write_arrives() {
    let (service, seen) = Service::new(Order::Exclusive, 2, throttling_once(&[0]));
    let report = Delivery::new(service)
        .options(options(1_000))
        .deliver(writes([1, 2, 1, 1, 3, 1, 2, 1]))
        .await
        .unwrap();
    assert_eq!((report.delivered, report.superseded), (8, 0));
    assert_eq!(seen.lock().unwrap().log.len(), 8);
}

#[tokio::test(start_paused = true)]
async fn what_is_held_is_handed_back_at_the_end_of_the_time() {
    let (service, _) = Service::new(Order::Exclusive, 2, |_, chunk| {
        Fate::after(8, Answer::Each(vec![throttled(); chunk.len()]))
    });
    let deadline = Instant::now() + Duration::from_secs(10);
    let error = Delivery::new(service)
        .options(options(1_000).deadline(deadline))
        .deliver(writes((0..100).map(|number| number % 7)))
        .await
        .unwrap_err();
    let positions: Vec<u64> = error
        .undelivered()
        .iter()
        .map(|undelivered| undelivered.position)
        .collect();
    assert_eq!(positions, (0..100).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn calls_that_became_small_through_a_throttle_become_full_again() {
    const ENTRIES: usize = 400;
    // Four keys, four entries in a call, and one of the first call is throttled: without a wait for the entries that are held, calls
    // of three and of one entry would take turns.
    let (service, seen) = Service::new(Order::Exclusive, 4, throttling_once(&[0]));
    let keys = (0..ENTRIES).map(|number| u8::try_from(number % 4).unwrap());
    let report = Delivery::new(service)
        .options(options(4).linger(Duration::from_millis(50)))
        .deliver(writes(keys))
        .await
        .unwrap();
    assert!(report.calls <= ENTRIES as u64 / 4 + 5, "{} calls", report.calls);
    assert_eq!(seen.lock().unwrap().violations, [""; 0]);
}

//! Whatever fails in S3 or SQS, every message has one outcome, and no pointer lacks its object.

use std::collections::HashSet;

use aws_batch_delivery::DeliveryError;
use aws_batch_simulator::{Faults, InjectedFault, QueueOptions};
use proptest::prelude::*;

use crate::offload::entries::{Services, key, mixed, one_at_a_time};
use crate::support::cases::cases;
use crate::support::paused::paused;

fn fault() -> impl Strategy<Value = InjectedFault> {
    prop_oneof![
        6 => Just(InjectedFault::None),
        1 => Just(InjectedFault::Throttle),
        1 => any::<bool>().prop_map(InjectedFault::internal_error),
        1 => any::<bool>().prop_map(|applied| InjectedFault::Dropped { applied }),
        1 => any::<bool>().prop_map(|applied| InjectedFault::Hung { applied }),
        1 => Just(InjectedFault::error(403, "AccessDenied", false)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(40)))]

    #[test]
    fn every_message_ends_once_and_every_pointer_has_its_object(
        seed in any::<u64>(),
        count in 0..60_usize,
        uploads in prop::collection::vec(fault(), 0..60),
        shares in prop::array::uniform5(prop_oneof![2 => Just(0.0), 1 => 0.0..0.15]),
        applied in any::<bool>(),
        concurrency in 1..6_usize,
        retries in prop::option::of(0..3_u32),
    ) {
        paused(async {
            let services = Services::seeded(seed, "orders", QueueOptions::default());
            services.bucket.script(uploads);
            services.queue.set_faults(
                Faults::none()
                    .failed(shares[0], "InternalError", false)
                    .calls(shares[1], InjectedFault::Throttle)
                    .calls(shares[2], InjectedFault::Dropped { applied })
                    .calls(shares[3], InjectedFault::Omitted { entries: 3, applied })
                    .calls(shares[4], InjectedFault::failed(2, "InvalidMessageContents", true)),
            );
            let options = one_at_a_time().concurrency(concurrency);
            let options = match retries {
                Some(retries) => options.retries(retries),
                None => options,
            };
            let entries = mixed(count);
            let ended = services.delivery(services.offload()).options(options).deliver(entries.clone()).await;
            let undelivered = ended.map_or_else(DeliveryError::into_undelivered, |_| Vec::new());
            for undelivered in &undelivered {
                assert_eq!(*undelivered.entry, entries[usize::try_from(undelivered.position).unwrap()]);
            }

            // Panics if a pointer has no object.
            let arrived: HashSet<String> = services.received().into_iter().collect();
            let handed_back = |certain: bool| {
                let those = undelivered.iter().filter(move |one| !(certain && one.may_have_been_delivered));
                those.map(|one| one.entry.message_body.clone()).collect::<HashSet<_>>()
            };
            assert!(arrived.is_disjoint(&handed_back(true)));
            assert_eq!(arrived.union(&handed_back(false)).count(), count);

            // Objects without a message are only those whose message may be in the queue, and those whose removal failed.
            let pointed_to: HashSet<String> = services.queue.messages().iter().filter_map(key).collect();
            let in_doubt = undelivered.iter().filter(|one| one.may_have_been_delivered).count();
            let orphans = services.bucket.objects().into_keys().filter(|key| !pointed_to.contains(key)).count();
            let removals = usize::try_from(services.bucket.deletes()).unwrap();
            assert!(orphans <= in_doubt + removals, "{orphans} orphans, {in_doubt} in doubt, {removals} removals");
        });
    }
}

//! Mixes of faults with emulators behind `throttled-aws`, and `throttled-aws` behind the proxy of the mixes. What the deliveries say is
//! compared with its journal, and with what the emulators have.

use std::env;
use std::net::SocketAddr;

use aws_batch_delivery::Progress;

use crate::chaos::ledger::Fate;
use crate::chaos::mix::{Mix, Service};
use crate::chaos::served::Served;
use crate::chaos::trial::deliver_behind;

/// Where `throttled-aws` is in front of the emulator of tables, and in front of that of queues. `localstack/limits` sets them.
const PLACES: [&str; 2] = ["THROTTLED_TABLES", "THROTTLED_QUEUES"];

/// How many mixes; each takes a second.
const MIXES: usize = 30;

#[test]
#[ignore = "needs the emulators behind throttled-aws: localstack/limits"]
fn what_a_delivery_says_is_what_the_emulator_has() {
    let [tables, queues] = PLACES.map(|name| {
        let place = env::var(name).unwrap_or_else(|_| panic!("{name} is not set; localstack/limits runs this test"));
        let address: SocketAddr = place.trim_start_matches("http://").parse().expect("an address");
        address
    });
    let (mut delivered, mut handed_back, mut in_doubt, mut sent_again) = (0, 0, 0, 0);
    let mut of_each = [0; 3];
    // One after another: the faults of throttled-aws are those of one mix.
    for mix in (0..).map(Mix::draw).take(MIXES) {
        let place = if mix.service == Service::Table { tables } else { queues };
        of_each[mix.service as usize] += 1;
        let served = Served::behind(place, mix.service, &mix.faults);
        let outcome = deliver_behind(&served, &mix, &Progress::default());
        println!("{mix}\n    {:?}", outcome.time);
        assert_eq!(outcome.complaints, [""; 0], "{mix}");
        for fate in &outcome.seen.told.fates {
            match fate {
                Fate::Delivered | Fate::Unnamed => delivered += 1,
                Fate::HandedBack {
                    may_have_been_delivered,
                    ..
                } => {
                    handed_back += 1;
                    in_doubt += usize::from(*may_have_been_delivered);
                }
                Fate::ConditionFailed | Fate::Kept | Fate::Untold => {}
            }
        }
        let sent: usize = outcome.seen.attempts.iter().map(|attempt| attempt.entries.len()).sum();
        sent_again += sent.saturating_sub(outcome.load.entries.len());
    }
    println!("{delivered} delivered, {handed_back} handed back, {in_doubt} of them in doubt, {sent_again} sent again");
    // Each service was there, and the limits and faults were met.
    assert!(of_each.iter().all(|mixes| *mixes > 3), "{of_each:?}");
    assert!(delivered > 5_000 && in_doubt > 0 && sent_again > 500);
}

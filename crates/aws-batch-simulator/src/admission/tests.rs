//! How much a table accepts, and when.

use std::time::Duration;

use proptest::prelude::*;
use tokio::time::Instant;

use super::partition::PARTITION_LIMIT;
use super::{AdmissionControl, AutoScaling, Demand, OnDemand, Place, Tenant, Throughput};

const SECOND: Duration = Duration::from_secs(1);

/// A table, and the time at which it was created.
struct Rig {
    control: AdmissionControl,
    start: Instant,
}

impl Rig {
    fn new(throughput: impl Into<Throughput>) -> Self {
        let start = Instant::now();
        Self {
            control: AdmissionControl::new(throughput, start, 7),
            start,
        }
    }

    /// Asks at this second for `units` units, one by one, and returns how many are accepted.
    fn ask(&mut self, at: f64, place: impl Fn(u64) -> Place, units: u64) -> usize {
        let call: Vec<Demand> = (0..units).map(|number| Demand::new(place(number), 1.0)).collect();
        let fates = self.control.admit(self.start + Duration::from_secs_f64(at), &call);
        fates.iter().filter(|fate| fate.is_ok()).count()
    }

    /// Asks every tenth of a second for more than the capacity, and returns how many units were accepted.
    fn flood(&mut self, seconds: std::ops::Range<u32>, place: impl Fn(u64) -> Place + Copy) -> usize {
        (seconds.start * 10..seconds.end * 10)
            .map(|tenth| self.ask(f64::from(tenth) / 10.0, place, 3_000))
            .sum()
    }

    fn reason(&mut self, at: f64, demand: &Demand) -> &'static str {
        let call = vec![demand.clone(); 5_000];
        let fates = self.control.admit(self.start + Duration::from_secs_f64(at), &call);
        let throttle = fates.into_iter().find_map(Result::err);
        throttle.expect("it is too much").reason()
    }
}

/// Keys that are evenly spread.
fn spread(number: u64) -> Place {
    Place::new(number.wrapping_mul(0x9E37_79B9_7F4A_7C15), 0)
}

/// All items of one partition key.
fn one_key(number: u64) -> Place {
    Place::new(1 << 40, number)
}

/// One item.
fn one_item(_: u64) -> Place {
    Place::new(1 << 40, 1)
}

#[test]
fn a_hot_partition_uses_what_others_leave_and_never_more_than_its_limit() {
    let mut table = Rig::new(Throughput::provisioned(4_000.0).partitions(10));
    let accepted = table.flood(0..10, one_key);
    assert!((10_800..=11_000).contains(&accepted), "{accepted}");
    // What it left has been banked, and the other nine partitions have it.
    let accepted = table.flood(10..11, spread);
    assert!(accepted > 9_000, "{accepted}");
}

#[test]
fn what_is_charged_afterwards_is_paid_before_the_next_write() {
    let mut rig = Rig::new(Throughput::provisioned(100.0).burst(SECOND).starts_full());
    rig.control.charge(&Demand::new(spread(1), 250.0));
    assert_eq!(
        rig.ask(1.0, spread, 10),
        0,
        "a debt of 150 takes one and a half seconds"
    );
    assert_eq!(rig.ask(2.0, spread, 100), 50);
    rig.control.charge(&Demand::new(spread(1), -20.0));
    assert_eq!(rig.ask(2.0, spread, 100), 20, "what is given back can be used");
}

#[test]
fn all_partitions_together_take_what_the_table_has() {
    let mut table = Rig::new(Throughput::provisioned(4_000.0).partitions(10));
    let accepted = table.flood(0..10, spread);
    assert!(
        (39_500..=39_600).contains(&accepted),
        "{accepted}: the last flood is at 9.9 s"
    );
}

#[test]
fn unused_capacity_is_banked_for_as_long_as_the_burst() {
    let mut table = Rig::new(Throughput::provisioned(100.0).partitions(4).burst(20 * SECOND));
    assert_eq!(table.ask(60.0, spread, 3_000), 2_000);
    let mut full = Rig::new(Throughput::provisioned(100.0).burst(20 * SECOND).starts_full());
    assert_eq!(full.ask(0.0, spread, 3_000), 2_000);
}

#[test]
fn a_new_on_demand_table_accepts_4000_and_later_twice_its_peak() {
    let growth = OnDemand::default().grows_after(30 * SECOND);
    let mut table = Rig::new(Throughput::on_demand(growth));
    assert_eq!(table.control.partitions(), 4);
    let first = table.flood(1..30, spread);
    assert!((115_000..=120_000).contains(&first), "{first}");
    table.flood(30..40, spread);
    let later = table.flood(40..50, spread);
    assert!((78_000..=88_000).contains(&later), "{later}");
    assert_eq!(table.control.partitions(), 8);
}

#[test]
fn a_maximum_of_an_on_demand_table_is_a_limit_and_the_reason() {
    let mut table = Rig::new(Throughput::on_demand(OnDemand::default().at_most(500.0)));
    assert_eq!(
        table.reason(0.0, &Demand::new(one_key(0), 1.0)),
        "TableWriteMaxOnDemandThroughputExceeded"
    );
    let accepted = table.flood(1..11, spread);
    assert!((4_900..=5_500).contains(&accepted), "{accepted}");
}

#[test]
fn a_partition_that_stays_hot_splits_until_its_items_are_alone() {
    let throughput = Throughput::default().partitions(2).splits_after(5 * SECOND);
    let mut table = Rig::new(throughput.clone());
    let before = table.flood(0..5, one_key);
    table.flood(5..10, one_key);
    let after = table.flood(10..15, one_key);
    assert!(table.control.partitions() > 2);
    assert!(after > before + 3_000, "{before}, then {after}");
    let mut single = Rig::new(throughput);
    single.flood(0..20, one_item);
    assert_eq!(single.control.partitions(), 2, "a single item cannot be split");
}

#[test]
fn a_write_without_capacity_in_an_index_is_throttled_by_the_table() {
    let mut table = Rig::new(Throughput::provisioned(1_000.0));
    let index = Throughput::provisioned(500.0).partitions(1);
    table.control = table.control.with_index(index, table.start);
    let demand = |number| Demand::new(spread(number), 1.0).with_index(0, spread(number), 1.0);
    let call: Vec<Demand> = (0..2_000).map(demand).collect();
    let fates = table.control.admit(table.start + SECOND, &call);
    assert_eq!(fates.iter().filter(|fate| fate.is_ok()).count(), 500);
    let reason = fates.iter().find_map(|fate| fate.err()).map(super::Throttle::reason);
    assert_eq!(reason, Some("IndexWriteProvisionedThroughputExceeded"));
    // A write that the index has throttled consumes nothing of the table.
    assert_eq!(table.ask(1.0, spread, 2_000), 500);
}

#[test]
fn the_reason_names_the_limit() {
    let one = |place| Demand::new(place, 1.0);
    let mut table = Rig::new(Throughput::provisioned(100.0).partitions(4));
    assert_eq!(
        table.reason(1.0, &one(one_key(0))),
        "TableWriteProvisionedThroughputExceeded"
    );
    let mut hot = Rig::new(Throughput::provisioned(4_000.0).partitions(4));
    assert_eq!(
        hot.reason(1.0, &one(one_key(0))),
        "TableWriteKeyRangeThroughputExceeded"
    );
    let mut growing = Rig::new(Throughput::on_demand(OnDemand::default()));
    assert_eq!(
        growing.reason(0.0, &one(one_key(0))),
        "TableWriteKeyRangeThroughputExceeded"
    );
    let index = Throughput::default().partitions(1);
    let mut hot_index = Rig::new(Throughput::default());
    hot_index.control = hot_index.control.with_index(index, hot_index.start);
    assert_eq!(
        hot_index.reason(0.0, &one(one_key(0)).with_index(0, one_key(0), 1.0)),
        "IndexWriteKeyRangeThroughputExceeded"
    );
}

#[test]
fn the_capacity_follows_consumption_after_a_delay_and_within_its_bounds() {
    let scaling = AutoScaling::within(100.0..=300.0).period(2 * SECOND).delay(SECOND);
    let throughput = Throughput::provisioned(100.0).burst(SECOND).auto_scaling(scaling);
    let mut table = Rig::new(throughput);
    let capacity = |table: &mut Rig, at: u32| table.control.capacity(table.start + at * SECOND).0;
    table.flood(0..4, spread);
    assert!(
        (capacity(&mut table, 4) - 100.0).abs() < 1e-9,
        "two periods, and the delay"
    );
    table.flood(4..5, spread);
    let raised = capacity(&mut table, 5);
    assert!((130.0..=150.0).contains(&raised), "{raised}");
    table.flood(5..30, spread);
    assert!((capacity(&mut table, 30) - 300.0).abs() < 1e-9);
    assert!(
        (capacity(&mut table, 90) - 100.0).abs() < 1e-9,
        "and down after fifteen idle ones"
    );
}

#[test]
fn other_tenants_use_what_they_ask_for_while_they_are_there() {
    let tenant = Tenant::new(400.0).between(10 * SECOND, 20 * SECOND);
    let mut table = Rig::new(Throughput::provisioned(1_000.0).burst(SECOND).tenant(tenant));
    let alone = table.flood(1..10, spread);
    let together = table.flood(10..20, spread);
    assert!((9_800..=10_000).contains(&alone), "{alone}");
    assert!((5_300..=6_700).contains(&together), "{together}");
}

#[test]
fn a_partition_is_out_and_comes_back() {
    let mut table = Rig::new(Throughput::default().partitions(4));
    let start = table.start;
    let steps = [(10 * SECOND, 0.0), (20 * SECOND, f64::INFINITY)];
    table.control.schedule_partition(0, steps, start);
    assert_eq!(table.control.partition_of(one_key(0)), 0);
    assert!(table.flood(0..10, one_key) > 9_000);
    table.flood(10..11, one_key);
    assert_eq!(table.flood(11..20, one_key), 0);
    let after = table.flood(20..30, one_key);
    assert!((9_800..=10_000).contains(&after), "{after}");
}

#[test]
fn a_schedule_changes_the_capacity_of_the_table() {
    let mut table = Rig::new(Throughput::provisioned(1_000.0).burst(SECOND));
    let start = table.start;
    table
        .control
        .schedule([(5 * SECOND, 100.0), (15 * SECOND, 2_000.0)], start);
    let per_second = |accepted: usize, seconds: usize| accepted / seconds;
    assert!((950..=1_000).contains(&per_second(table.flood(0..5, spread), 5)));
    assert!((95..=130).contains(&per_second(table.flood(5..15, spread), 10)));
    assert!((1_950..=2_000).contains(&per_second(table.flood(15..20, spread), 5)));
}

#[test]
fn the_same_seed_gives_the_same_answers() {
    let run = |seed| {
        let start = Instant::now();
        let throughput = Throughput::provisioned(500.0).partitions(3).tenant(Tenant::new(200.0));
        let mut control = AdmissionControl::new(throughput, start, seed);
        let call: Vec<Demand> = (0..60).map(|number| Demand::new(spread(number), 1.0)).collect();
        (1..50_u32)
            .map(|step| control.admit(start + step * SECOND / 20, &call))
            .collect::<Vec<_>>()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

proptest! {
    /// In any window a partition accepts at most its limit times the window, and the second that evens out; the table at most
    /// its rate times the window, and its burst.
    #[test]
    fn no_window_takes_more_than_its_time_and_the_credit(
        rate in 100.0..6_000.0,
        burst in 0_u64..20,
        partitions in 1_usize..8,
        starts_full in any::<bool>(),
        calls in prop::collection::vec((0_u64..300, 1_u32..800, 0_u64..40, 1_u32..20), 1..150),
    ) {
        let burst = Duration::from_secs(burst);
        let mut throughput = Throughput::provisioned(rate).partitions(partitions).burst(burst);
        if starts_full {
            throughput = throughput.starts_full();
        }
        let start = Instant::now();
        let mut control = AdmissionControl::new(throughput, start, 11);
        let mut now = start;
        let mut accepted: Vec<(Instant, usize, f64)> = Vec::new();
        for (milliseconds, entries, key, units) in calls {
            now += Duration::from_millis(milliseconds);
            let place = Place::new(key << 58, 0);
            let demand = Demand::new(place, f64::from(units));
            let fates = control.admit(now, &vec![demand; entries as usize]);
            let taken = fates.iter().filter(|fate| fate.is_ok()).count();
            accepted.push((now, control.partition_of(place), f64::from(units) * f64::from(u32::try_from(taken).unwrap())));
        }
        let depth = (rate * burst.as_secs_f64()).max(25.0);
        for first in 0..accepted.len() {
            let (mut of_table, mut of_partition) = (0.0, 0.0);
            for (at, partition, units) in &accepted[first..] {
                let window = (*at - accepted[first].0).as_secs_f64();
                of_table += units;
                prop_assert!(of_table <= depth + rate * window + 0.01);
                if *partition == accepted[first].1 {
                    of_partition += units;
                    prop_assert!(of_partition <= PARTITION_LIMIT * (1.0 + window) + 0.01);
                }
            }
        }
    }
}

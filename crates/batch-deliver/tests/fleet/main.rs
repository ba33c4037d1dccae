//! Whole fleets in processes, each from one seed: a plan, several workers, and services that fail. Workers are killed, frozen and cut off,
//! shards are handed out again, and in the end each entry is delivered or a dead letter.
//!
//! The program runs as it is, in processes of its own, with a clock that is twenty times faster: see `clock.c`. A seed decides the load,
//! the workers and which request to which service has which fault, by its number. It does not decide what depends on threads, on the
//! scheduler and on the jitter of the SDK and of the program: which worker a request is from, and in which order requests arrive. In
//! `in_process` it decides that as well, and many more seeds are tried in the same time; this has what only processes show. A seed
//! that fails is tried again by `FLEET_SEED=17`. `FLEET_SEEDS=10000` tries the first 10,000, and `FLEET_SEEDS=5000..6000` a part of them.

#![cfg(all(target_os = "linux", target_env = "gnu"))]

mod activity;
#[path = "../program/bucket.rs"]
#[expect(dead_code, reason = "other tests serve it by itself")]
mod bucket;
mod checks;
mod clock;
mod content;
#[allow(dead_code, reason = "fleets in one process are cut")]
mod faults;
mod fleet;
mod front;
#[path = "../program/http.rs"]
#[allow(dead_code, reason = "other tests serve a bucket by itself")]
mod http;
mod ledger;
mod liveness;
#[allow(dead_code, reason = "fleets in one process are cut")]
mod load;
mod preloaded;
#[path = "../program/program.rs"]
#[expect(dead_code, reason = "other tests run it to its end")]
mod program;
mod rare;
mod seeds;
mod shared;
mod worker;

use std::env;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use futures::executor::block_on;

use crate::faults::{Fault, Faults, Service};
use crate::fleet::{ENDLESS, Ended, Fleet, Plan};
use crate::load::Work;
use crate::seeds::seeds;

/// Fleets that run at the same time. They wait for most of their time.
const AT_ONCE: usize = 4;

/// Of how many failures of one request one is tried, unless all are by `FLEET=all`. Prime to the kinds.
const SAMPLE: usize = 43;

/// Runs fleets at the same time, and returns what they came to, in their order. None begins after one that has failed. One that takes too
/// long is run again by itself: on a busy machine the heartbeats of all are late.
fn run(plans: impl Iterator<Item = (String, Plan)> + Send) -> Vec<(String, Ended)> {
    let (plans, failed) = (Mutex::new(plans.enumerate()), Mutex::new(Vec::new()));
    let (ended, endless) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while failed.lock().unwrap().is_empty() {
                    let Some((number, (name, plan))) = plans.lock().unwrap().next() else {
                        return;
                    };
                    match block_on(Fleet::run(plan.clone())) {
                        Ok(fleet) => ended.lock().unwrap().push((number, name, fleet)),
                        Err(words) if words.starts_with(ENDLESS) => endless.lock().unwrap().push((number, name, plan)),
                        Err(words) => failed.lock().unwrap().push(format!("{name}: {words}")),
                    }
                }
            });
        }
    });
    let (mut failed, mut ended) = (failed.into_inner().unwrap(), ended.into_inner().unwrap());
    for (number, name, plan) in endless.into_inner().unwrap() {
        println!("{name} takes too long, and is run again");
        match block_on(Fleet::run(plan)) {
            Ok(fleet) => ended.push((number, name, fleet)),
            Err(words) => failed.push(format!("{name}: {words}")),
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
    ended.sort_unstable_by_key(|(number, ..)| *number);
    ended.into_iter().map(|(_, name, fleet)| (name, fleet)).collect()
}

#[test]
fn whatever_happens_to_a_fleet_each_entry_is_delivered_or_a_dead_letter() {
    let started = Instant::now();
    let ended = run(seeds().map(|seed| (format!("seed {seed}"), Plan::of(seed))));
    let ended: Vec<Ended> = ended.into_iter().map(|(_, fleet)| fleet).collect();
    println!(
        "{}\n{}",
        Ended::summary(&ended, started.elapsed()),
        rare::table(&ended).0
    );
}

/// Each request to S3, to the activity and to the table or the queue, one after another.
#[test]
fn each_request_of_a_worker_fails_once_and_nothing_is_lost() {
    let is_sample = env::var("FLEET").is_err();
    for work in Work::ALL {
        let undisturbed = run([(format!("{work:?}"), Plan::small(work, Faults::default()))].into_iter());
        let requests = &undisturbed[0].1.requests;
        let tried = Service::ALL.into_iter().flat_map(|service| {
            (1..=requests[&service]).flat_map(move |number| {
                let kinds = Fault::OF_REQUEST.into_iter().chain(Fault::OF_WORKER);
                kinds.map(move |fault| (service, number, fault))
            })
        });
        let all = tried.clone().count();
        let tried = tried.step_by(if is_sample { SAMPLE } else { 1 });
        let ended = run(tried.map(|(service, number, fault)| {
            let name = format!("{work:?}, request {number} to {service:?}: {fault:?}");
            (name, Plan::small(work, Faults::one(service, number, fault)))
        }));
        println!("{work:?}: {requests:?}, {} of {all} failures tried", ended.len());
        assert!(!ended.is_empty());
    }
}

/// The other side is gone without a word, and heartbeats go on: nothing but the program itself can end the wait.
#[test]
fn an_answer_of_s3_that_never_comes_holds_no_shard_for_ever() {
    let silent = Fault::Silent {
        applied: false,
        time: Duration::from_hours(1),
    };
    // The planner's first request, the input, and the checkpoint while entries are delivered.
    let plans = [1, 8, 12].map(|number| {
        let faults = Faults::one(Service::Storage, number, silent);
        (format!("request {number}"), Plan::small(Work::Load, faults))
    });
    let ended = run(plans.into_iter());
    assert!(
        ended.iter().all(|(_, fleet)| fleet.time > Duration::from_mins(1)),
        "no request waited"
    );
}

//! Half an hour under mixed faults: the memory does not grow, and at the end no task and no connection is left.
//!
//! The service runs in a process of its own, so that only the client's memory is measured.

mod memory;
mod service;
mod work;

use std::sync::Arc;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::runtime::{Builder, Handle};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use self::memory::{Sample, cpu_seconds};
use self::service::Remote;
pub(crate) use self::service::serve;
use self::work::Work;
use crate::chaos::client::Access;
use crate::chaos::conditions::Conditions;
use crate::chaos::fault::{Outage, millis};

/// The interval at which the memory is measured.
const SAMPLE_EVERY: Duration = Duration::from_secs(10);

/// The memory at this time after the start is compared with that at the end.
const WARM: Duration = Duration::from_mins(2);

/// By which factor the memory may have grown at the end.
const GROWTH: f64 = 1.05;

/// How long tasks and connections may take to end after the client was dropped.
const LEFTOVERS: Duration = Duration::from_secs(20);

/// Runs the soak test for this long. Returns whether it succeeded.
pub(crate) fn run(time: Duration, seed: u64) -> bool {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let mut remote = Remote::start(seed);
    let conditions = Conditions::default();
    let access = Access {
        port: remote.port,
        conditions: conditions.clone(),
        attempt_timeout: None,
        witness: None,
    };
    let work = {
        let _entered = runtime.enter();
        Arc::new(Work::new(&access, &remote))
    };
    let (samples, mut complaints) = runtime.block_on(soak(time, seed, &work, &mut remote, &conditions));
    println!("{}", work.summary());
    complaints.extend(work.complaints());
    // The last clients.
    drop((work, access));
    complaints.extend(runtime.block_on(leftovers(&mut remote)));
    let cpu = [cpu_seconds("self"), cpu_seconds(&remote.id().to_string())];
    println!(
        "CPU: client {:.0} s, service {:.0} s, in {:.0} s",
        cpu[0],
        cpu[1],
        time.as_secs_f64()
    );
    complaints.extend(memory::compare(&samples, WARM, GROWTH));
    for complaint in &complaints {
        println!("WRONG: {complaint}");
    }
    complaints.is_empty()
}

async fn soak(
    time: Duration,
    seed: u64,
    work: &Arc<Work>,
    remote: &mut Remote,
    conditions: &Conditions,
) -> (Vec<Sample>, Vec<String>) {
    let (started, stop) = (Instant::now(), CancellationToken::new());
    let running = tokio::spawn({
        let (work, stop) = (Arc::clone(work), stop.clone());
        async move { work.run(stop).await }
    });
    let sampling = sampler(started, Arc::clone(work));
    let mut random = SmallRng::seed_from_u64(seed);
    // A clock that is ahead is put back the next time.
    let mut is_ahead = false;
    while started.elapsed() < time {
        sleep(millis(&mut random, 1_000..=6_000)).await;
        let mut outage = Outage::ALL[random.random_range(0..Outage::ALL.len())];
        if let Outage::ClockAhead | Outage::ClockBack = outage {
            outage = if is_ahead {
                Outage::ClockBack
            } else {
                Outage::ClockAhead
            };
            is_ahead = !is_ahead;
        }
        let lasting = millis(&mut random, 50..=600);
        // Name resolution and credentials are parts of the client.
        conditions.begin(outage, lasting);
        remote.begin(outage, lasting);
    }
    stop.cancel();
    running.await.expect("no worker panics");
    let samples = sampling.stop().await;
    let complaints = work.compare().await;
    (samples, complaints)
}

/// Takes samples until it is stopped.
struct Sampler {
    stop: CancellationToken,
    samples: JoinHandle<Vec<Sample>>,
}

fn sampler(started: Instant, work: Arc<Work>) -> Sampler {
    let stop = CancellationToken::new();
    let samples = tokio::spawn({
        let stop = stop.clone();
        async move {
            let mut samples = Vec::new();
            loop {
                tokio::select! {
                    () = sleep(SAMPLE_EVERY) => {}
                    () = stop.cancelled() => return samples,
                }
                let tasks = Handle::current().metrics().num_alive_tasks();
                let sample = Sample::now(started.elapsed(), tasks);
                println!("{sample}, {}", work.summary());
                println!("         {}", work.paces());
                samples.push(sample);
            }
        }
    });
    Sampler { stop, samples }
}

impl Sampler {
    async fn stop(self) -> Vec<Sample> {
        self.stop.cancel();
        self.samples.await.expect("it does not panic")
    }
}

/// Checks that no task and no connection is left after the clients were dropped.
async fn leftovers(remote: &mut Remote) -> Option<String> {
    let until = Instant::now() + LEFTOVERS;
    loop {
        let tasks = Handle::current().metrics().num_alive_tasks();
        let open = remote.open();
        if tasks + open == 0 {
            println!("at the end: 0 tasks, 0 connections");
            return None;
        }
        if Instant::now() > until {
            return Some(format!("{tasks} tasks and {open} connections are left"));
        }
        sleep(Duration::from_millis(10)).await;
    }
}

//! The scenarios, each with its targets.
//!
//! The targets are coarse on purpose: 1.02 of the least time on average, 1.15 at most, and 1% rejected, or 3% beyond the loss of a
//! scenario that has one. Other targets are what an older strategy reached.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::scenario::{Keys, Scenario, Stalls, Tenant};

/// Scenarios that are limited by the capacity.
#[expect(clippy::too_many_lines, reason = "a table")]
pub(crate) fn congested() -> Vec<Scenario> {
    let mut scenarios = Vec::new();
    for workers in [1, 8, 64] {
        for burst in [300.0, 1.0, 0.1] {
            scenarios.push(
                Scenario::new(format!("constant W={workers} B={burst}"), 1000.0, 60_000)
                    .within(1.02, 1.15, 1.0)
                    .with(|it| {
                        it.workers = workers;
                        it.burst = burst;
                        it.targets.calls = 1.03;
                    }),
            );
        }
    }
    scenarios.extend([
        Scenario::new("short", 1000.0, 10_000)
            .within(1.02, 1.15, 1.0)
            .with(|it| it.burst = 1.0),
        Scenario::new("full bucket", 1000.0, 360_000)
            .within(1.02, 1.15, 1.0)
            .with(|it| it.starts_full = true),
        Scenario::new("down", 1000.0, 45_000)
            .within(1.02, 1.15, 1.0)
            .with(|it| {
                it.steps.push((30.0, 500.0));
                it.changes = vec![30.0];
                it.targets.adapts = 0.8;
            }),
        Scenario::new("up", 1000.0, 180_000).within(1.02, 1.15, 1.0).with(|it| {
            it.steps.push((20.0, 4000.0));
            it.changes = vec![20.0];
            it.targets.adapts = 2.0;
        }),
        Scenario::new("no throttle", 1000.0, 200_000)
            .within(1.055, 1.15, 0.0)
            .with(|it| {
                it.unlimited = true;
                it.chunk = 10;
                it.trip = 0.020;
            }),
        Scenario::new("tenant", 1000.0, 50_000)
            .within(1.02, 1.15, 1.0)
            .with(|it| {
                it.burst = 1.0;
                it.tenant = Some(Tenant {
                    from: 20.0,
                    until: 40.0,
                    rate: 500.0,
                });
                it.changes = vec![20.0, 40.0];
                it.targets.adapts = 2.0;
            }),
        Scenario::new("3 processes", 3000.0, 60_000)
            .within(1.02, 1.15, 1.0)
            .with(|it| {
                it.processes = 3;
                it.workers = 16;
                it.stagger = 5.0;
                it.targets.jain_median = 0.95;
                it.targets.jain_least = 0.80;
            }),
        Scenario::new("8 processes", 4000.0, 45_000)
            .within(1.02, 1.15, 2.2)
            .with(|it| {
                it.processes = 8;
                it.workers = 8;
                it.stagger = 2.0;
                it.targets.jain_median = 0.90;
            }),
        Scenario::new("fast", 40_000.0, 2_400_000).within(1.02, 1.15, 1.0),
        Scenario::new("slow", 50.0, 3000)
            .within(1.02, 1.15, 2.6)
            .with(|it| it.workers = 8),
        Scenario::new("slow, down, up", 50.0, 3000)
            .within(1.05, 1.15, 2.6)
            .with(|it| {
                it.burst = 1.0;
                it.steps.extend([(20.0, 15.0), (60.0, 60.0)]);
            }),
        Scenario::new("outage", 1000.0, 50_000)
            .within(1.02, 1.15, 1.0)
            .with(|it| {
                it.burst = 1.0;
                it.steps.extend([(20.0, 0.0), (30.0, 1000.0)]);
                it.changes = vec![30.0];
                it.targets.adapts = 1.5;
            }),
        Scenario::new("square wave", 1500.0, 60_000)
            .within(1.02, 1.15, 1.0)
            .with(|it| {
                it.burst = 1.0;
                it.steps = (0..20)
                    .map(|half| (10.0 * f64::from(half), if half % 2 == 0 { 1500.0 } else { 500.0 }))
                    .collect();
            }),
        Scenario::new("noisy", 1000.0, 60_000)
            .within(1.02, 1.15, 1.0)
            .with(|it| it.burst = 1.0),
        Scenario::new("whole-call", 1000.0, 60_000)
            .within(1.02, 1.15, 1.4)
            .with(|it| {
                it.burst = 1.0;
                it.whole_calls = true;
            }),
        Scenario::new("stalls", 1000.0, 60_000)
            .within(1.02, 1.15, 1.0)
            .with(|it| {
                it.burst = 1.0;
                it.stalls = Some(Stalls {
                    every: 3.0,
                    seconds: 0.3,
                });
            }),
        Scenario::new("starved", 1000.0, 40_000)
            .within(1.02, 1.15, 1.0)
            .with(|it| {
                it.burst = 1.0;
                it.input = Some((300.0, 30.0));
            }),
        Scenario::new("blocked keys", 1000.0, 45_000)
            .within(1.02, 1.15, 3.0)
            .with(|it| {
                it.burst = 1.0;
                it.keys = Keys::Blocked {
                    percent: 2,
                    from: 10.0,
                    until: 20.0,
                };
            }),
    ]);
    scenarios
}

/// Scenarios with rejections of single entries that do not depend on the pace. No service is known to do that, and no process can
/// distinguish it from what many processes cause together, so they have no targets.
pub(crate) fn lossy() -> Vec<Scenario> {
    let lossy = |name: &str, share: f64| {
        Scenario::new(name, 1000.0, 45_000).with(|it| {
            it.burst = 1.0;
            it.loss.share = share;
        })
    };
    let any = f64::INFINITY;
    vec![
        lossy("loss 2%", 0.02),
        lossy("loss 5%", 0.05),
        lossy("loss 10%", 0.10),
        lossy("loss 1%", 0.01),
        Scenario::new("hot for ever", 1000.0, 45_000)
            .within(1.0 / 0.9, any, 10.0)
            .with(|it| {
                it.burst = 1.0;
                it.keys = Keys::Hot {
                    percent: 10,
                    rate: 30.0,
                };
                it.targets.attempts = u8::MAX;
            }),
    ]
    .into_iter()
    .map(|scenario| {
        scenario.with(|it| {
            if it.loss.share > 0.0 {
                it.targets.attempts = 12;
            }
        })
    })
    .collect()
}

/// Draws the random parts of a scenario.
pub(crate) fn draw(scenario: &Scenario, seed: u64) -> Scenario {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x5eed);
    let mut drawn = scenario.clone();
    if drawn.name == "noisy" {
        drawn.steps = (0..60)
            .map(|step| (2.0 * f64::from(step), 1000.0 * (0.75 + 0.5 * random.random::<f64>())))
            .collect();
    }
    drawn
}

/// A random scenario.
pub(crate) fn random(seed: u64) -> Scenario {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0xa11);
    let mut logarithmic = |low: f64, high: f64| low * (high / low).powf(random.random::<f64>());
    let capacity = logarithmic(200.0, 50_000.0);
    let burst = logarithmic(0.2, 300.0);
    let trip = logarithmic(0.003, 0.060);
    let count = (random.random::<f64>() * 5.0) as usize;
    let mut at: Vec<f64> = (0..count).map(|_| 60.0 * random.random::<f64>()).collect();
    at.sort_by(f64::total_cmp);
    let mut steps = vec![(0.0, capacity)];
    for from in at {
        let factor = 0.25 * 16.0_f64.powf(random.random::<f64>());
        let last = steps[steps.len() - 1].1;
        steps.push((from, (last * factor).clamp(50.0, 50_000.0)));
    }
    let tenant = (random.random::<f64>() < 0.3).then(|| {
        let from = 40.0 * random.random::<f64>();
        Tenant {
            from,
            until: from + 5.0 + 20.0 * random.random::<f64>(),
            rate: capacity * (0.1 + 0.4 * random.random::<f64>()),
        }
    });
    let highest = steps.iter().map(|step| step.1).fold(0.0, f64::max);
    let mut scenario = Scenario::new(format!("random {seed}"), capacity, 0).with(|it| {
        it.steps = steps;
        it.burst = burst;
        it.trip = trip;
        it.tenant = tenant;
    });
    scenario.workers = ((1.3 * highest * scenario.mean_trip() / 25.0).ceil() as usize).max(1);
    let work: f64 = (0..6000)
        .map(|step| scenario.available(f64::from(step) * 0.01) * 0.01)
        .sum();
    scenario.entries = (work as usize).max(1000);
    scenario
}

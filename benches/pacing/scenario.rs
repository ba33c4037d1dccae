//! Scenarios and their targets.

/// Another client of the same table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tenant {
    pub(crate) from: f64,
    pub(crate) until: f64,
    /// Entries a second.
    pub(crate) rate: f64,
}

/// Rejections that do not depend on the pace.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Loss {
    pub(crate) share: f64,
    pub(crate) from: f64,
    pub(crate) until: f64,
}

/// Keys that differ from the others.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Keys {
    Alike,
    Blocked { percent: u32, from: f64, until: f64 },
    Hot { percent: u32, rate: f64 },
}

/// The client stalls now and then.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stalls {
    pub(crate) every: f64,
    pub(crate) seconds: f64,
}

impl Stalls {
    /// When the stall ends in which the moment lies, or the moment.
    pub(crate) fn end_of_stall(&self, now: f64) -> f64 {
        let begun = (now / self.every).floor() * self.every;
        if begun > 0.0 && now < begun + self.seconds {
            begun + self.seconds
        } else {
            now
        }
    }
}

/// The targets of a scenario; infinite if there is none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Targets {
    pub(crate) mean: f64,
    pub(crate) worst: f64,
    /// Rejected entries in percent of those sent, in addition to the loss of the scenario.
    pub(crate) rejected: f64,
    pub(crate) calls: f64,
    pub(crate) adapts: f64,
    pub(crate) jain_median: f64,
    pub(crate) jain_least: f64,
    pub(crate) attempts: u8,
}

pub(crate) const NOTHING: Targets = Targets {
    mean: f64::INFINITY,
    worst: f64::INFINITY,
    rejected: f64::INFINITY,
    calls: f64::INFINITY,
    adapts: f64::INFINITY,
    jain_median: 0.0,
    jain_least: 0.0,
    attempts: 12,
};

/// One kind of run.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    pub(crate) name: String,
    /// Times, and the capacity from then on, in entries per second.
    pub(crate) steps: Vec<(f64, f64)>,
    pub(crate) unlimited: bool,
    /// Seconds of capacity that the bucket holds.
    pub(crate) burst: f64,
    pub(crate) starts_full: bool,
    pub(crate) chunk: usize,
    /// Median round trip in seconds.
    pub(crate) trip: f64,
    pub(crate) workers: usize,
    pub(crate) processes: usize,
    /// Seconds between the starts of two processes.
    pub(crate) stagger: f64,
    /// Entries of each process.
    pub(crate) entries: usize,
    pub(crate) tenant: Option<Tenant>,
    pub(crate) loss: Loss,
    pub(crate) keys: Keys,
    pub(crate) whole_calls: bool,
    pub(crate) stalls: Option<Stalls>,
    /// Entries that arrive per second, and until when; then all others arrive.
    pub(crate) input: Option<(f64, f64)>,
    /// When something changed that the pacer has to adapt to.
    pub(crate) changes: Vec<f64>,
    pub(crate) targets: Targets,
}

impl Scenario {
    pub(crate) fn new(name: impl Into<String>, capacity: f64, entries: usize) -> Self {
        Self {
            name: name.into(),
            steps: vec![(0.0, capacity)],
            unlimited: false,
            burst: 300.0,
            starts_full: false,
            chunk: 25,
            trip: 0.008,
            workers: 64,
            processes: 1,
            stagger: 0.0,
            entries,
            tenant: None,
            loss: Loss {
                share: 0.0,
                from: 0.0,
                until: f64::INFINITY,
            },
            keys: Keys::Alike,
            whole_calls: false,
            stalls: None,
            input: None,
            changes: Vec::new(),
            targets: NOTHING,
        }
    }

    /// The targets of a scenario: mean and worst of the time, and rejected percent.
    pub(crate) fn within(mut self, mean: f64, worst: f64, rejected: f64) -> Self {
        self.targets = Targets {
            mean,
            worst,
            rejected,
            ..self.targets
        };
        self
    }

    pub(crate) fn with(mut self, set: impl FnOnce(&mut Self)) -> Self {
        set(&mut self);
        self
    }

    /// The capacity at a moment, in entries per second, without the tenant's part.
    pub(crate) fn available(&self, now: f64) -> f64 {
        let step = self.steps.iter().rev().find(|(from, _)| *from <= now);
        let capacity = step.map_or(0.0, |(_, capacity)| *capacity);
        match self.tenant {
            Some(tenant) if (tenant.from..tenant.until).contains(&now) => (capacity - tenant.rate).max(0.0),
            _ => capacity,
        }
    }

    /// The mean round trip in seconds.
    pub(crate) fn mean_trip(&self) -> f64 {
        self.trip * 0.08_f64.exp() * (1.0 + 0.005 * 7.0)
    }

    /// The least possible time: that of a fluid that flows as fast as the service and the window allow.
    pub(crate) fn least_time(&self) -> f64 {
        const STEP: f64 = 0.001;
        let mut remaining = (self.entries * self.processes) as f64;
        if let Keys::Hot { percent, .. } = self.keys {
            // The hot keys take longer than all others; only the others count.
            remaining *= 1.0 - f64::from(percent) / 100.0;
        }
        let total = remaining;
        let window = (self.workers * self.chunk) as f64 / self.mean_trip();
        let mut level = if self.starts_full {
            (self.burst * self.steps[0].1).max(25.0)
        } else {
            0.0
        };
        let mut now = 0.0;
        while remaining > 1e-9 {
            let capacity = self.available(now);
            let depth = (self.burst * capacity).max(25.0);
            if capacity > 0.0 {
                level = (level + capacity * STEP).min(depth);
            }
            let running = (0..self.processes)
                .filter(|index| *index as f64 * self.stagger <= now)
                .count() as f64;
            let through = if (self.loss.from..self.loss.until).contains(&now) {
                1.0 - self.loss.share
            } else {
                1.0
            };
            let mut most = window * running * through * STEP;
            if let Some((rate, until)) = self.input
                && now < until
            {
                most = most.min((rate * (now + STEP) - (total - remaining)).max(0.0));
            }
            let flow = if self.unlimited { most } else { most.min(level) }.min(remaining);
            level -= flow;
            remaining -= flow;
            now += STEP;
        }
        now
    }

    pub(crate) fn least_calls(&self) -> u64 {
        (self.entries.div_ceil(self.chunk) * self.processes) as u64
    }
}

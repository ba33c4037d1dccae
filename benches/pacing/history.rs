//! The accepted and rejected entries of the service, over time.

use super::scenario::Scenario;

/// The length of a bin, in seconds.
pub(crate) const BIN: f64 = 0.05;

/// The time over which an adaptation is judged, in seconds.
const JUDGED: f64 = 0.5;

/// The counts of one bin.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Bin {
    pub(crate) accepted: u32,
    pub(crate) rejected: u32,
}

/// The bins of each process.
#[derive(Debug)]
pub(crate) struct History {
    processes: Vec<Vec<Bin>>,
}

impl History {
    pub(crate) fn new(processes: usize) -> Self {
        Self {
            processes: vec![Vec::new(); processes],
        }
    }

    pub(crate) fn note(&mut self, process: usize, now: f64, accepted: usize, rejected: usize) {
        let index = (now / BIN) as usize;
        let bins = &mut self.processes[process];
        if bins.len() <= index {
            bins.resize(index + 1, Bin::default());
        }
        bins[index].accepted += accepted as u32;
        bins[index].rejected += rejected as u32;
    }

    /// The bins of all processes together.
    pub(crate) fn bins(&self) -> impl Iterator<Item = Bin> {
        let longest = self.processes.iter().map(Vec::len).max().unwrap_or(0);
        (0..longest).map(|index| {
            self.processes.iter().fold(Bin::default(), |sum, bins| {
                let bin = bins.get(index).copied().unwrap_or_default();
                Bin {
                    accepted: sum.accepted + bin.accepted,
                    rejected: sum.rejected + bin.rejected,
                }
            })
        })
    }

    /// Seconds until the available capacity is used for half a second with few rejections.
    pub(crate) fn adaptation(&self, scenario: &Scenario, change: f64) -> f64 {
        let length = (JUDGED / BIN).round() as usize;
        let first = (change / BIN).round() as usize;
        let bins: Vec<Bin> = self.bins().collect();
        // A tenant takes a random part of the capacity.
        let part = if scenario.tenant.is_some() { 0.7 } else { 0.85 };
        for start in first..bins.len().saturating_sub(length) {
            let (mut accepted, mut rejected, mut available) = (0.0, 0.0, 0.0);
            for (index, bin) in bins.iter().enumerate().skip(start).take(length) {
                accepted += f64::from(bin.accepted);
                rejected += f64::from(bin.rejected);
                available += scenario.available((index as f64 + 0.5) * BIN) * BIN;
            }
            if accepted >= part * available && rejected <= 0.1 * (accepted + rejected) {
                return start as f64 * BIN - change;
            }
        }
        f64::INFINITY
    }

    /// Jain's index of the processes' shares while all of them were active.
    pub(crate) fn jain(&self, scenario: &Scenario, ends: &[f64]) -> f64 {
        let last_start = (scenario.processes - 1) as f64 * scenario.stagger;
        let first_end = ends.iter().copied().fold(f64::INFINITY, f64::min);
        let from = ((last_start + 5.0) / BIN) as usize;
        let until = (first_end.min(55.0_f64.max(last_start + 40.0)) / BIN) as usize;
        let got = self.processes.iter().map(|bins| {
            let bins = bins.iter().take(until).skip(from);
            bins.map(|bin| f64::from(bin.accepted)).sum::<f64>()
        });
        let got: Vec<f64> = got.collect();
        let sum: f64 = got.iter().sum();
        let squares: f64 = got.iter().map(|got| got * got).sum();
        sum * sum / (got.len() as f64 * squares.max(1.0))
    }
}

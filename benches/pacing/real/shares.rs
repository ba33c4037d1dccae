//! What each of several processes got of the capacity.

/// The length of a bin in seconds.
const BIN: f64 = 0.25;

/// Entries accepted of each process, in bins of time.
#[derive(Debug)]
pub(crate) struct Shares {
    processes: Vec<Vec<f64>>,
}

impl Shares {
    pub(crate) fn new(processes: usize) -> Self {
        Self {
            processes: vec![Vec::new(); processes],
        }
    }

    pub(crate) fn add(&mut self, process: usize, now: f64, accepted: usize) {
        let bins = &mut self.processes[process];
        let bin = (now / BIN) as usize;
        if bins.len() <= bin {
            bins.resize(bin + 1, 0.0);
        }
        bins[bin] += accepted as f64;
    }

    /// Jain's index from one moment to another, of the processes that had something to send all the time.
    pub(crate) fn jain(&self, from: f64, until: f64) -> f64 {
        let [from, until] = [from, until].map(|moment| (moment / BIN) as usize);
        let is_busy = |bins: &&Vec<f64>| bins.len() >= until && bins.iter().take(from).any(|accepted| *accepted > 0.0);
        let got: Vec<f64> = (self.processes.iter().filter(is_busy))
            .map(|bins| bins.iter().take(until).skip(from).sum())
            .collect();
        let sum: f64 = got.iter().sum();
        let squares: f64 = got.iter().map(|got| got * got).sum();
        sum * sum / (got.len() as f64 * squares).max(1.0)
    }
}

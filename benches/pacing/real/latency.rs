//! How long entries wait.

/// When an entry arrived, left for the first time and was accepted, in seconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Times {
    pub(crate) read: f64,
    pub(crate) sent: Option<f64>,
    pub(crate) accepted: Option<f64>,
    pub(crate) attempts: u32,
}

/// Waits in milliseconds: the median, the 99th percentile, and the mean.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Waits {
    pub(crate) median: f64,
    pub(crate) p99: f64,
    pub(crate) mean: f64,
}

impl Waits {
    /// From waits in seconds. Without any, all are zero.
    pub(crate) fn of(seconds: impl Iterator<Item = f64>) -> Self {
        let mut all: Vec<f64> = seconds.map(|seconds| 1000.0 * seconds).collect();
        if all.is_empty() {
            return Self::default();
        }
        all.sort_unstable_by(f64::total_cmp);
        let part = |part: f64| all[((all.len() - 1) as f64 * part).round() as usize];
        Self {
            median: part(0.5),
            p99: part(0.99),
            mean: all.iter().sum::<f64>() / all.len() as f64,
        }
    }
}

//! The metrics of the runtime.

pub struct Handle;

pub struct Metrics;

impl Handle {
    pub fn current() -> Self {
        Self
    }

    pub fn metrics(&self) -> Metrics {
        Metrics
    }
}

impl Metrics {
    pub fn num_workers(&self) -> usize {
        crate::model::workers()
    }
}

//! The strategies that are compared.

use std::sync::Arc;
use std::time::Duration;

use aws_batch_delivery::backoff::{Adaptive, BackoffStrategy, Exponential, Polynomial, Responsive, Schedule};

use super::peers::{Aimd, FlinkAimd, SdkAdaptive, VectorConcurrency};
use super::scenario::Scenario;

/// Makes a strategy for a scenario, from a seed.
pub(crate) type Make = Arc<dyn Fn(&Scenario, u64) -> Arc<dyn BackoffStrategy> + Send + Sync>;

/// A strategy, and its name in the table.
pub(crate) type Named = (String, Make);

fn named<S: BackoffStrategy>(name: &str, make: impl Fn(u64) -> S + Send + Sync + 'static) -> Named {
    (name.to_owned(), Arc::new(move |_, seed| Arc::new(make(seed))))
}

/// The default.
pub(crate) fn adaptive() -> Named {
    named("Adaptive", |seed| Adaptive::default().seed(seed))
}

/// The other strategies of the crate.
pub(crate) fn others() -> Vec<Named> {
    vec![
        named("Linear", |_| Polynomial::default()),
        named("Quadratic", |_| Polynomial::quadratic(Duration::from_millis(100))),
        named("Exponential", |_| Exponential::default()),
        named("FullJitter", |seed| Exponential::full_jitter().seed(seed)),
        named("EqualJitter", |seed| Exponential::equal_jitter().seed(seed)),
        named("Decorrelated", |seed| Exponential::decorrelated_jitter().seed(seed)),
        named("Schedule", |seed| Schedule::default().seed(seed)),
        named("Responsive", |seed| Responsive::default().seed(seed)),
    ]
}

/// The strategies that the default one is compared with on real tables.
pub(crate) fn on_real_tables() -> Vec<Named> {
    vec![
        named("FullJitter", |seed| Exponential::full_jitter().seed(seed)),
        named("AIMD", |_| Aimd::default()),
        named("Responsive", |seed| Responsive::default().seed(seed)),
    ]
}

/// The strategies of other libraries.
pub(crate) fn peers() -> Vec<Named> {
    let flink: Make = Arc::new(|scenario, _| Arc::new(FlinkAimd::new(scenario.chunk, scenario.workers)));
    vec![
        named("SDK adaptive", SdkAdaptive::new),
        ("Flink AIMD".to_owned(), flink),
        named("Vector", VectorConcurrency::new),
    ]
}

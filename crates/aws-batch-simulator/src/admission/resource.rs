//! A table or an index: its pool, its partitions and its other clients.

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::time::Instant;

use super::demand::Place;
use super::growth::Growth;
use super::partition::PARTITION_LIMIT;
use super::partitions::Partitions;
use super::pool::Pool;
use super::tenant::{CALL, TenantCalls};
use super::throttle::ThroughputLimit;
use super::throughput::Throughput;

#[derive(Debug, Clone)]
pub(super) struct Resource {
    pub(super) pool: Pool,
    pub(super) partitions: Option<Partitions>,
    tenants: Vec<TenantCalls>,
    random: SmallRng,
}

impl Resource {
    pub(super) fn new(throughput: &Throughput, now: Instant, seed: u64) -> Self {
        let mut random = SmallRng::seed_from_u64(seed);
        let tenants = throughput.tenants.iter();
        Self {
            pool: Pool::new(throughput, now),
            partitions: throughput
                .partitions
                .map(|count| Partitions::new(count, throughput.splits_after, now)),
            tenants: tenants
                .map(|tenant| TenantCalls::new(*tenant, now, &mut random))
                .collect(),
            random,
        }
    }

    /// Applies everything that is scheduled up to `now`, in the order of time.
    pub(super) fn advance(&mut self, now: Instant) {
        loop {
            let tenant = (0..self.tenants.len()).min_by_key(|index| {
                let next = self.tenants[*index].next;
                (next.is_none(), next)
            });
            let call = tenant.and_then(|index| Some((self.tenants[index].next?, index)));
            let event = self.pool.next_event();
            match (call, event) {
                (Some((at, index)), _) if at <= now && event.is_none_or(|event| at <= event) => {
                    self.serve_tenant(at);
                    self.tenants[index].step(&mut self.random);
                }
                (_, Some(at)) if at <= now => {
                    self.pool.handle(at);
                    let needs = self.pool.needs();
                    if let Some(partitions) = &mut self.partitions {
                        partitions.grow_to(needs);
                    }
                }
                _ => break,
            }
        }
        self.pool.fill(now);
    }

    /// The description of its capacity. The warm throughput is that of the partitions, and at least the provisioned one.
    pub(super) fn provision(&self) -> Provision {
        let growth = self.pool.growth();
        let rate = self.pool.capacity().rate();
        let provisioned = (growth.is_none() && rate.is_finite()).then_some(rate);
        #[expect(clippy::cast_precision_loss, reason = "a number of partitions")]
        let of_partitions = self
            .partitions
            .as_ref()
            .map(|partitions| partitions.len() as f64 * PARTITION_LIMIT);
        Provision {
            is_on_demand: growth.is_some(),
            provisioned,
            most_on_demand: growth.and_then(Growth::most),
            warm: match growth {
                Some(growth) => Some(growth.warm()),
                None => of_partitions.into_iter().chain(provisioned).reduce(f64::max),
            },
        }
    }

    fn serve_tenant(&mut self, now: Instant) {
        self.pool.fill(now);
        for _ in 0..CALL {
            let place = Place::new(self.random.random(), self.random.random());
            if self.refusal(place, 1.0, now).is_none() {
                self.take(place, 1.0);
            }
        }
    }

    /// The limit that does not allow this many units at this place. Call it after [`advance`](Self::advance).
    pub(super) fn refusal(&mut self, place: Place, units: f64, now: Instant) -> Option<ThroughputLimit> {
        if let Some(partitions) = &mut self.partitions {
            let index = partitions.index_of(place);
            if !partitions.fits(index, place, units, now, &mut self.random) {
                return Some(ThroughputLimit::KeyRange);
            }
        }
        (!self.pool.fits(units)).then(|| self.pool.limit())
    }

    pub(super) fn take(&mut self, place: Place, units: f64) {
        self.pool.take(units);
        if let Some(partitions) = &mut self.partitions {
            let index = partitions.index_of(place);
            partitions.take(index, units);
        }
    }
}

/// The capacity in the answer of `DescribeTable`, in write units per second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Provision {
    /// Whether it grows on demand. An unlimited table does not.
    pub(crate) is_on_demand: bool,
    /// `None`: on demand, or unlimited.
    pub(crate) provisioned: Option<f64>,
    /// The maximum that was set for on demand.
    pub(crate) most_on_demand: Option<f64>,
    /// The warm throughput. `None`: unlimited.
    pub(crate) warm: Option<f64>,
}

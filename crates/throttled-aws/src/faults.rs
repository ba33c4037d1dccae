//! Which call has which fault, by script or at random, and how long calls take.

use std::f64::consts::TAU;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::config::{Config, LatencyConfig};
use crate::origin::Origin;
use crate::rule::{Fault, Rule};

/// Decides on the fault and the latency of each call.
pub(crate) struct Faults {
    rules: Vec<Rule>,
    /// How many faults of the script of each rule are used up.
    used: Vec<usize>,
    latency: LatencyConfig,
    random: SmallRng,
}

impl Faults {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            rules: config.faults.clone(),
            used: vec![0; config.faults.len()],
            latency: config.latency,
            random: SmallRng::seed_from_u64(config.seed),
        }
    }

    /// Replaces all rules. Scripts begin again.
    pub(crate) fn replace(&mut self, rules: Vec<Rule>) {
        self.used = vec![0; rules.len()];
        self.rules = rules;
    }

    pub(crate) fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The fault of the next call: that of the first script that is not used up, or else of the first rule that chance chooses.
    pub(crate) fn next(&mut self, origin: &Origin, destinations: &[&str]) -> Fault {
        for (rule, used) in self.rules.iter().zip(&mut self.used) {
            if *used < rule.next.len() && rule.is_about(origin, destinations) {
                *used += 1;
                return rule.next[*used - 1].clone();
            }
        }
        for rule in &self.rules {
            let Some(fault) = &rule.fault else { continue };
            if rule.is_about(origin, destinations) && self.random.random::<f64>() < rule.share.unwrap_or(1.0) {
                return fault.clone();
            }
        }
        Fault::None
    }

    /// The latency of the next call.
    pub(crate) fn latency(&mut self) -> Duration {
        let LatencyConfig {
            median: Some(median),
            sigma,
            slow_share,
            slow_factor,
        } = self.latency
        else {
            return Duration::ZERO;
        };
        // Two uniform numbers make a normal one (Box and Muller); the first must not be 0.
        let radius = (-2.0 * (1.0 - self.random.random::<f64>()).ln()).sqrt();
        let mut factor = (sigma * radius * (TAU * self.random.random::<f64>()).cos()).exp();
        if self.random.random::<f64>() < slow_share {
            factor *= slow_factor.unwrap_or(1.0);
        }
        // A configuration that was not read from a file may exceed the longest time.
        Duration::try_from_secs_f64(median.as_secs_f64() * factor).unwrap_or(Duration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::ErrorAnswer;

    fn origin(service: &str, operation: &str) -> Origin {
        Origin {
            service: service.to_owned(),
            operation: operation.to_owned(),
        }
    }

    fn faults(file: &str) -> Faults {
        Faults::new(&Config::parse(file).unwrap())
    }

    #[test]
    fn a_script_is_for_the_calls_of_its_destination_and_is_used_up() {
        let mut faults = faults(
            "[[faults]]\ndestination = \"orders\"\nnext = [{ unprocessed = 25 }, \"lost\", { error = { status = 503 } }]\n",
        );
        let write = origin("dynamodb", "BatchWriteItem");
        assert_eq!(faults.next(&write, &["other"]), Fault::None);
        assert_eq!(faults.next(&write, &["other", "orders"]), Fault::Unprocessed(25));
        assert_eq!(faults.next(&write, &["orders"]), Fault::Lost);
        let error = faults.next(&write, &["orders"]);
        assert!(
            matches!(
                error,
                Fault::Error(ErrorAnswer {
                    status: 503,
                    applied: false,
                    ..
                })
            ),
            "{error:?}"
        );
        assert_eq!(faults.next(&write, &["orders"]), Fault::None);
    }

    #[test]
    fn a_share_of_the_calls_has_a_fault_and_the_same_seed_the_same_ones() {
        let file = "seed = 7\n[[faults]]\nservice = \"sqs\"\nshare = 0.05\nfault = \"throttle\"\n";
        let drawn = || {
            let mut faults = faults(file);
            let send = origin("sqs", "SendMessageBatch");
            (0..10_000)
                .map(move |_| faults.next(&send, &["orders"]) == Fault::Throttle)
                .collect::<Vec<_>>()
        };
        let throttled = drawn().into_iter().filter(|is_throttled| *is_throttled).count();
        assert!((400..600).contains(&throttled), "{throttled}");
        assert_eq!(drawn(), drawn());
    }

    #[test]
    fn the_words_are_the_same_in_json() {
        let json =
            r#"{"destination": "orders", "next": ["none", {"slow": "2s"}, {"failed": {"entries": 3}}, "throttle"]}"#;
        let rule: Rule = serde_json::from_str(json).unwrap();
        assert_eq!(rule.next[1], Fault::Slow(Duration::from_secs(2)));
        let again: Rule = serde_json::from_str(&serde_json::to_string(&rule).unwrap()).unwrap();
        assert_eq!(again, rule);
    }

    #[test]
    fn half_of_the_latencies_are_below_the_median() {
        let mut faults = faults("[latency]\nmedian = \"8ms\"\nsigma = 0.4\n");
        let below = (0..10_000)
            .filter(|_| faults.latency() < Duration::from_millis(8))
            .count();
        assert!((4_800..5_200).contains(&below), "{below}");
    }
}

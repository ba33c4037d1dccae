//! Faults: which calls they are for, by script or at random, and how long calls take.

use std::f64::consts::TAU;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};

use crate::config::{Config, LatencyConfig};
use crate::origin::Origin;

/// What happens to a call, or to some of its entries.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// Nothing, which a script needs between two faults.
    None,
    /// The whole call is throttled, with the error of the service. Nothing is applied.
    Throttle,
    /// The connection is closed without an answer, and nothing was applied.
    Dropped,
    /// The call is applied, and the connection is closed without an answer.
    Lost,
    /// There is no answer, and the connection stays open. Nothing is applied.
    Hung,
    /// The call is applied, and its answer is cut off: it is no JSON.
    Garbage,
    /// So many entries of the call are not applied: `UnprocessedItems`, or `Failed` with the code of a throttle.
    Unprocessed(usize),
    /// So many entries of the call fail with this code.
    Failed(FailedEntries),
    /// The call fails with this status and code.
    Error(ErrorAnswer),
    /// The call takes this much longer.
    Slow(#[serde(with = "time")] Duration),
}

/// Entries that fail.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FailedEntries {
    /// How many: those that come first in the call.
    pub entries: usize,
    /// The code. Default: `InternalError` of a queue, `InternalFailure` of a stream. Tables have none.
    #[serde(default)]
    pub code: Option<String>,
    /// Of queues: whether it is the sender's fault. Default: no.
    #[serde(default)]
    pub sender_fault: bool,
}

/// The error of a call.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorAnswer {
    /// The status. Default: 500.
    #[serde(default = "internal")]
    pub status: u16,
    /// The code. Default: that of the service for an internal error.
    #[serde(default)]
    pub code: Option<String>,
    /// Whether the call is applied all the same. Default: no.
    #[serde(default)]
    pub applied: bool,
}

fn internal() -> u16 {
    500
}

/// A time as text.
mod time {
    use std::time::Duration;

    use serde::{Deserializer, Serializer, de::Error};

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        crate::config::duration(deserializer)?.ok_or_else(|| D::Error::custom("there is no time"))
    }

    pub(super) fn serialize<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&humantime::format_duration(*time))
    }
}

/// Faults for the calls that it is about: those of all services, operations and destinations that it does not name.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rule {
    /// `dynamodb`, `sqs`, `kinesis`, or the name of another service as in a signature: `s3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// Such as `BatchWriteItem`; of S3 the method.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// The name of a table, a queue or a stream. Calls that take no capacity have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// The faults of the next calls, in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<Fault>,
    /// The fault of a share of the calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// The share of the calls, from 0 to 1. Default: all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
}

impl Rule {
    /// What is wrong with it.
    pub(crate) fn check(&self) -> Result<(), String> {
        let share = self.share.unwrap_or(1.0);
        if self.next.is_empty() == self.fault.is_none() {
            return Err("a rule of `faults` has either a `fault` with its `share` of the calls, or the faults of the `next` calls".into());
        }
        if !(0.0..=1.0).contains(&share) {
            return Err(format!("a `share` of `faults` is from 0 to 1, not {share}"));
        }
        let faults = self.next.iter().chain(&self.fault);
        for fault in faults {
            if let Fault::Error(error) = fault
                && !(400..600).contains(&error.status)
            {
                return Err(format!(
                    "the `status` of an error is from 400 to 599, not {}",
                    error.status
                ));
            }
        }
        Ok(())
    }

    fn is_about(&self, origin: &Origin, destinations: &[&str]) -> bool {
        let is = |wanted: &Option<String>, found: &str| {
            wanted
                .as_deref()
                .is_none_or(|wanted| wanted.eq_ignore_ascii_case(found))
        };
        is(&self.service, &origin.service)
            && is(&self.operation, &origin.operation)
            && (self.destination.as_deref()).is_none_or(|wanted| destinations.contains(&wanted))
    }
}

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

    /// Replaces all rules. Scripts begin anew.
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
        Duration::try_from_secs_f64(median.as_secs_f64() * factor).unwrap_or(Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

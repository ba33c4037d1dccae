//! The options of the pace.

use std::time::Duration;

use clap::Args;

use super::values::positive;
use crate::sink::{PaceOptions, Strategy};

#[derive(Debug, Args)]
#[command(next_help_heading = "Pace")]
pub(crate) struct PaceArguments {
    /// Maximum write units, messages, events, or KiB of records per second
    #[arg(long, value_name = "RATE", value_parser = at_least_one)]
    pub(crate) max_rate: Option<f64>,
    /// Share of the capacity to use, such as 0.5
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) share: Option<f64>,
    /// Maximum number of calls in flight
    #[arg(long, value_name = "CALLS", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) concurrency: u32,
    /// adaptive, responsive, full-jitter, equal-jitter, decorrelated-jitter, linear, quadratic or exponential
    #[arg(long, value_enum, default_value_t = Strategy::Adaptive, hide_possible_values = true)]
    pub(crate) strategy: Strategy,
    /// Maximum retries of an entry [default: no limit]
    #[arg(long, value_name = "TIMES")]
    pub(crate) retries: Option<u32>,
    /// Stop after this time, such as 90s, 15m or 2h
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) deadline: Option<Duration>,
}

impl From<&PaceArguments> for PaceOptions {
    fn from(pacing: &PaceArguments) -> Self {
        Self {
            max_rate: pacing.max_rate,
            share: pacing.share,
            concurrency: pacing.concurrency,
            strategy: pacing.strategy,
            retries: pacing.retries,
            deadline: pacing.deadline,
        }
    }
}

pub(super) fn at_least_one(text: &str) -> Result<f64, String> {
    positive(text).and_then(|rate| match rate {
        1.0.. => Ok(rate),
        _ => Err("a rate must be at least 1".to_owned()),
    })
}

fn share(text: &str) -> Result<f64, String> {
    positive(text).and_then(|share| match share {
        0.0..=1.0 => Ok(share),
        _ => Err("a share must be above 0 and at most 1".to_owned()),
    })
}

//! The options of a delivery.

use std::time::Duration;

use aws_batch_delivery::DeliveryOptions;
use aws_batch_delivery::backoff::{
    Adaptive, DecorrelatedJitter, EqualJitter, Exponential, FullJitter, Linear, Quadratic, Responsive,
};
use clap::{Args, ValueEnum};
use tokio::time::Instant;

use crate::outcome::Failure;

/// How long calls in flight may take after an interruption: less than the 30 s of an attempt, but enough for most calls.
pub(crate) const GRACE: Duration = Duration::from_secs(20);

#[derive(Debug, Args)]
#[command(next_help_heading = "Pace")]
pub(crate) struct Delivering {
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Strategy {
    Adaptive,
    Responsive,
    FullJitter,
    EqualJitter,
    DecorrelatedJitter,
    Linear,
    Quadratic,
    Exponential,
}

impl Delivering {
    /// The options of a delivery.
    pub(crate) fn options(&self) -> Result<DeliveryOptions, Failure> {
        let is_shaped = self.max_rate.is_some() || self.share.is_some();
        if is_shaped && self.strategy != Strategy::Adaptive {
            let words = "--max-rate and --share work only with the adaptive strategy: leave out --strategy";
            return Err(Failure::WrongUse(words.to_owned()));
        }
        let options = DeliveryOptions::default();
        let mut options = match self.strategy {
            Strategy::Adaptive => options.backoff(self.adaptive()),
            Strategy::Responsive => options.backoff(Responsive::default()),
            Strategy::FullJitter => options.backoff(FullJitter::default()),
            Strategy::EqualJitter => options.backoff(EqualJitter::default()),
            Strategy::DecorrelatedJitter => options.backoff(DecorrelatedJitter::default()),
            Strategy::Linear => options.backoff(Linear::default()),
            Strategy::Quadratic => options.backoff(Quadratic::default()),
            Strategy::Exponential => options.backoff(Exponential::default()),
        };
        if let Some(retries) = self.retries {
            options = options.retries(retries);
        }
        if let Some(deadline) = self.deadline {
            let at = Instant::now().checked_add(deadline).ok_or_else(|| {
                let words = "--deadline is too far away: give a shorter time, or leave it out";
                Failure::WrongUse(words.to_owned())
            })?;
            options = options.deadline(at);
        }
        let calls = usize::try_from(self.concurrency).unwrap_or(1);
        Ok(options.concurrency(calls).grace(GRACE))
    }

    fn adaptive(&self) -> Adaptive {
        let mut adaptive = Adaptive::default();
        if let Some(rate) = self.max_rate {
            adaptive = adaptive.max_rate(rate);
        }
        if let Some(share) = self.share {
            adaptive = adaptive.share(share);
        }
        adaptive
    }
}

pub(super) fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("give a number above 0".to_owned()),
    }
}

fn at_least_one(text: &str) -> Result<f64, String> {
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

//! The options that commands share.

use std::time::Duration;

use clap::Args;
use clap::builder::{NonEmptyStringValueParser, Resettable};
use encoding_rs::Encoding;

use super::pace::PaceArguments;
use super::values::{encoding, positive, time};
use crate::connection::{Connection, LookupTime, url};
use crate::console::Console;
use crate::keeping::{Claim, Location, Places};
use crate::source::Order;
use crate::worker::ShardArgument;

const DEAD_LETTER: &str = "Write undelivered entries and their causes to this file, or to s3://bucket/prefix/";

const RESUME: &str = "Continue with a journal: file or s3://bucket/key";

/// The options that the delivering commands share.
// Without it, they would be below the heading of the options before them.
#[derive(Debug, Args)]
#[command(next_help_heading = Resettable::Reset)]
pub(crate) struct CommonArguments {
    #[arg(help = "Files, 'part-*.gz', exports, s3://bucket/key, s3://bucket/dir/, -")]
    #[arg(value_name = "INPUT")]
    pub(crate) inputs: Vec<String>,
    /// Read file by file, or one record of each alternately [default: file; turns for deletes and full exports]
    #[arg(long, value_enum, hide_possible_values = true)]
    pub(crate) order: Option<Order>,
    /// Read shard I of N, from 0; /N and env take the rest from the environment of array jobs
    #[arg(long, value_name = "I/N")]
    pub(crate) shard: Option<ShardArgument>,
    /// Encoding of the inputs, such as utf-16le or latin1 [default: utf-8, or that of a byte order mark]
    #[arg(long, value_name = "NAME", value_parser = encoding)]
    pub(crate) encoding: Option<&'static Encoding>,
    /// Skip up to this many bad lines
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) keep_going: u64,
    /// Check and measure every line, and send nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) recovery: RecoveryArguments,
    #[command(flatten)]
    pub(crate) pace: PaceArguments,
    #[command(flatten)]
    pub(crate) service: Service,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Recovery")]
pub(crate) struct RecoveryArguments {
    #[arg(long, value_name = "FILE", help = DEAD_LETTER)]
    pub(crate) dead_letter: Option<Location>,
    #[arg(long, value_name = "STATE", help = RESUME)]
    pub(crate) resume: Option<Location>,
    /// Use the journal although place or content differ
    #[arg(long, requires = "resume")]
    pub(crate) trust_journal: bool,
}

impl RecoveryArguments {
    /// How a journal of another load is treated.
    pub(crate) fn claim(&self) -> Claim {
        if self.trust_journal {
            Claim::Trusted
        } else {
            Claim::Named
        }
    }
}

impl From<&RecoveryArguments> for Places {
    fn from(recovery: &RecoveryArguments) -> Self {
        Self {
            dead_letter: recovery.dead_letter.clone(),
            resume: recovery.resume.clone(),
            failed: None,
        }
    }
}

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Service")]
pub(crate) struct Service {
    /// The profile of the shared AWS configuration
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) profile: Option<String>,
    /// The AWS region
    #[arg(long, value_name = "REGION")]
    pub(crate) region: Option<String>,
    /// The region of buckets [default: asked of S3]
    #[arg(long, value_name = "REGION")]
    pub(crate) s3_region: Option<String>,
    /// Pay for requests to Requester Pays buckets
    #[arg(long)]
    pub(crate) request_payer: bool,
    /// Another endpoint, such as that of an emulator
    #[arg(long, value_name = "URL", value_parser = url)]
    pub(crate) endpoint_url: Option<String>,
    /// Simulate a service of this capacity a second
    #[arg(long, value_name = "RATE", value_parser = positive)]
    pub(crate) simulate: Option<f64>,
}

impl From<&Service> for Connection {
    fn from(service: &Service) -> Self {
        Self {
            profile: service.profile.clone(),
            region: service.region.clone(),
            s3_region: service.s3_region.clone(),
            request_payer: service.request_payer,
            endpoint_url: service.endpoint_url.clone(),
            lookup_time: LookupTime::default(),
        }
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Output {
    /// Write progress and report as JSON to the standard output
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) json: bool,
    /// Print only problems
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Interval of progress lines [default: 10s, with --json 1s]
    #[arg(long, value_name = "TIME", value_parser = interval)]
    pub(crate) every: Option<Duration>,
}

impl Output {
    pub(crate) fn console(&self) -> Console {
        Console::new(self.json, self.quiet)
    }

    pub(crate) fn every(&self) -> Duration {
        self.every
            .unwrap_or(Duration::from_secs(if self.json { 1 } else { 10 }))
    }
}

fn interval(text: &str) -> Result<Duration, String> {
    time(text, Duration::from_nanos(1), "a time above 0 is needed, such as 10s")
}

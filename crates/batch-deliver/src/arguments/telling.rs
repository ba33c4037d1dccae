//! The options of the output.

use std::time::Duration;

use clap::Args;

use crate::console::Console;

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Telling {
    /// Write progress and report as JSON to the standard output
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) json: bool,
    /// Print only problems
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Interval without a bar [default: 10s, with --json 1s]
    #[arg(long, value_name = "TIME", value_parser = interval)]
    pub(crate) every: Option<Duration>,
}

impl Telling {
    pub(crate) fn console(&self) -> Console {
        Console::new(self.json, self.quiet)
    }

    pub(crate) fn every(&self) -> Duration {
        self.every
            .unwrap_or(Duration::from_secs(if self.json { 1 } else { 10 }))
    }
}

fn interval(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(time) if !time.is_zero() => Ok(time),
        Ok(_) => Err("a time above 0 is needed, such as 10s".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

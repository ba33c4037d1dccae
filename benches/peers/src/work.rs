//! The work of a contestant.

use std::io::{BufRead, Write};
use std::path::PathBuf;

use clap::Args;

use crate::{Failure, Offered, Told};

/// The work of a contestant.
#[derive(Debug, Clone, Args)]
pub struct Work {
    /// The URL of the service
    #[arg(long)]
    pub endpoint: String,
    /// The name of the table or the URL of the queue
    #[arg(long)]
    pub target: String,
    /// Calls at once
    #[arg(long)]
    pub workers: usize,
    /// A file with a certificate to trust: the URL is one with TLS
    #[arg(long)]
    pub certificate: Option<PathBuf>,
    #[command(flatten)]
    pub offered: Offered,
}

impl Work {
    /// Waits for the start signal. The time before it is not measured.
    ///
    /// # Errors
    /// If the comparison has ended.
    pub fn start(&self) -> Result<(), Failure> {
        println!("ready");
        wait_for_a_line()
    }

    /// Cuts entries into as many parts as there are workers, or fewer.
    pub fn parts<E>(&self, mut entries: Vec<E>) -> Vec<Vec<E>> {
        (1..=self.workers)
            .rev()
            .map(|left| entries.split_off(entries.len() - entries.len().div_ceil(left)))
            .filter(|part| !part.is_empty())
            .collect()
    }
}

impl Told {
    /// Prints the report, and waits until the comparison has measured the process.
    ///
    /// # Errors
    /// If the comparison has ended.
    pub fn tell(&self) -> Result<(), Failure> {
        println!("{}", serde_json::to_string(self)?);
        std::io::stdout().flush()?;
        wait_for_a_line()
    }
}

fn wait_for_a_line() -> Result<(), Failure> {
    std::io::stdout().flush()?;
    std::io::stdin().lock().read_line(&mut String::new())?;
    Ok(())
}

//! What a contestant is asked to do.

use std::io::{BufRead, Write};

use clap::Args;

use crate::{Failure, Offered, Told};

/// What a contestant is asked to do.
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
    #[command(flatten)]
    pub offered: Offered,
}

impl Work {
    /// Waits for the signal. All that comes before it is not measured.
    ///
    /// # Errors
    /// When the comparison has gone.
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
    /// Prints it, and stays until the comparison has taken the measure of the process.
    ///
    /// # Errors
    /// When the comparison has gone.
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

//! The program: its arguments, and what it shows while it runs.

use std::collections::BTreeMap;
use std::io::{ErrorKind, IsTerminal, Write, stderr, stdout};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use clap::{ArgGroup, Parser};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde_json::json;

use crate::config::Config;
use crate::front::Front;
use crate::journal::Figures;
use crate::registry::lock;
use crate::server::Server;

const EXAMPLES: &str = "\
Examples:
  throttled-aws --to http://127.0.0.1:4566
      LocalStack, dynalite, moto or another emulator, with the capacity that its tables say they have

  throttled-aws --to http://127.0.0.1:8000 --config limits.toml
      with limits and faults of a file

  throttled-aws --alone --config limits.toml
      DynamoDB and SQS by itself, with the tables and queues of the file

Point clients to it by AWS_ENDPOINT_URL=http://127.0.0.1:4500. While it runs:
  curl http://127.0.0.1:4500/_throttled/figures
  curl http://127.0.0.1:4500/_throttled/faults \\
      --data '{\"faults\": [{\"share\": 0.05, \"fault\": \"throttle\"}]}'";

/// Lets an emulator of AWS throttle as AWS does.
#[derive(Debug, Parser)]
#[command(name = "throttled-aws", version, after_help = EXAMPLES, group = ArgGroup::new("what").required(true))]
struct Arguments {
    /// The emulator to be in front of. Signatures are not made again, so AWS itself would refuse what is changed.
    #[arg(long, value_name = "URL", group = "what")]
    to: Option<String>,
    /// Be an emulator of DynamoDB and SQS, and of puts to Kinesis. Nothing is kept when it ends.
    #[arg(long, group = "what")]
    alone: bool,
    /// Where to listen. Port 0 is any free one, which is printed.
    // The image has one of its own, which another one replaces.
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "127.0.0.1:4500",
        overrides_with = "listen"
    )]
    listen: SocketAddr,
    /// Limits and faults, in TOML.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Runs until it is interrupted.
#[must_use]
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let ended = runtime
        .map_err(|error| error.to_string())
        .and_then(|runtime| runtime.block_on(run(arguments)));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("throttled-aws: {message}");
            ExitCode::from(2)
        }
    }
}

async fn run(arguments: Arguments) -> Result<(), String> {
    let config = match &arguments.config {
        Some(path) => Config::read(path).map_err(|error| error.to_string())?,
        None => Config::default(),
    };
    let started = match &arguments.to {
        Some(url) => Server::to(url, config, arguments.listen).await,
        None => Server::alone(config, arguments.listen).await,
    };
    let server = started.map_err(|error| match error.kind() {
        // What was given is wrong, and not the address.
        ErrorKind::InvalidInput => error.to_string(),
        _ => format!("cannot listen on {}: {error}", arguments.listen),
    })?;
    // The only line of the standard output, for scripts that chose port 0. It serves even if nothing reads it.
    let _ = writeln!(stdout(), "{}", server.endpoint());
    let front = Arc::clone(&server.front);
    // In a thread of its own, which nothing waits for: a standard error that is not read blocks it.
    thread::spawn(move || show(&front));
    stopped().await.map_err(|error| error.to_string())
}

/// A signal has asked it to end.
async fn stopped() -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            _ = terminate.recv() => Ok(()),
            ended = tokio::signal::ctrl_c() => ended,
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await
}

/// A line for each destination that is renewed each second, or lines of JSON where there is no terminal.
fn show(front: &Front) {
    let screen = stderr().is_terminal().then(MultiProgress::new);
    let mut before: BTreeMap<(&'static str, String), Shown> = BTreeMap::new();
    loop {
        let counted = lock(&front.shared.ledger).counted().clone();
        for (destination, figures) in counted {
            let last = before.entry(destination.clone()).or_default();
            if last.figures == figures && screen.is_none() {
                continue;
            }
            let (service, name) = destination;
            if let Some(screen) = &screen {
                let bar = last.bar.get_or_insert_with(|| screen.add(line()));
                let most = front.resources.writes_per_second(service, &name);
                bar.set_message(text(service, &name, &last.figures, &figures, most));
            } else {
                let line = json!({"service": service, "destination": name, "figures": figures});
                let _ = writeln!(stderr(), "{line}");
            }
            last.figures = figures;
        }
        thread::sleep(Duration::from_secs(1));
    }
}

/// What was shown of a destination.
#[derive(Default)]
struct Shown {
    figures: Figures,
    bar: Option<ProgressBar>,
}

fn line() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    // A template without a placeholder that could be wrong.
    bar.set_style(ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar
}

/// `most`: what it accepts per second at most, if that is limited.
fn text(service: &str, name: &str, before: &Figures, now: &Figures, most: Option<f64>) -> String {
    let most = most.map(|most| format!(" of {most:.0}")).unwrap_or_default();
    format!(
        "{service} {name}: {:.0}{most} written/s, {:.0} read/s, {} throttled/s; {} accepted, {} throttled, {} lost in all",
        // They begin again after a reset.
        (now.written - before.written).max(0.0),
        (now.read - before.read).max(0.0),
        now.throttled.saturating_sub(before.throttled),
        now.accepted,
        now.throttled,
        now.lost,
    )
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    async fn error_of(arguments: &[&str]) -> String {
        let arguments = Arguments::parse_from([&["throttled-aws"][..], arguments].concat());
        run(arguments).await.unwrap_err()
    }

    #[tokio::test]
    async fn an_error_names_the_address_only_if_it_is_the_cause() {
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let taken = taken.local_addr().unwrap().to_string();
        let error = error_of(&["--alone", "--listen", &taken]).await;
        assert!(error.starts_with(&format!("cannot listen on {taken}: ")), "{error}");
        let error = error_of(&["--to", "ftp://127.0.0.1", "--listen", "127.0.0.1:0"]).await;
        assert!(error.starts_with("\"ftp://127.0.0.1\" is not the URL"), "{error}");
    }

    #[test]
    fn a_line_has_what_is_used_of_what_there_is() {
        let now = Figures {
            written: 750.4,
            throttled: 30,
            accepted: 700,
            ..Figures::default()
        };
        let before = Figures {
            written: 250.0,
            throttled: 10,
            ..Figures::default()
        };
        assert_eq!(
            text("dynamodb", "orders", &before, &now, Some(1_000.0)),
            "dynamodb orders: 500 of 1000 written/s, 0 read/s, 20 throttled/s; 700 accepted, 30 throttled, 0 lost in all"
        );
        let unlimited = text("sqs", "jobs", &now, &Figures::default(), None);
        assert!(unlimited.starts_with("sqs jobs: 0 written/s, "), "{unlimited}");
    }

    #[test]
    fn the_arguments_are_consistent() {
        Arguments::command().debug_assert();
        assert!(Arguments::try_parse_from(["throttled-aws"]).is_err());
        assert!(Arguments::try_parse_from(["throttled-aws", "--alone", "--to", "http://127.0.0.1:1"]).is_err());
        let listens = |more: &[&str]| {
            let image = ["throttled-aws", "--listen", "0.0.0.0:4500"];
            Arguments::try_parse_from([&image[..], more].concat())
                .unwrap()
                .listen
                .port()
        };
        assert_eq!(listens(&["--alone"]), 4500);
        assert_eq!(listens(&["--alone", "--listen", "0.0.0.0:80"]), 80);
    }
}

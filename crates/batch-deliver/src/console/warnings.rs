//! Prints the warnings of the library as the program's own, with what to do.

use std::fmt::Debug;
use std::io::{self, Write};

use aws_batch_delivery::events::SUMMARY;
use tracing::Subscriber;
use tracing::field::Field;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use super::Console;

/// The prefix of the library's log targets.
const LIBRARY: &str = "aws_batch_delivery";

/// Codes of calls with credentials that have expired.
pub(crate) const EXPIRED: [&str; 2] = ["ExpiredToken", "ExpiredTokenException"];

/// How the code of a call begins whose credentials could not be fetched.
const NO_CREDENTIALS: &str = "not sent: there are no AWS credentials";

const RENEW: &str = "renew the credentials (for example by aws sso login), and the delivery continues; those of environment variables \
                     and of a file are read only once: stop with Ctrl-C, and run the command again with new ones";

/// What to do when no others can come.
const GET_OTHERS: &str = "they are those of environment variables or of a file, which are read only once, so this ends: get others, and \
                          run the command again with new ones";

/// Codes of calls to a table, a queue or a bucket that is not there.
pub(crate) const NOT_THERE: [&str; 4] = [
    "ResourceNotFoundException",
    "QueueDoesNotExist",
    "NonExistentQueue",
    "NoSuchBucket",
];

const GONE: &str =
    "it was deleted, or never existed: when there is one with its name again, the delivery continues; Ctrl-C ends it";

/// Prints the library's warnings, above all that nothing is accepted. The summary is left out, because the program has its own.
///
/// `expired` is called when the credentials have expired, and returns whether that ends the delivery.
pub(crate) fn print_warnings(console: Console, expired: impl Fn() -> bool + Send + Sync + 'static) {
    let shown = Targets::new()
        .with_target(LIBRARY, LevelFilter::WARN)
        .with_target(SUMMARY, LevelFilter::OFF);
    let words = fmt::layer()
        .without_time()
        .with_target(false)
        .with_level(false)
        .with_ansi(false)
        .with_writer(ConsoleLines(console.clone()));
    let advice = Advice { console, expired };
    // It fails if there is a subscriber already.
    let _ = tracing_subscriber::registry()
        .with(shown)
        .with(words)
        .with(advice)
        .try_init();
}

/// Prints what to do about a warning, behind it.
struct Advice<F> {
    console: Console,
    expired: F,
}

impl<S: Subscriber, F: Fn() -> bool + 'static> Layer<S> for Advice<F> {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        event.record(&mut |field: &Field, value: &dyn Debug| {
            if field.name() != "code" {
                return;
            }
            let value = format!("{value:?}");
            let code = value.trim_matches('"');
            if NOT_THERE.iter().any(|known| code.ends_with(known)) {
                self.console.warn_soon(GONE);
            }
            // A lookup is named before the code.
            let is_expired = EXPIRED.iter().any(|expired| code.ends_with(expired));
            if is_expired && (self.expired)() {
                self.console.warn_soon(GET_OTHERS);
            } else if is_expired || code.starts_with(NO_CREDENTIALS) {
                self.console.warn_soon(RENEW);
            }
        });
    }
}

/// Writes events as lines of the console.
struct ConsoleLines(Console);

/// One event.
struct Event<'a> {
    console: &'a Console,
    text: Vec<u8>,
}

impl<'a> MakeWriter<'a> for ConsoleLines {
    type Writer = Event<'a>;

    fn make_writer(&'a self) -> Event<'a> {
        Event {
            console: &self.0,
            text: Vec::new(),
        }
    }
}

impl Write for Event<'_> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.text.write(text)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Event<'_> {
    fn drop(&mut self) {
        self.console.warn_soon(String::from_utf8_lossy(&self.text).trim());
    }
}

//! The entries that every contestant is given, in any language the same ones.

use clap::Args;

/// Text that makes a write about 200 bytes large: one write unit.
const NOTE: &str =
    "To be left with the neighbours at number seven, who are at home in the afternoon, or behind the shed.";

/// One of this many writes has the key of an earlier one.
const REPEATED_EVERY: usize = 100;
/// The distance to that earlier write: mostly in the same call, and always of the same worker.
const REPEATED_AFTER: usize = 10;

/// What is offered: the entries from 0 to `entries`.
#[derive(Debug, Clone, Copy, Args)]
pub struct Offered {
    /// How many
    #[arg(long)]
    pub entries: usize,
    /// Each hundredth write has the key of the one ten places before it
    #[arg(long)]
    pub duplicates: bool,
    /// How many keys the writes change, one after another; 0 for a key each
    #[arg(long, default_value_t = 0)]
    pub keys: usize,
    /// How many message groups share the messages; 0 for a queue that is not FIFO
    #[arg(long, default_value_t = 0)]
    pub groups: usize,
}

impl Offered {
    /// The primary key of an entry.
    pub fn id(&self, number: usize) -> String {
        let repeats = self.duplicates && number % REPEATED_EVERY == REPEATED_EVERY - 1;
        let number = if repeats { number - REPEATED_AFTER } else { number };
        let number = number.checked_rem(self.keys).unwrap_or(number);
        format!("order-{number:07}")
    }

    /// The message group of an entry.
    pub fn group(&self, number: usize) -> Option<String> {
        (self.groups > 0).then(|| format!("group-{:02}", number % self.groups))
    }

    pub fn customer(number: usize) -> String {
        format!("customer-{}", number % 977)
    }

    pub fn note() -> &'static str {
        NOTE
    }

    /// The body of a message. It begins with the entry's number.
    pub fn body(number: usize) -> String {
        format!("{number} {NOTE}")
    }
}

/// The number of the entry that has this body.
pub fn number_of_body(body: &str) -> Option<usize> {
    body.split(' ').next()?.parse().ok()
}

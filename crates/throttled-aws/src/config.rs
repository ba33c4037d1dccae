//! The configuration: the words of the file, which those of `/_throttled/faults` are part of.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use crate::rule::Rule;

/// Entries of the journal that are kept: some 200 bytes each.
const JOURNAL: usize = 200_000;

/// What the file says. Everything in it is optional.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The seed of faults, latencies and the order in which entries are accepted. Default: 0.
    pub seed: u64,
    /// Limits of tables by name; `"*"` is for all that have no entry.
    pub tables: BTreeMap<String, TableLimits>,
    /// Limits of queues by name; `"*"` is for all that have no entry.
    pub queues: BTreeMap<String, QueueLimits>,
    /// Limits of streams by name; `"*"` is for all that have no entry.
    pub streams: BTreeMap<String, StreamLimits>,
    /// How long calls take in addition.
    pub latency: LatencyConfig,
    /// Faults by script or at random.
    #[serde(deserialize_with = "crate::rule::all")]
    pub faults: Vec<Rule>,
    /// The journal.
    pub journal: JournalConfig,
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, or says something that is not known: with its line and column.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let error = |message: String| ConfigError(format!("{}: {message}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|source| error(source.to_string()))?;
        Self::parse(&text).map_err(|ConfigError(message)| error(message))
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// If it says something that is not known: with its line and column.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        toml::from_str(text).map_err(|error| ConfigError(error.to_string()))
    }
}

/// Why a configuration cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError(pub(crate) String);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.trim_end())
    }
}

impl std::error::Error for ConfigError {}

/// The limits of a table. What is not set is what `DescribeTable` says.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TableLimits {
    /// The partition key, with which `--alone` creates the table.
    pub key: Option<KeyAttribute>,
    /// The sort key, with which `--alone` creates the table.
    pub sort_key: Option<KeyAttribute>,
    /// Write units per second. The table is then provisioned.
    #[serde(deserialize_with = "crate::number::optional")]
    pub write_units: Option<f64>,
    /// Read units per second.
    #[serde(deserialize_with = "crate::number::optional")]
    pub read_units: Option<f64>,
    /// How much unused capacity can be used later, as a time at full capacity. Default: 5 minutes, at least 25 units.
    #[serde(deserialize_with = "crate::time::optional")]
    pub burst: Option<Duration>,
    /// The burst is full at the start. Default: it is empty, except that of an on-demand table.
    pub starts_full: bool,
    /// Partitions of 1,000 write units and 3,000 read units per second each; 0: no limit of a partition. Default: as many as the
    /// units need, 4 of an on-demand table.
    pub partitions: Option<usize>,
    /// A partition of which more was requested for this long splits. Default: no splits.
    #[serde(deserialize_with = "crate::time::optional")]
    pub splits_after: Option<Duration>,
}

/// An attribute of a key.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyAttribute {
    /// Its name.
    pub name: String,
    /// Its type. Default: `S`.
    #[serde(default, rename = "type")]
    pub kind: AttributeType,
}

/// The type of an attribute of a key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub enum AttributeType {
    /// Text.
    #[default]
    S,
    /// A number.
    N,
    /// Binary.
    B,
}

/// The limits of a queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct QueueLimits {
    /// Calls per second of each kind: sends, receives, deletes, changes of visibility. Default: none of a standard queue, 300 of
    /// a FIFO queue and 70,000 of one with high throughput.
    #[serde(deserialize_with = "crate::number::optional")]
    pub calls: Option<f64>,
    /// Messages that are sent per second. A batch that fits in part is accepted in part. Default: no limit.
    #[serde(deserialize_with = "crate::number::optional")]
    pub messages: Option<f64>,
}

/// The limits of a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StreamLimits {
    /// The number of shards. Default: that of `DescribeStreamSummary`.
    #[serde(deserialize_with = "crate::number::count")]
    pub shards: Option<usize>,
    /// Records per second of each shard. Default: 1,000.
    #[serde(deserialize_with = "crate::number::above_zero")]
    pub records: Option<f64>,
    /// Bytes per second of each shard, partition keys included. Default: 1 MiB.
    #[serde(deserialize_with = "crate::number::above_zero")]
    pub bytes: Option<f64>,
}

/// How long calls take in addition to what the emulator needs: a lognormal distribution around the median.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LatencyConfig {
    /// The median, of an hour at most. Default: no latency.
    #[serde(deserialize_with = "crate::time::median")]
    pub median: Option<Duration>,
    /// How wide the distribution is, from 0 to 3: 0 is a fixed latency, 0.4 that of a network. Default: 0.
    #[serde(deserialize_with = "crate::number::sigma")]
    pub sigma: f64,
    /// The share of calls that are slow. Default: 0.
    #[serde(deserialize_with = "crate::number::share")]
    pub slow_share: f64,
    /// How much slower these are, from 0 to 1,000. Default: 1.
    #[serde(deserialize_with = "crate::number::slow_factor")]
    pub slow_factor: Option<f64>,
}

/// The journal of what was applied.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct JournalConfig {
    /// Entries that are kept; older ones are dropped, and counted. Default: 200,000.
    pub entries: usize,
}

impl Default for JournalConfig {
    fn default() -> Self {
        Self { entries: JOURNAL }
    }
}

/// The limits of the file for a resource.
pub(crate) fn limits_of<'a, T>(limits: &'a BTreeMap<String, T>, name: &str) -> Option<&'a T> {
    limits.get(name).or_else(|| limits.get("*"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_is_a_configuration() {
        assert_eq!(Config::parse(""), Ok(Config::default()));
    }

    #[test]
    fn a_wrong_word_is_reported_with_its_line_and_column() {
        for (text, line, column, word) in [
            ("seed = 1\n[tables.orders]\nwrite_unit = 5\n", 3, 1, "write_unit"),
            ("[tables.orders]\nburst = \"5 parsecs\"\n", 2, 9, "5 parsecs"),
            ("[[faults]]\nfault = \"losst\"\nshare = 0.1\n", 2, 9, "losst"),
            ("seed = \n", 1, 8, "value"),
            ("[tables.orders]\nwrite_units = -5\n", 2, 15, "0 or more, not -5"),
            ("[tables.orders]\nread_units = nan\n", 2, 14, "0 or more, not NaN"),
            ("[tables.orders]\nkey = { name = \"id\", type = \"X\" }\n", 2, 29, "`X`"),
            ("[queues.jobs]\nmessages = -0.5\n", 2, 12, "0 or more, not -0.5"),
            ("[streams.events]\nshards = 0\n", 2, 10, "more than 0, not 0"),
            ("[streams.events]\nbytes = 0\n", 2, 9, "more than 0, not 0"),
            ("[latency]\nslow_share = 7\n", 2, 14, "from 0 to 1, not 7"),
            ("[latency]\nsigma = \"wide\"\n", 2, 9, "wide"),
            ("[[faults]]\nfault = \"lost\"\nshare = 5\n", 3, 9, "from 0 to 1, not 5"),
            (
                "[[faults]]\nnext = [{ error = { status = 200 } }]\n",
                2,
                30,
                "400 to 599, not 200",
            ),
            ("seed = 1\n[[faults]]\nshare = 0.1\n", 2, 1, "`next`"),
        ] {
            let error = Config::parse(text).unwrap_err().to_string();
            assert!(error.contains(&format!("line {line}, column {column}")), "{error}");
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn the_files_that_documents_show_are_read() {
        let package = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        for document in ["README.md", "../../docs/limits.md"] {
            let text = std::fs::read_to_string(package.join(document)).unwrap();
            let files: Vec<_> = text.split("```toml\n").skip(1).collect();
            assert!(!files.is_empty(), "{document}");
            for file in files {
                let file = file.split("```").next().unwrap();
                assert!(Config::parse(file).is_ok(), "{document}: {:?}", Config::parse(file));
            }
        }
    }
}

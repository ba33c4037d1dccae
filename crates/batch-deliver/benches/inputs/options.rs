//! What is asked for.

/// The options of all commands.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// Items or messages.
    pub(crate) count: Option<u64>,
    pub(crate) seed: u64,
    /// Read units a second.
    pub(crate) reads: f64,
    /// Write units a second.
    pub(crate) writes: f64,
    pub(crate) kills: u32,
    /// Of the table that is written, each with a part of the capacity and of the keys; 1 is a table without partitions.
    pub(crate) partitions: usize,
    /// Processes that share nothing.
    pub(crate) processes: usize,
    /// Further arguments of the program.
    pub(crate) more: String,
}

impl Options {
    /// The command, and its options.
    pub(crate) fn given() -> (String, Self) {
        let mut options = Self {
            count: None,
            seed: 1,
            reads: 3_000.0,
            writes: 1_000.0,
            kills: 0,
            partitions: 1,
            processes: 64,
            more: String::new(),
        };
        let mut command = "copy".to_owned();
        // `cargo bench` adds `--bench`.
        let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().unwrap_or_else(|| panic!("{argument} has no value"));
            match argument.as_str() {
                "--count" => options.count = Some(parsed(&value())),
                "--seed" => options.seed = parsed(&value()),
                "--reads" => options.reads = parsed(&value()),
                "--writes" => options.writes = parsed(&value()),
                "--kills" => options.kills = parsed(&value()),
                "--processes" => options.processes = parsed(&value()),
                "--partitions" => options.partitions = parsed(&value()),
                "--" => {
                    options.more = arguments.by_ref().collect::<Vec<_>>().join(" ");
                }
                _ => command.clone_from(&argument),
            }
        }
        (command, options)
    }
}

fn parsed<T: std::str::FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("{text} is no number"))
}

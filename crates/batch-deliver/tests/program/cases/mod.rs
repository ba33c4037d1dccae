//! Inputs as other programs write them: what is stored, attribute by attribute, or what is said.

mod compression;
mod csv;
mod exports;
mod kept;
mod names;
mod order;
#[cfg(unix)]
mod question;
mod queues;
mod shapes;
mod terminal;

use aws_batch_simulator::{KeyType, TableOptions};
use serde_json::Value;

use crate::program::{Folder, Run};
use crate::served::Served;

/// What a load came to.
pub(crate) struct Loaded {
    pub(crate) run: Run,
    /// The items in the table, as DynamoDB JSON, in the order of their text.
    pub(crate) items: Vec<Value>,
}

/// Loads these files with these arguments into an empty table with the key `id`, a string.
pub(crate) fn load(files: &[(&str, &[u8])], arguments: &str) -> Loaded {
    run("load", files, arguments)
}

/// Runs `load` or `delete` on a table with the key `id`, a string.
pub(crate) fn run(command: &str, files: &[(&str, &[u8])], arguments: &str) -> Loaded {
    let folder = Folder::new();
    for (name, content) in files {
        folder.write(name, content);
    }
    let served = Served::with_table(TableOptions::key("id", KeyType::S), 1e6);
    let run = folder.run(&format!("{command} --table items {} {arguments}", served.arguments()));
    let mut items = served.table.items();
    items.sort_by_key(Value::to_string);
    Loaded { run, items }
}

impl Loaded {
    /// That all was delivered, and exactly these items are stored.
    #[track_caller]
    pub(crate) fn stored(&self, items: &[Value]) -> &Self {
        assert_eq!(self.run.code, 0, "{}", self.run.stderr);
        let mut items = items.to_vec();
        items.sort_by_key(Value::to_string);
        assert_eq!(self.items, items, "{}", self.run.stderr);
        self
    }

    /// That the program ended with this code and said this.
    #[track_caller]
    pub(crate) fn said(&self, code: i32, words: &str) -> &Self {
        self.run.expect(code, words);
        self
    }

    /// That the table is empty.
    #[track_caller]
    pub(crate) fn stored_nothing(&self) -> &Self {
        assert!(self.items.is_empty(), "{:?}", self.items);
        self
    }
}

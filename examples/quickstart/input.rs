//! The items: generated, or read from a file with one JSON object a line.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::Value;

use crate::{Failure, Item};

/// U+FEFF in UTF-8: some editors write it at the start of a file.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Items, and their source.
pub(crate) struct Items {
    all: Vec<Item>,
    file: Option<PathBuf>,
    /// The line of each item in the file, from 1.
    lines: Vec<usize>,
}

impl Items {
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Item> {
        self.all.iter()
    }

    /// The source of the item with this number, such as `films.jsonl:4`.
    pub(crate) fn place(&self, number: usize) -> String {
        match (&self.file, self.lines.get(number)) {
            (Some(file), Some(line)) => format!("{}:{line}", file.display()),
            _ => format!("order {number}"),
        }
    }

    /// The source of all items.
    pub(crate) fn source(&self) -> String {
        let file = self.file.as_ref().map(|file| file.display().to_string());
        file.unwrap_or_else(|| "the orders".to_owned())
    }
}

/// Orders with the key `id`.
pub(crate) fn generate(count: u32) -> Items {
    let order = |number: u32| {
        let text = |text: String| AttributeValue::S(text);
        HashMap::from([
            ("id".to_owned(), text(format!("order-{number:06}"))),
            ("customer".to_owned(), text(format!("customer-{}", number % 977))),
            (
                "cents".to_owned(),
                AttributeValue::N((u64::from(number) * 37 % 100_000).to_string()),
            ),
            ("paid".to_owned(), AttributeValue::Bool(number.is_multiple_of(3))),
        ])
    };
    Items {
        all: (0..count).map(order).collect(),
        file: None,
        lines: Vec::new(),
    }
}

/// Reads one JSON object a line. Blank lines, a byte order mark and Windows line ends are accepted.
pub(crate) fn read(path: &Path) -> Result<Items, Failure> {
    let file = path.display();
    if path.is_dir() {
        return Err(format!("{file} is a directory: name a file in it").into());
    }
    let opened = File::open(path).map_err(|error| unreadable(path, &error))?;
    read_lines(BufReader::new(opened), path)
}

/// Reads the lines of the file with this path.
pub(crate) fn read_lines(reader: impl BufRead, path: &Path) -> Result<Items, Failure> {
    let file = path.display();
    let mut read = Items {
        all: Vec::new(),
        file: Some(path.to_owned()),
        lines: Vec::new(),
    };
    for (number, line) in (1..).zip(reader.split(b'\n')) {
        let line = line.map_err(|error| unreadable(path, &error))?;
        let line = line
            .strip_prefix(BYTE_ORDER_MARK)
            .filter(|_| number == 1)
            .unwrap_or(&line);
        let is_first = read.all.is_empty();
        if let Some(item) = parse(line, is_first, path).map_err(|what| format!("{file}:{number}: {what}"))? {
            read.all.push(item);
            read.lines.push(number);
        }
    }
    if read.all.is_empty() {
        return Err(format!("{file} is empty: it needs one JSON object a line").into());
    }
    Ok(read)
}

fn unreadable(path: &Path, error: &io::Error) -> String {
    format!("{} cannot be read: {error}", path.display())
}

/// The object of a line, or `None` for a blank one.
fn parse(line: &[u8], is_first: bool, path: &Path) -> Result<Option<Item>, String> {
    let line =
        str::from_utf8(line).map_err(|_| "this is not UTF-8 text: is the file compressed, or saved as UTF-16?")?;
    let line = line.trim();
    if line.is_empty() {
        return Ok(None);
    }
    if is_first && let Some(advice) = other_format(line, path) {
        return Err(advice);
    }
    let value = serde_json::from_str(line).map_err(|error| not_json(&error, path))?;
    let kind = match value {
        Value::Object(_) => {
            return serde_dynamo::to_item(value)
                .map(Some)
                .map_err(|error| error.to_string());
        }
        Value::Array(_) => "an array",
        Value::String(_) => "a text",
        Value::Number(_) => "a number",
        Value::Bool(_) | Value::Null => "a single word",
    };
    Err(format!("{kind} where a JSON object is needed"))
}

/// What the user can do about a file whose first line is not JSON Lines.
fn other_format(first_line: &str, path: &Path) -> Option<String> {
    let from = quoted(path);
    let to = quoted(&path.with_extension("jsonl"));
    if first_line.starts_with('[') {
        return Some(format!(
            "this is a JSON array, and one object a line is needed. To convert it:\n  jq -c '.[]' {from} > {to}"
        ));
    }
    let is_table = !first_line.starts_with('{') && first_line.contains([',', ';', '\t']);
    is_table.then(|| {
        let delimiter = [';', '\t', ','].into_iter().find(|delimiter| first_line.contains(*delimiter));
        let delimiter = match delimiter {
            Some(';') => ", delimiter=\";\"",
            Some('\t') => ", delimiter=\"\\t\"",
            _ => "",
        };
        format!(
            "this looks like CSV, and one JSON object a line is needed. To convert it:\n  python3 -c 'import csv, json, \
             sys; [print(json.dumps(row)) for row in csv.DictReader(sys.stdin{delimiter})]' < {from} > {to}"
        )
    })
}

fn not_json(error: &serde_json::Error, path: &Path) -> String {
    if error.is_eof() {
        let (from, to) = (quoted(path), quoted(&path.with_extension("lines.jsonl")));
        return format!(
            "the object does not end on its line, and one object a line is needed. To convert the file:\n  jq -c . \
             {from} > {to}"
        );
    }
    // Its own line number is always 1.
    let words = error.to_string();
    let what = words.rsplit_once(" at line ").map_or(words.as_str(), |(what, _)| what);
    format!("this is not JSON: {what} at column {}", error.column())
}

/// The path in the syntax of a shell.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |character: char| character.is_alphanumeric() || "/._-".contains(character);
    if path.chars().all(is_plain) {
        path
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result for a file with this name and content.
    fn read_file(name: &str, content: impl AsRef<[u8]>) -> Result<Items, String> {
        read_lines(content.as_ref(), Path::new(name)).map_err(|failure| failure.to_string())
    }

    fn refusal(name: &str, content: impl AsRef<[u8]>) -> String {
        read_file(name, content).err().unwrap()
    }

    #[test]
    fn blank_lines_a_byte_order_mark_and_windows_line_ends_are_accepted() {
        let items = read_file("films.jsonl", "\u{FEFF}{\"id\":1}\r\n\r\n  \n{\"id\":2}").unwrap();
        assert_eq!((items.len(), items.lines.as_slice()), (2, [1, 4].as_slice()));
        assert_eq!(items.place(1), "films.jsonl:4");
    }

    #[test]
    fn a_line_that_is_not_json_is_named() {
        let refused = refusal("films.jsonl", "{\"id\":1}\n\n{\"id\":2}\n{\"id\":oops}\n");
        assert_eq!(refused, "films.jsonl:4: this is not JSON: expected value at column 7");
        let refused = refusal("films.jsonl", "{\"id\":1}\n42\n");
        assert_eq!(refused, "films.jsonl:2: a number where a JSON object is needed");
    }

    #[test]
    fn another_format_is_told_apart_with_what_to_do() {
        let refused = refusal("films.json", "[\n{\"id\":1}\n]");
        assert!(refused.starts_with("films.json:1: this is a JSON array"), "{refused}");
        assert!(refused.contains("jq -c '.[]' films.json > films.jsonl"), "{refused}");
        let refused = refusal("films.csv", "id;title\n1;Rush");
        assert!(refused.starts_with("films.csv:1: this looks like CSV"), "{refused}");
        assert!(refused.contains("delimiter=\";\""), "{refused}");
        let refused = refusal("my films.json", "{\n  \"id\": 1\n}");
        assert!(
            refused.starts_with("my films.json:1: the object does not end on its line"),
            "{refused}"
        );
        assert!(refused.contains("my films.json'"), "{refused}");
        let refused = refusal("films.jsonl", b"\xFF\xFE{\0");
        assert!(refused.starts_with("films.jsonl:1: this is not UTF-8"), "{refused}");
    }

    #[test]
    fn a_file_without_an_item_a_folder_and_a_missing_file_are_told_apart() {
        let empty = "films.jsonl is empty: it needs one JSON object a line";
        assert_eq!(refusal("films.jsonl", ""), empty);
        assert_eq!(refusal("films.jsonl", "\n\r\n"), empty);
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let refused = read(folder).err().unwrap().to_string();
        assert!(refused.ends_with("is a directory: name a file in it"), "{refused}");
        let missing = folder.join("films.jsonl");
        // Each system has words of its own for it.
        let reason = File::open(&missing).unwrap_err();
        let refused = read(&missing).err().unwrap().to_string();
        let ending = format!("films.jsonl cannot be read: {reason}");
        assert!(refused.ends_with(&ending), "{refused}");
    }
}

//! Feeds arbitrary bytes to everything that is read from files. `fuzz/` and the tests below call these functions.

use std::io::{Cursor, Read};
use std::sync::Arc;

use crate::console::Console;
use crate::format::{
    CsvItems, CsvOptions, Groups, ItemFormat, JsonItems, Key, Keys, LineFormat, Messages, TableFormat, TableItems,
    Typing, Writes,
};
use crate::keeping::settled_in;
use crate::source::{Flaw, Format};

/// The records of an input with their lines, and why the input could not be read further.
type Records<E> = (Vec<(u64, Option<Result<E, Flaw>>)>, Option<String>);

/// Reads an input. The first byte selects its format, and the second how it arrives.
pub fn inputs(data: &[u8]) {
    let [kind, pieces, input @ ..] = data else { return };
    let messages = |is_json| Messages {
        is_json,
        keeps_text: false,
        groups: Groups::default(),
    };
    let keys = |is_json| LineFormat {
        parse: Keys {
            is_json,
            bucket: "bucket".to_owned(),
            prefix: String::new(),
        },
        keeps_text: false,
    };
    match kind % KINDS {
        0 => agree(&messages(false), input, *pieces),
        1 => agree(&messages(true), input, *pieces),
        2 => agree(&table(3, TYPES), &[HEADER, input].concat(), *pieces),
        13 => agree(&keys(false), input, *pieces),
        14 => agree(&keys(true), input, *pieces),
        15 => agree(&table(3, SETS), &[HEADER_OF_SETS, input].concat(), *pieces),
        16 => are_written(input),
        kind => agree(&table(kind - 3, ""), input, *pieces),
    }
}

/// What the first byte selects.
const KINDS: u8 = 17;

/// Columns of every type of set.
const HEADER_OF_SETS: &[u8] = b"id,texts,numbers,binaries\n";
const SETS: &str = "texts:SS,numbers:NS,binaries:BS";

/// Checks that the items of an input in DynamoDB JSON are read as the same when they were written as items of a table are.
fn are_written(input: &[u8]) {
    let dynamodb = table(2, "");
    let (records, _) = read(&dynamodb, Cursor::new(input.to_vec()));
    for write in records.into_iter().filter_map(|(_, entry)| entry?.ok()) {
        let Some(put) = write.put_request() else { continue };
        for (format, reader) in [(ItemFormat::Dynamodb, &dynamodb), (ItemFormat::Json, &table(1, ""))] {
            let mut lines = Vec::new();
            // What plain JSON has no word for is lost, and said to be.
            if format.append(put.item(), &mut lines) {
                let again = read(reader, Cursor::new(lines));
                assert_eq!(again, (vec![(1, Some(Ok(write.clone())))], None));
            }
        }
    }
}

/// Columns of every type.
const HEADER: &[u8] = b"id,number,binary,flag,json\n";
const TYPES: &str = "number:N,binary:B,flag:BOOL,json:JSON";

/// Every way to read items, with types and without, for puts and for deletes.
fn table(kind: u8, types: &str) -> TableItems {
    let formats = [
        TableFormat::Auto,
        TableFormat::Json,
        TableFormat::Dynamodb,
        TableFormat::Csv,
        TableFormat::Tsv,
    ];
    let format = formats[usize::from(kind) % formats.len()];
    let key: Option<Key> = (usize::from(kind) >= formats.len()).then(|| "id".parse().expect("it is a name"));
    let writes = match key {
        Some(key) => Writes::deletes(key),
        None => Writes::puts(None),
    };
    let typing = match format {
        TableFormat::Json => Typing::Plain,
        TableFormat::Dynamodb => Typing::Typed,
        _ => Typing::ByContent,
    };
    TableItems {
        format,
        json: JsonItems {
            table: None,
            typing,
            writes: writes.clone(),
            keeps_text: false,
        },
        csv: CsvItems {
            options: CsvOptions {
                types: types.parse().ok(),
                ..CsvOptions::default()
            },
            writes,
            keeps_text: false,
            console: Console::new(false, true),
            printed: Arc::default(),
            line_breaks: Arc::default(),
        },
    }
}

/// Checks that an input is read to its end, and that its records do not depend on the pieces in which it arrives.
fn agree<E: Clone + PartialEq + std::fmt::Debug>(format: &impl Format<E>, input: &[u8], pieces: u8) {
    let whole = read(format, Cursor::new(input.to_vec()));
    let in_pieces = read(
        format,
        Pieces {
            input: Cursor::new(input.to_vec()),
            bytes: usize::from(pieces % 16) + 1,
        },
    );
    assert_eq!(whole, in_pieces);
    assert_eq!(
        skipped(&whole, pieces),
        read_some(format, Cursor::new(input.to_vec()), pieces)
    );
    let lines = input.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count() as u64 + 1;
    let numbers: Vec<u64> = whole.0.iter().map(|(line, _)| *line).collect();
    assert!(
        numbers.iter().all(|line| (1..=lines).contains(line)),
        "{numbers:?} of {lines}"
    );
    // A carriage return alone ends a row, but not a line.
    assert!(numbers.is_sorted(), "{numbers:?}");
}

/// Whether the record with this number is wanted.
fn is_wanted(number: usize, pattern: u8) -> bool {
    pattern >> (number % 8) & 1 == 1
}

/// The records as they are read if some of them are settled: their numbers and lines stay the same.
fn skipped<E: Clone>((records, error): &Records<E>, pattern: u8) -> Records<E> {
    let records = records.iter().cloned().enumerate();
    let records = records.map(|(number, (line, entry))| (line, entry.filter(|_| is_wanted(number, pattern))));
    (records.collect(), error.clone())
}

fn read<E>(format: &impl Format<E>, input: impl Read + Send + 'static) -> Records<E> {
    read_some(format, input, u8::MAX)
}

/// Reads an input without parsing the records that are not wanted.
fn read_some<E>(format: &impl Format<E>, input: impl Read + Send + 'static, pattern: u8) -> Records<E> {
    let mut records = Vec::new();
    let mut source = match format.open(Box::new(input), "input") {
        Ok(source) => source,
        Err(error) => return (records, Some(error.to_string())),
    };
    loop {
        match source.next(is_wanted(records.len(), pattern)) {
            Ok(Some(reading)) => records.push((reading.line, reading.entry)),
            Ok(None) => return (records, None),
            Err(error) => return (records, Some(error.to_string())),
        }
    }
}

/// An input that returns a few bytes at a time, as a pipe may.
struct Pieces {
    input: Cursor<Vec<u8>>,
    bytes: usize,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = buffer.len().min(self.bytes);
        self.input.read(&mut buffer[..most])
    }
}

/// Reads a journal, whose settled records are a set of numbers.
pub fn journals(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Some(settled) = settled_in(text) else { return };
    let runs: Vec<_> = settled.runs().collect();
    assert!(runs.iter().all(|(first, last)| first <= last), "{runs:?}");
    assert!(runs.is_sorted_by(|(_, last), (first, _)| last < first), "{runs:?}");
    // The count of lines that were delivered before depends on it.
    let _ = settled.len();
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Bytes of which most have a meaning in CSV or JSON.
    fn any_input() -> impl Strategy<Value = Vec<u8>> {
        let meaning = prop::sample::select(
            b"\"\",,\t;\n\r{}[]:\\ \x01\xEF\xBB\xBF\xFFidnullSN0123456789.eE-+truefalsebody/=".to_vec(),
        );
        vec(prop_oneof![4 => meaning, 1 => any::<u8>()], 0..300)
    }

    /// Parts of what services and their tools write around items and messages, mostly in a sensible order.
    fn any_answer() -> impl Strategy<Value = Vec<u8>> {
        let part = prop::sample::select(vec![
            "{\"Items\":[",
            "{\"Count\":1,\"Items\": [\n",
            "]}",
            "],\"Count\":1}\n",
            "{\"films\":[",
            "{\"Messages\":[",
            ",",
            "\n",
            " ",
            "{\"id\":{\"S\":\"a\"}}",
            "{\"id\":\"a\"}",
            "{\"id\":{\"s\":\"}{\"}}",
            "{\"id\":\"\\\"}{\"}",
            "{\"id\":{\"S\":\n\"a\"}}",
            "{\"PutRequest\":{\"Item\":{\"id\":{\"S\":\"a\"}}}}",
            "{\"DeleteRequest\":{\"Key\":{\"id\":{\"S\":\"a\"}}}}",
            "{\"Key\":{\"id\":{\"S\":\"a\"}}}",
            "{\"Metadata\":{},\"Keys\":{\"id\":{\"S\":\"a\"}}}",
            "{\"id\":oops}",
            "{\"id\":\"a}",
            "{\"MessageId\":\"m\",\"Body\":\"b\"}",
            "{\"Key\":\"k\",\"VersionId\":\"v\"}",
            "\"bucket\",\"a%20key\",\"3HL4kqtJvjVBH40Nrjfkd\"",
            "bucket,key,,true,false",
            "s3://bucket/key",
            "{a,\"b\",NULL}",
            "{1,2.0}",
            "[\"AAE=\"]",
            "{\"id\":{\"N\":\"1e2\"},\"s\":{\"NS\":[\"1\",\"1.0\"]}}",
            "{\"id\":{\"B\":\"AAE=\"},\"l\":{\"L\":[{\"NULL\":true},{\"BOOL\":false},{\"M\":{}}]}}",
            "{\"body\":1}",
        ]);
        vec(part, 0..12).prop_map(|parts| parts.concat().into_bytes())
    }

    /// Each item on a line of its own, all on one line, or in the answer to a scan.
    fn spellings(items: &[serde_json::Value]) -> [String; 4] {
        let joined = |separator: &str| {
            let texts: Vec<_> = items.iter().map(serde_json::Value::to_string).collect();
            texts.join(separator)
        };
        let answer = serde_json::json!({"Items": items, "Count": items.len()});
        [
            joined("\n"),
            joined(" "),
            answer.to_string(),
            serde_json::to_string_pretty(&answer).expect("it is JSON"),
        ]
    }

    fn any_journal() -> impl Strategy<Value = String> {
        let identity = r#"{"batch_deliver":2,"inputs":[],"unsure":1}"#;
        let run = prop_oneof![0..20_u64, Just(u64::MAX), any::<u64>()];
        let line = prop_oneof![
            4 => vec((run.clone(), run), 0..4).prop_map(|runs| format!("{{\"settled\":{runs:?}}}").replace('(', "[").replace(')', "]")),
            1 => Just("\"ended\"".to_owned()),
            1 => "[ -~]{0,20}",
        ];
        vec(line, 0..6).prop_map(move |lines| format!("{identity}\n{}\n", lines.join("\n")))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        #[test]
        fn the_records_of_an_input_do_not_depend_on_its_pieces(kind in 0..KINDS, pieces in any::<u8>(), input in any_input()) {
            inputs(&[&[kind, pieces], &*input].concat());
        }

        #[test]
        fn the_records_of_an_answer_do_not_depend_on_its_pieces(kind in 0..KINDS, pieces in any::<u8>(), input in any_answer()) {
            inputs(&[&[kind, pieces], &*input].concat());
        }

        #[test]
        fn items_are_the_same_however_they_are_spelled(texts in vec("[a{}\\[\\]\"\\\\,:\n]{0,12}", 0..6)) {
            let items: Vec<_> = texts.iter().map(|text| serde_json::json!({"id": {"S": text}, "l": {"L": [{"N": "1"}]}})).collect();
            let entries = spellings(&items).map(|text| {
                let (records, error) = read(&table(0, ""), Cursor::new(text.into_bytes()));
                assert_eq!(error, None);
                records.into_iter().map(|(_, entry)| entry).collect::<Vec<_>>()
            });
            prop_assert!(entries[0].iter().all(|entry| matches!(entry, Some(Ok(_)))));
            prop_assert_eq!(entries[0].len(), items.len());
            prop_assert!(entries.iter().all(|other| *other == entries[0]));
        }

        #[test]
        fn the_settled_records_of_any_journal_are_a_set_of_numbers(text in any_journal()) {
            journals(text.as_bytes());
        }
    }

    #[test]
    fn what_fuzzing_has_kept_holds() {
        let targets = [("inputs", inputs as fn(&[u8])), ("journals", journals)];
        for (target, run) in targets {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../../fuzz/corpus")
                .join(target);
            for file in fs::read_dir(folder).unwrap() {
                let path = file.unwrap().path();
                println!("{}", path.display());
                run(&fs::read(path).unwrap());
            }
        }
    }
}

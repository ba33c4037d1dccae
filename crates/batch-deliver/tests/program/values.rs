//! What other programs have lost on the way from one table to another: key names, kinds of values, and tables of whole batches.

use aws_batch_simulator::{KeyType, TableOptions};
use serde_json::{Value, json};

use crate::program::{Folder, Run};
use crate::served::Served;

/// Two tables with this key, the first of which has these items.
struct Pair {
    folder: Folder,
    from: Served,
    to: Served,
}

impl Pair {
    fn new(key: &TableOptions, items: &[Value]) -> Self {
        let served = || Served::with_table(key.clone(), 1e6);
        let (folder, from, to) = (Folder::new(), served(), served());
        let pair = Self { folder, from, to };
        pair.load(&pair.from, items);
        pair
    }

    fn load(&self, served: &Served, items: &[Value]) {
        let lines: Vec<String> = items.iter().map(Value::to_string).collect();
        self.folder.write("items.jsonl", lines.join("\n"));
        let load = format!(
            "load --table items --format dynamodb {} items.jsonl",
            served.arguments()
        );
        self.folder.run(&load).expect(0, "delivered");
    }

    /// Runs a command on both tables.
    fn both(&self, command: &str) -> Run {
        let (from, to) = (self.from.endpoint(), self.to.endpoint());
        self.folder
            .run(&format!("{command} --from-endpoint-url {from} --to-endpoint-url {to}"))
    }
}

// Seen in another program: a table whose items fill the last batch ended with a call of none, which is refused.
#[test]
fn a_table_of_whole_batches_is_copied_and_one_of_none() {
    for count in [0, 1, 25, 700] {
        let items: Vec<Value> = (0..count).map(|id| json!({"id": {"N": id.to_string()}})).collect();
        let pair = Pair::new(&TableOptions::key("id", KeyType::N), &items);
        pair.both("copy --from items --to items")
            .expect(0, &format!("{count} delivered"));
        assert_eq!(pair.to.items(), pair.from.items());
        let delete = format!("delete --table items --all --yes {}", pair.to.arguments());
        pair.folder.run(&delete).expect(0, &format!("{count} delivered"));
        assert!(pair.to.table.is_empty());
    }
}

// Seen in other programs: a key of two attributes, or with a reserved word as its name, could not be deleted.
#[test]
fn a_key_may_have_any_names() {
    let key = TableOptions::key("scope", KeyType::S).sort_key("a.b-c #1", KeyType::N);
    let item = |scope: &str, number: u32| json!({"scope": {"S": scope}, "a.b-c #1": {"N": number.to_string()}, "size": {"N": "1"}, "path": {"S": "x"}});
    let items: Vec<Value> = (0..60)
        .map(|number| item(if number % 2 > 0 { "odd" } else { "even" }, number))
        .collect();
    let pair = Pair::new(&key, &items);
    pair.both("copy --from items --to items --project #size --overwrite")
        .expect(0, "60 delivered");
    assert!(
        pair.to
            .table
            .items()
            .iter()
            .all(|item| item.as_object().unwrap().len() == 3)
    );
    pair.both("diff items items").expect(1, "60 different");
    pair.both("diff items items --project #size")
        .expect(0, "60 items equal");
    for served in [&pair.to, &pair.from] {
        let delete = format!("delete --table items --all --yes {}", served.arguments());
        pair.folder.run(&delete).expect(0, "60 delivered");
        assert!(served.table.is_empty());
    }
}

// Seen in other programs: binary values within maps were encoded twice, numbers of many digits were rounded, and sets became lists.
#[test]
fn values_of_every_kind_are_in_the_copy_and_in_an_export() {
    let values = json!({
        "number": {"N": "123456789012345678901234567890.12345678"},
        "small": {"N": "-1E-130"},
        "bytes": {"B": "AP8="},
        "map": {"M": {"bytes": {"B": "MA=="}, "list": {"L": [{"B": "MA=="}, {"NULL": true}, {"BOOL": false}, {"S": ""}]}}},
        "empty": {"M": {"list": {"L": []}, "map": {"M": {}}, "bytes": {"B": ""}}},
        "numbers": {"NS": ["1", "123456789012345678901234567890"]},
        "words": {"SS": ["a", "ä\u{1f600}\n\""]},
        "blobs": {"BS": ["AA==", "/w=="]},
    });
    let items: Vec<Value> = (0..30)
        .map(|id: u32| {
            let mut item = values.clone();
            item["id"] = json!({"N": id.to_string()});
            item
        })
        .collect();
    let pair = Pair::new(&TableOptions::key("id", KeyType::N), &items);
    pair.both("copy --from items --to items").expect(0, "30 delivered");
    assert_eq!(pair.to.items(), pair.from.items());
    pair.both("diff items items").expect(0, "30 items equal");
    let export = format!("export --table items out.jsonl.gz {}", pair.from.arguments());
    pair.folder.run(&export).expect(0, "30 items");
    let empty = format!("delete --table items --all --yes {}", pair.to.arguments());
    pair.folder.run(&empty).expect(0, "30 delivered");
    let load = format!("load --table items out.jsonl.gz {}", pair.to.arguments());
    pair.folder.run(&load).expect(0, "30 delivered");
    assert_eq!(pair.to.items(), pair.from.items());
}

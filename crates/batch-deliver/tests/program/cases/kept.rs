//! What could not be read or delivered, and is kept.

use aws_batch_simulator::{IndexOptions, KeyType, TableOptions};
use serde_json::Value;

use crate::program::Folder;
use crate::served::Served;

/// The lines of a file, each as JSON.
fn lines(folder: &Folder, name: &str) -> Vec<Value> {
    let text = folder.read(name);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_service_says_why_it_refused_an_entry() {
    const WORDS: &str = "The AttributeValue for a key attribute cannot contain an empty string value. IndexName: by_email, IndexKey: email";
    let folder = Folder::new();
    let index = IndexOptions::key("email", KeyType::S);
    let served = Served::with_table(TableOptions::key("id", KeyType::S).index("by_email", index), 1e6);
    folder.write(
        "a.jsonl",
        "{\"id\":\"0\",\"email\":\"a\"}\n{\"id\":\"1\",\"email\":\"\"}\n{\"id\":\"2\",\"email\":null}\n",
    );
    folder
        .run(&format!("load --table items {} --dead-letter dead a.jsonl", served.arguments()))
        .expect(1, &format!("a.jsonl:2: refused: ValidationException: One or more parameter values are not valid. A value specified for a secondary index key is not supported. {WORDS}"))
        .expect(1, "a.jsonl:3: refused: ValidationException: One or more parameter values were invalid: Type mismatch for Index Key email");
    let mut causes = lines(&folder, "dead.causes.jsonl");
    causes.sort_by_key(|cause| cause["line"].as_u64());
    assert_eq!(causes[0]["cause"], "refused: ValidationException");
    assert_eq!(causes[0]["code"], "ValidationException");
    assert!(causes[0]["message"].as_str().unwrap().ends_with(WORDS), "{causes:?}");
    let report = folder
        .run(&format!("load --json --table items {} a.jsonl", served.arguments()))
        .report();
    assert_eq!(report["causes"].as_array().unwrap().len(), 2);
    assert!(report["causes"].to_string().contains("IndexKey: email"), "{report}");
}

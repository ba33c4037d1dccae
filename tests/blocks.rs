//! Every code block of every document is run by a test, or has the reason why it is not.
//!
//! `<!-- not run: … -->` above a block gives the reason.

use std::fs;
use std::path::{Path, PathBuf};

use super::links::documents;

/// Documents whose Rust programs `cargo test --doc` compiles, and the files that include them.
const DOC_TESTS: [(&str, &str); 7] = [
    ("README.md", "src/lib.rs"),
    ("docs/guide.md", "src/guide.rs"),
    ("docs/recipes.md", "src/guide.rs"),
    ("docs/your-loop.md", "src/guide.rs"),
    ("docs/metrics.md", "src/metrics/mod.rs"),
    ("docs/events.md", "src/events.rs"),
    (
        "crates/aws-batch-simulator/README.md",
        "crates/aws-batch-simulator/src/lib.rs",
    ),
];

/// Documents whose commands `crates/batch-deliver/tests/program/documents.rs` runs.
fn has_its_commands_run(name: &str) -> bool {
    ["README.md", "docs/recipes.md", "crates/batch-deliver/README.md"].contains(&name)
        || name.starts_with("crates/batch-deliver/docs/")
}

/// The language of each block of a document, with the line above it.
fn blocks(text: &str) -> Vec<(String, String)> {
    let (mut blocks, mut above, mut is_code) = (Vec::new(), "", false);
    for line in text.lines() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            if !is_code {
                blocks.push((language.to_owned(), above.to_owned()));
            }
            is_code = !is_code;
        }
        above = line;
    }
    blocks
}

#[test]
fn every_code_block_is_run_or_has_a_reason_why_not() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found: Vec<PathBuf> = Vec::new();
    documents(root, &mut found);
    let mut faults = Vec::new();
    for document in found {
        let name = document.strip_prefix(root).unwrap().display().to_string();
        for (language, above) in blocks(&fs::read_to_string(&document).unwrap()) {
            let is_tested = match language.split(',').next().unwrap_or_default() {
                "rust" => DOC_TESTS.iter().any(|(tested, _)| *tested == name),
                "sh" | "console" => has_its_commands_run(&name),
                // What a program prints.
                "" | "text" => true,
                _ => false,
            };
            if !is_tested && !above.starts_with("<!-- not run: ") {
                faults.push(format!("{name}: {language}, below: {above}"));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn programs_of_documents_are_included_in_the_documentation_of_the_code() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (document, file) in DOC_TESTS {
        let text = fs::read_to_string(root.join(file)).unwrap();
        let ends = text.split("include_str!(\"").skip(1);
        let is_included = ends
            .filter_map(|rest| rest.split('"').next())
            .map(|path| root.join(file).parent().unwrap().join(path).canonicalize().unwrap())
            .any(|path| path == root.join(document).canonicalize().unwrap());
        assert!(is_included, "{file} does not include {document}");
    }
}

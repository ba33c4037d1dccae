//! Documents and doc comments use the words of the glossary in `CONTRIBUTING.md`.

use std::fs;
use std::path::{Path, PathBuf};

use super::links::{documents, prose, without_code};

/// Phrases that contain a word of the right column and are natural all the same, each with its reason.
const ALLOWED: [(&str, &str); 13] = [
    ("there is no", "a negated noun is natural after \"there\""),
    ("there are no", "the same"),
    ("there was no", "the same"),
    ("there were no", "the same"),
    ("is no longer", "\"no\" belongs to the adverb"),
    ("are no longer", "the same"),
    ("is no more than", "the same"),
    ("is no less than", "the same"),
    ("is no larger than", "the same"),
    ("is no worse", "the same"),
    ("stands for", "a placeholder represents something"),
    ("stand for", "the same"),
    ("stood for", "the same"),
];

/// What is not checked, with the reason.
const LEFT_OUT: [(&str, &str); 3] = [
    ("CHANGELOG.md", "what was published is not rewritten"),
    ("docs/decisions/", "a decision is a record of its day"),
    ("benches/RESULTS.md", "a program writes it"),
];

const GLOSSARY: &str = "## Words";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The phrases of the right column of the glossary.
fn left_out_words() -> Vec<String> {
    let contributing = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let (_, glossary) = contributing.split_once(GLOSSARY).unwrap();
    let rows: Vec<&str> = glossary
        .lines()
        .skip_while(|line| !line.starts_with("|---"))
        .skip(1)
        .take_while(|line| line.starts_with('|'))
        .collect();
    assert!((10..=25).contains(&rows.len()), "{} rows", rows.len());
    rows.iter()
        .flat_map(|row| row.split('|').nth(2).unwrap().split(','))
        .map(|phrase| phrase.trim().to_lowercase())
        .collect()
}

/// The text without the section of the glossary.
fn without_glossary(text: &str) -> String {
    let (before, glossary) = text.split_once(GLOSSARY).unwrap();
    let after = glossary.split_once("\n## ").map_or("", |(_, after)| after);
    format!("{before}## {after}")
}

/// The prose of a document without its code, or of the doc comments of a Rust file; other lines are empty.
fn words_of(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    if path.extension().is_some_and(|extension| extension == "rs") {
        let mut is_code = false;
        return text
            .lines()
            .map(|line| {
                let comment = line.trim_start();
                let doc = comment.strip_prefix("///").or_else(|| comment.strip_prefix("//!"));
                let is_fence = doc.is_some_and(|doc| doc.trim_start().starts_with("```"));
                is_code = doc.is_some() && (is_code ^ is_fence);
                doc.filter(|_| !is_code && !is_fence)
                    .map(without_code)
                    .unwrap_or_default()
            })
            .collect();
    }
    let text = if path.ends_with("CONTRIBUTING.md") {
        without_glossary(&text)
    } else {
        text
    };
    prose(&text).map(without_code).collect()
}

/// The phrases that occur in the lines, over line ends as well, each with its surroundings.
fn found(lines: &[String], phrases: &[String]) -> Vec<String> {
    let words = lines.join(" ");
    let mut text = words.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    for (phrase, _) in ALLOWED {
        text = text.replace(phrase, &"_".repeat(phrase.len()));
    }
    let is_word = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '-');
    let mut found = Vec::new();
    for phrase in phrases {
        for (place, _) in text.match_indices(phrase.as_str()) {
            let (before, rest) = text.split_at(place);
            let after = &rest[phrase.len()..];
            if !is_word(before.chars().next_back()) && !is_word(after.chars().next()) {
                let start = before.char_indices().rev().nth(40).map_or(0, |(start, _)| start);
                let end: String = after.chars().take(30).collect();
                found.push(format!("{phrase}: …{}{phrase}{end}…", &before[start..]));
            }
        }
    }
    found
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn documents_and_doc_comments_keep_to_the_glossary() {
    let mut files = Vec::new();
    documents(root(), &mut files);
    rust_files(&root().join("src"), &mut files);
    for member in fs::read_dir(root().join("crates")).unwrap() {
        rust_files(&member.unwrap().path().join("src"), &mut files);
    }
    assert!(files.len() > 300, "only {} files", files.len());
    files.sort();
    let phrases = left_out_words();
    let mut faults = Vec::new();
    for file in files {
        let name = file.strip_prefix(root()).unwrap().display().to_string();
        if LEFT_OUT.iter().any(|(left_out, _)| name.contains(left_out)) {
            continue;
        }
        let found = found(&words_of(&file), &phrases);
        faults.extend(found.into_iter().map(|fault| format!("{name}: {fault}")));
    }
    let count = faults.len();
    assert!(faults.is_empty(), "{count} places:\n{}", faults.join("\n"));
}

#[test]
fn the_readme_and_each_page_of_the_manual_are_short() {
    let manual = fs::read_dir(root().join("crates/batch-deliver/docs")).unwrap();
    let pages: Vec<PathBuf> = manual.map(|page| page.unwrap().path()).collect();
    assert!(pages.len() >= 8, "{pages:?}");
    let limits = pages.into_iter().map(|page| (page, 1_200));
    for (page, limit) in limits.chain([(root().join("README.md"), 900)]) {
        let words = fs::read_to_string(&page).unwrap().split_whitespace().count();
        assert!(
            words <= limit,
            "{}: {words} words, the limit is {limit}",
            page.display()
        );
    }
}

#[test]
fn a_phrase_is_found_over_a_line_end_and_not_within_another_word_or_in_code() {
    let phrases = ["is no".to_owned(), "stands".to_owned()];
    let lines = ["It is".to_owned(), "no queue; he understands.".to_owned()];
    assert_eq!(found(&lines, &phrases), ["is no: …it is no queue; he understands.…"]);
    let allowed = ["There is no queue, `#a` stands for the name".to_owned()];
    assert!(found(&allowed, &phrases).is_empty());
    assert_eq!(without_code("what `stands` here"), "what ` here");
}

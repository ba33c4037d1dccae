//! Links between the documents lead to files and headings that exist, and the documents begin alike.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// All documents of the repository.
pub(super) fn documents(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy();
        if path.is_dir() {
            let is_hidden = name.starts_with('.') && name != ".github";
            if !is_hidden && name != "target" {
                documents(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// The lines outside of code blocks.
pub(super) fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// A line without its code spans.
pub(super) fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

/// What stands between two marks, wherever they occur.
fn between<'a>(line: &'a str, opening: &'a str, closing: char) -> impl Iterator<Item = &'a str> {
    line.split(opening)
        .skip(1)
        .filter_map(move |rest| rest.split_once(closing).map(|(inside, _)| inside))
}

/// The anchors of the headings, as GitHub and rustdoc make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for line in prose(text).filter(|line| line.starts_with('#')) {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let anchor: String = title
            .chars()
            .filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter))
            .map(|letter| if letter == ' ' { '-' } else { letter })
            .collect();
        let repeated = (1..).map(|number| format!("{anchor}-{number}"));
        let free = std::iter::once(anchor.clone())
            .chain(repeated)
            .find(|name| !anchors.contains(name));
        anchors.extend(free);
    }
    anchors
}

/// What is wrong with a link, if anything is.
fn fault(document: &Path, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    if Path::new(file).extension().is_some_and(|extension| extension == "rs") {
        return Some(format!("{file} is a Rust source: link to a document"));
    }
    let path = if file.is_empty() {
        document.to_owned()
    } else {
        document.parent().unwrap().join(file)
    };
    if !path.exists() {
        return Some(format!("there is no {file}"));
    }
    let has_anchor = || anchors(&fs::read_to_string(&path).unwrap()).contains(anchor);
    (!anchor.is_empty() && !has_anchor()).then(|| format!("{file} has no heading #{anchor}"))
}

/// What is wrong with the links of a document.
fn faults(document: &Path) -> Vec<String> {
    let text = fs::read_to_string(document).unwrap();
    let (mut targets, mut defined, mut named) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for line in prose(&text).map(without_code) {
        let definition = line
            .strip_prefix('[')
            .and_then(|rest| rest.split_once("]: "))
            .map(|(name, target)| (name.to_owned(), target.to_owned()));
        if let Some((name, target)) = definition {
            defined.insert(name);
            targets.push(target);
        } else {
            targets.extend(between(&line, "](", ')').map(str::to_owned));
            named.extend(between(&line, "][", ']').map(str::to_owned));
        }
    }
    let missing = named
        .difference(&defined)
        .map(|name| format!("[{name}] is not defined"));
    let unused = defined
        .iter()
        .filter(|name| text.matches(&format!("[{name}]")).count() == 1)
        .map(|name| format!("[{name}] is not used"));
    targets
        .iter()
        .filter_map(|target| fault(document, target))
        .chain(missing)
        .chain(unused)
        .collect()
}

#[test]
fn every_link_of_the_documents_leads_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    documents(root, &mut found);
    assert!(found.len() > 10, "only {} documents", found.len());
    let faults: Vec<String> = found
        .iter()
        .flat_map(|document| {
            let name = document.strip_prefix(root).unwrap().display().to_string();
            faults(document)
                .into_iter()
                .map(move |fault| format!("{name}: {fault}"))
        })
        .collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn anchors_are_those_of_github() {
    let text = "# What `Adaptive` does\n```\n# no heading\n```\n## In short\n## In short\n## 1,000 writes/s";
    let expected = ["1000-writess", "in-short", "in-short-1", "what-adaptive-does"];
    assert_eq!(anchors(text), expected.map(str::to_owned).into());
}

/// The first program of a document.
fn first_program(text: &str) -> Vec<&str> {
    let program = text.lines().skip_while(|line| !is_rust(line)).skip(1);
    program.take_while(|line| *line != "```").collect()
}

fn is_rust(line: &str) -> bool {
    line.starts_with("```rust") || line == "```no_run"
}

#[test]
fn the_manual_the_guide_and_the_crate_begin_with_the_same_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let [readme, guide, library] =
        ["README.md", "docs/guide.md", "src/lib.rs"].map(|file| fs::read_to_string(root.join(file)).unwrap());
    let program = first_program(&readme);
    assert!(program.len() > 10, "{program:?}");
    assert_eq!(first_program(&guide), program);
    let crate_doc: Vec<&str> = library.lines().map_while(|line| line.strip_prefix("//!")).collect();
    let crate_doc: Vec<&str> = crate_doc
        .into_iter()
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .collect();
    assert_eq!(first_program(&crate_doc.join("\n")), program);
}

//! The modules of the crate and their imports, without code that only tests compile.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A module: its place in the crate, and the names of other modules and crates in it.
#[derive(Debug, Default)]
pub(crate) struct Module {
    /// Full paths, such as `crate::contract::Fault` or `tokio::time::sleep`.
    pub(crate) imports: BTreeSet<String>,
    /// Names that it re-exports from modules below it, and their origin.
    pub(crate) passed_on: BTreeMap<String, String>,
}

/// All modules by their paths, such as `crate::engine::lanes`.
pub(crate) type Modules = BTreeMap<String, Module>;

/// Reads all modules below `src`.
pub(crate) fn modules() -> Modules {
    let mut modules = Modules::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    read("crate", &root.join("lib.rs"), &root, &mut modules);
    modules
}

/// Reads a module and those that it declares, whose files are in the folder.
fn read(path: &str, file: &Path, folder: &Path, modules: &mut Modules) {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let tokens = tokens(&without_tests_and_comments(&text));
    let children = children(&tokens);
    modules.insert(path.to_owned(), module(path, &tokens, &children));
    for child in children {
        let below = folder.join(&child);
        let files: [PathBuf; 2] = [below.with_extension("rs"), below.join("mod.rs")];
        let file = files.iter().find(|file| file.exists());
        let file = file.unwrap_or_else(|| panic!("{path}: the file of `mod {child}`"));
        read(&format!("{path}::{child}"), file, &below, modules);
    }
}

/// The text without its comments, and without code that only tests or models compile.
fn without_tests_and_comments(text: &str) -> String {
    let mut kept = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let code = line.trim_start();
        if ["#[cfg(test)]", "#[cfg(all(test", "#[cfg(model)]"]
            .iter()
            .any(|only| code.starts_with(only))
        {
            // The skipped code ends at its own indentation, with its statement or its block.
            let indent = &line[..line.len() - code.len()];
            let is_end = |line: &&str| {
                let item = line
                    .strip_prefix(indent)
                    .filter(|item| !item.starts_with(char::is_whitespace));
                item.is_some_and(|item| item == "}" || item.ends_with(';'))
            };
            let _ = lines.by_ref().find(is_end);
        } else if !code.starts_with("//") && !code.starts_with("#![") && !code.starts_with("doc =") {
            kept.push_str(line.split(" // ").next().unwrap_or_default());
            kept.push('\n');
        }
    }
    kept
}

/// Identifiers, `::`, and all other characters one by one.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|next: char| !next.is_alphanumeric() && next != '_');
        let length = match word.unwrap_or(rest.len()) {
            0 if rest.starts_with("::") => 2,
            0 => first.len_utf8(),
            length => length,
        };
        tokens.push(rest[..length].to_owned());
        rest = rest[length..].trim_start();
    }
    tokens
}

/// The modules declared as files of their own.
fn children(tokens: &[String]) -> Vec<String> {
    let declared = tokens.windows(3).filter(|three| three[0] == "mod" && three[2] == ";");
    declared.map(|three| three[1].clone()).collect()
}

fn module(path: &str, tokens: &[String], children: &[String]) -> Module {
    let mut module = Module::default();
    let mut named_in_code = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let is_use = tokens[at] == "use" && tokens.get(at + 1).is_some_and(|next| next != "<");
        if is_use {
            let is_passed_on = at > 0 && matches!(tokens[at - 1].as_str(), "pub" | ")");
            let mut imports = Vec::new();
            at = tree("", tokens, at + 1, &mut imports);
            for import in imports {
                let full = full_path(path, import.trim_end_matches("::self"), children);
                if is_passed_on && full.starts_with(&format!("{path}::")) {
                    let name = full.rsplit("::").next().unwrap_or_default();
                    module.passed_on.insert(name.to_owned(), full);
                } else {
                    module.imports.insert(full);
                }
            }
        } else if is_name(&tokens[at]) && tokens.get(at + 1).is_some_and(|next| next == "::") {
            let mut named = tokens[at].clone();
            while tokens.get(at + 1).is_some_and(|next| next == "::")
                && tokens.get(at + 2).is_some_and(|next| is_name(next))
            {
                named = format!("{named}::{}", tokens[at + 2]);
                at += 2;
            }
            named_in_code.push(named);
        }
        at += 1;
    }
    // `engine::deliver` after `use crate::engine`.
    let by_name = |name: &str| {
        module
            .imports
            .iter()
            .find(|import| import.rsplit("::").next() == Some(name))
    };
    let paths = named_in_code.iter().map(|named| match named.split_once("::") {
        Some((first, rest)) if let Some(import) = by_name(first) => format!("{import}::{rest}"),
        _ => full_path(path, named, children),
    });
    let paths: Vec<_> = paths.collect();
    module.imports.extend(paths);
    module
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// Reads one tree of a `use`, from the token `at` on. Returns the position after it.
fn tree(prefix: &str, tokens: &[String], mut at: usize, imports: &mut Vec<String>) -> usize {
    let mut path = prefix.to_owned();
    while let Some(token) = tokens.get(at) {
        match token.as_str() {
            "{" => {
                at += 1;
                while tokens[at] != "}" {
                    at = tree(&path, tokens, at, imports);
                    at += usize::from(tokens[at] == ",");
                }
                return at + 1;
            }
            "as" => at += 1,
            "," | "}" | ";" => break,
            part => path.push_str(part),
        }
        at += 1;
    }
    imports.push(path);
    at
}

/// The path from the root of the crate, or from that of another crate.
fn full_path(module: &str, named: &str, children: &[String]) -> String {
    let (first, rest) = named.split_once("::").unwrap_or((named, ""));
    let parent = |module: &str| {
        module
            .rsplit_once("::")
            .map_or("crate", |(parent, _)| parent)
            .to_owned()
    };
    let mut base = match first {
        "self" => module.to_owned(),
        "super" => parent(module),
        first if children.iter().any(|child| child == first) => format!("{module}::{first}"),
        _ => return named.to_owned(),
    };
    let mut rest = rest;
    while let Some(above) = rest.strip_prefix("super::") {
        base = parent(&base);
        rest = above;
    }
    format!("{base}::{rest}").trim_end_matches("::").to_owned()
}

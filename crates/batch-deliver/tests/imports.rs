//! What may import what. Code that only tests compile may import anything.

#[path = "../../../tests/imports/circles.rs"]
mod circles;
#[path = "../../../tests/imports/source.rs"]
mod source;

use circles::{circle, folders, graph};
use source::modules;

/// The files and folders of the crate, each of which imports only those before it.
const FROM_THE_BOTTOM: [&str; 17] = [
    "value_names",
    "blocking",
    "outcome",
    "console",
    "stop",
    "output",
    "connection",
    "source",
    "format",
    "sink",
    "keeping",
    "progress",
    "job",
    "worker",
    "arguments",
    "commands",
    "fuzzing",
];

/// The part of the crate that a path is in.
fn part(path: &str) -> Option<&str> {
    path.strip_prefix("crate::")?.split("::").next()
}

/// The imports of paths that begin so, outside of these parts of the crate.
fn imports_outside_of(parts: &[&str], begins: &[&str]) -> Vec<String> {
    let modules = modules();
    let others = modules
        .iter()
        .filter(|(path, _)| part(path).is_some_and(|part| !parts.contains(&part)));
    let imports = others.flat_map(|(path, module)| module.imports.iter().map(move |import| (path, import)));
    let found = imports.filter(|(_, import)| begins.iter().any(|begin| import.starts_with(begin)));
    found.map(|(path, import)| format!("{path} imports {import}")).collect()
}

#[test]
fn each_part_imports_only_what_is_below_it() {
    let height = |part: &str| FROM_THE_BOTTOM.iter().position(|other| *other == part);
    for (path, module) in modules() {
        let Some(own) = part(&path) else { continue };
        let own = height(own).unwrap_or_else(|| panic!("{path} has no place in the order"));
        for import in &module.imports {
            let above = part(import).and_then(height).filter(|imported| *imported > own);
            assert!(above.is_none(), "{path} imports {import}");
        }
    }
}

#[test]
fn no_module_imports_itself_by_way_of_others() {
    if let Some(circle) = circle(&graph(&modules())) {
        panic!("{}", circle.join(" → "));
    }
}

#[test]
fn only_the_commands_know_the_command_line() {
    let found = imports_outside_of(&["arguments", "commands"], &["clap", "crate::arguments"]);
    assert!(found.is_empty(), "{found:#?}");
}

/// The warnings of the library are printed by the console, and its limit of answers holds for all connections.
#[test]
fn only_the_sinks_and_the_source_of_tables_call_the_library() {
    let found = imports_outside_of(&["connection", "console", "sink", "source"], &["aws_batch_"]);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn no_folder_imports_itself_by_way_of_others() {
    if let Some(circle) = circle(&folders(&graph(&modules()))) {
        panic!("{}", circle.join(" → "));
    }
}

#[test]
fn the_imports_are_found() {
    let modules = modules();
    for (module, import) in [
        ("crate::commands::load", "crate::arguments::LoadArguments"),
        ("crate::arguments", "clap::Parser"),
        ("crate::sink::table", "aws_batch_delivery::targets::dynamo::DynamoTable"),
        ("crate::source::turns", "crate::source::record::Format"),
    ] {
        let imports = &modules[module].imports;
        assert!(imports.contains(import), "{module}: {imports:#?}");
    }
}

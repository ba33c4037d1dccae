//! What may import what. Code that only tests compile may import anything.

#[path = "../../../tests/imports/circles.rs"]
mod circles;
#[path = "../../../tests/imports/source.rs"]
mod source;

use circles::{circle, folders, graph};
use source::modules;

/// The files and folders of the crate, each of which imports only those before it.
const FROM_THE_BOTTOM: [&str; 24] = [
    "time",
    "number",
    "origin",
    "digest",
    "registry",
    "body",
    "rule",
    "config",
    "faults",
    "refusal",
    "journal",
    "plan",
    "dynamo",
    "sqs",
    "kinesis",
    "upstream",
    "alone",
    "target",
    "shared",
    "call",
    "resources",
    "front",
    "control",
    "server",
];

fn part(path: &str) -> Option<&str> {
    path.strip_prefix("crate::")?.split("::").next()
}

#[test]
fn each_part_imports_only_what_is_below_it() {
    let height = |part: &str| FROM_THE_BOTTOM.iter().position(|other| *other == part);
    for (path, module) in modules() {
        // The program is above all of them.
        let Some(own) = part(&path).filter(|part| *part != "program") else {
            continue;
        };
        let own = height(own).unwrap_or_else(|| panic!("{path} has no place in the order"));
        for import in &module.imports {
            let above = part(import).and_then(height).filter(|imported| *imported > own);
            assert!(above.is_none(), "{path} imports {import}");
        }
    }
}

#[test]
fn no_module_or_folder_imports_itself_by_way_of_others() {
    let graph = graph(&modules());
    for graph in [folders(&graph), graph] {
        if let Some(circle) = circle(&graph) {
            panic!("{}", circle.join(" → "));
        }
    }
}

#[test]
fn the_services_do_not_import_each_other() {
    for (path, module) in modules() {
        let services = ["dynamo", "sqs", "kinesis"];
        let Some(own) = part(&path).filter(|part| services.contains(part)) else {
            continue;
        };
        let others = module
            .imports
            .iter()
            .filter_map(|import| part(import))
            .filter(|part| services.contains(part) && *part != own);
        assert_eq!(others.collect::<Vec<_>>(), [""; 0], "{path}");
    }
}

/// Of the repository, only the public API of the simulator, and no SDK.
#[test]
fn nothing_is_used_but_the_simulator() {
    for (path, module) in modules() {
        for import in module.imports.iter().filter(|import| import.starts_with("aws")) {
            assert!(import.starts_with("aws_batch_simulator::"), "{path} imports {import}");
        }
    }
    let manifest = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).unwrap();
    let dependencies = manifest.lines().filter(|line| line.starts_with("aws-"));
    let names: Vec<&str> = dependencies.filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, ["aws-batch-simulator"]);
}

//! The import rules of `ARCHITECTURE.md`. Code that only tests compile may import anything.

mod circles;
mod source;

use std::fs;
use std::path::Path;

use circles::{circle, folders, graph};
use source::modules;

/// A forbidden import that exists nevertheless: the module, the path, and the reason.
type Exception = (&'static str, &'static str, &'static str);

/// Panics if a module of the place names something that begins with one of the paths, unless it is an exception. Also
/// panics if a path is no module of the crate, or an exception is no longer needed.
fn assert_imports_none(place: &str, paths: &[&str], exceptions: &[Exception]) {
    let modules = modules();
    for path in paths.iter().filter(|path| path.starts_with("crate::")) {
        let is_there = modules.keys().any(|module| is_below(module, path));
        assert!(is_there, "{place} must not import {path}, which names nothing");
    }
    let of_place = modules.iter().filter(|(path, _)| is_below(path, place));
    let mut forbidden = Vec::new();
    let mut needed = vec![false; exceptions.len()];
    let mut seen = 0;
    for (module, content) in of_place {
        seen += 1;
        let matching = |import: &&String| paths.iter().any(|path| names(import, path));
        for import in content.imports.iter().filter(matching) {
            let is_meant = |(of, path, _): &Exception| module == of && is_below(import, path);
            match exceptions.iter().position(is_meant) {
                Some(exception) => needed[exception] = true,
                None => forbidden.push(format!("{module} imports {import}")),
            }
        }
    }
    assert!(seen > 0, "there is no {place}");
    assert!(forbidden.is_empty(), "{forbidden:#?}");
    for ((module, path, _), needed) in exceptions.iter().zip(needed) {
        assert!(needed, "{module} no longer imports {path}: the exception can go");
    }
}

/// Whether the import is the path or something below it. A path that ends with `_` stands for all crates that begin so.
fn names(import: &str, path: &str) -> bool {
    is_below(import, path) || path.ends_with('_') && import.starts_with(path)
}

fn is_below(import: &str, path: &str) -> bool {
    let rest = import.strip_prefix(path);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

#[test]
fn the_engine_knows_neither_aws_nor_those_that_use_it() {
    let others = [
        "aws_",
        "crate::aws",
        "crate::delivery",
        "crate::handlers",
        "crate::producer",
        "crate::run",
        "crate::services",
        "crate::spool",
        "crate::targets",
    ];
    assert_imports_none("crate::engine", &others, &[]);
}

#[test]
fn each_part_of_the_engine_imports_only_what_is_below_it() {
    let from_the_bottom = [
        "entry",
        "input",
        "order",
        "retry",
        "calls",
        "health",
        "outcome",
        "supply",
        "preparation",
        "delivering",
    ];
    let paths = from_the_bottom.map(|part| format!("crate::engine::{part}"));
    for (place, part) in paths.iter().enumerate() {
        let above: Vec<_> = paths[place + 1..].iter().map(String::as_str).collect();
        assert_imports_none(part, &above, &[]);
    }
}

#[test]
fn the_pace_is_below_the_engine_and_all_that_use_it() {
    let above = [
        "aws_",
        "crate::backoff",
        "crate::delivery",
        "crate::engine",
        "crate::options",
        "crate::producer",
        "crate::progress",
    ];
    assert_imports_none("crate::pace", &above, &[]);
}

#[test]
fn the_contract_of_a_target_is_below_the_engine_and_the_services() {
    let above = [
        "aws_",
        "crate::aws",
        "crate::backoff",
        "crate::delivery",
        "crate::engine",
        "crate::options",
        "crate::pace",
        "crate::producer",
        "crate::services",
        "crate::spool",
    ];
    assert_imports_none("crate::contract", &above, &[]);
}

#[test]
fn services_know_neither_retries_nor_the_pace() {
    let callers = [
        "crate::backoff",
        "crate::delivery",
        "crate::engine",
        "crate::options",
        "crate::pace",
        "crate::producer",
        "crate::spool",
    ];
    assert_imports_none("crate::services", &callers, &[]);
    assert_imports_none("crate::aws", &[&callers[..], &["crate::services"]].concat(), &[]);
}

/// It is the public path of the contract and of the services.
#[test]
fn nothing_imports_the_targets_as_users_see_them() {
    let exceptions = [(
        "crate::pace::strategy",
        "crate::targets::Fault",
        "it is the fault of a call",
    )];
    assert_imports_none("crate", &["crate::targets"], &exceptions);
}

#[test]
fn strategies_do_no_io_and_have_no_clock() {
    let world = [
        "aws_",
        "crate::delivery",
        "crate::engine",
        "crate::options",
        "crate::producer",
        "crate::aws",
        "crate::contract",
        "crate::services",
        "std::fs",
        "std::net",
        "std::thread",
        "std::time::Instant::now",
        "std::time::SystemTime",
        "tokio",
    ];
    let snapshot = "a snapshot for people is taken at the time of the question, which names none";
    let exceptions = [("crate::pace::adaptive", "std::time::Instant::now", snapshot)];
    assert_imports_none("crate::backoff", &world, &[]);
    assert_imports_none("crate::pace::adaptive", &world, &exceptions);
    assert_imports_none("crate::pace::contract", &world, &[]);
    assert_imports_none("crate::pace::snapshot", &world, &[]);
}

#[test]
fn options_and_reports_are_below_the_engine_and_the_contract() {
    let above = [
        "crate::aws",
        "crate::contract",
        "crate::delivery",
        "crate::engine",
        "crate::handlers",
        "crate::producer",
        "crate::services",
        "crate::spool",
    ];
    assert_imports_none("crate::options", &above, &[]);
    assert_imports_none("crate::progress", &above, &[]);
    assert_imports_none("crate::report", &above, &[]);
}

/// From the bottom. Their users are the inputs, `sources`, and the kit for targets, `conformance`.
#[test]
fn a_delivery_and_its_handles_are_ways_to_make_a_run() {
    let users = ["crate::delivery", "crate::producer", "crate::sources", "crate::spool"];
    assert_imports_none("crate::handlers", &[&users[..], &["crate::run"]].concat(), &[]);
    assert_imports_none("crate::run", &users, &[]);
    assert_imports_none(
        "crate::producer",
        &["crate::delivery", "crate::sources", "crate::spool"],
        &[],
    );
    assert_imports_none(
        "crate::spool",
        &["crate::delivery", "crate::producer", "crate::sources"],
        &[],
    );
    assert_imports_none("crate::delivery", &["crate::sources"], &[]);
}

#[test]
fn the_store_of_a_spool_knows_only_files() {
    let crate_modules = modules();
    let of_spool = [
        "crate::spool::error",
        "crate::spool::location",
        "crate::spool::reserve",
        "crate::spool::store",
        "crate::spool::store::cells",
        "crate::spool::store::change",
        "crate::spool::store::database",
        "crate::spool::store::doubts",
        "crate::spool::store::failure",
        "crate::spool::store::files",
        "crate::spool::store::gaps",
        "crate::spool::store::pages",
        "crate::spool::store::reading",
        "crate::spool::store::rows",
        "crate::spool::store::salvage",
        "crate::spool::store::syncing",
    ];
    let others: Vec<&str> = crate_modules
        .keys()
        .map(String::as_str)
        .filter(|path| *path != "crate" && *path != "crate::spool" && !of_spool.contains(path))
        .chain(["tokio", "aws_"])
        .collect();
    assert_imports_none("crate::spool::store", &others, &[]);
    for (module, content) in crate_modules
        .iter()
        .filter(|(path, _)| !path.starts_with("crate::spool::store"))
    {
        let uses = content.imports.iter().any(|import| is_below(import, "rusqlite"));
        assert!(!uses, "{module} uses the database");
    }
}

#[test]
fn no_module_imports_itself_by_way_of_others() {
    if let Some(circle) = circle(&graph(&modules())) {
        panic!("{}", circle.join(" → "));
    }
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
        ("crate::engine::order", "crate::engine::entry::Chunk"),
        (
            "crate::services::dynamo::table",
            "crate::services::dynamo::calls::DynamoCalls",
        ),
        (
            "crate::services::sqs::offload::attempt",
            "crate::services::sqs::offload::mark",
        ),
        ("crate::run::values", "crate::guarded::destination"),
        ("crate::run::contents", "crate::engine::deliver"),
        ("crate::producer::epoch", "std::sync::Arc"),
    ] {
        let imports = &modules[module].imports;
        assert!(imports.contains(import), "{module}: {imports:#?}");
    }
    let graph = graph(&modules);
    assert!(graph["crate::options"].contains("crate::pace::gate"));
    assert!(graph["crate::producer::receipt"].contains("crate::engine::entry"));
}

/// The page is not part of the package.
#[test]
fn the_files_that_the_architecture_names_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Ok(page) = fs::read_to_string(root.join("ARCHITECTURE.md")) else {
        return;
    };
    let in_code_font = page.split('`').skip(1).step_by(2);
    let files: Vec<_> = in_code_font
        .filter(|file| {
            ["crates/", "src/", "tests/"]
                .iter()
                .any(|place| file.starts_with(place))
        })
        .collect();
    assert!(files.len() > 20, "{files:?}");
    let exists = |file: &Path| root.join(file).exists() || root.join(file).with_extension("rs").exists();
    for file in files {
        assert!(exists(Path::new(file)), "{file}");
    }
    // Rooms of the engine are named without their place.
    let rooms = ["retry/", "health/", "supply/"];
    let in_code_font = page.split('`').skip(1).step_by(2);
    for file in in_code_font.filter(|file| rooms.iter().any(|room| file.starts_with(room))) {
        assert!(exists(&Path::new("src/engine").join(file)), "{file}");
    }
}

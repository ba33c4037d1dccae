//! What may import what. Code that only tests compile may import anything.
//!
//! How imports are found is shared with the library: the folder is not part of the package.

#[path = "../../../../tests/imports/circles.rs"]
mod circles;
#[path = "../../../../tests/imports/source.rs"]
mod source;

use circles::{Graph, circle, folders, graph};
use source::modules;

/// The services. None of them imports another.
const SERVICES: [&str; 9] = [
    "cloudwatch",
    "dynamo",
    "eventbridge",
    "firehose",
    "kinesis",
    "logs",
    "s3",
    "sns",
    "sqs",
];

/// What creates and serves the resources of all services.
const FRONT: &str = "simulator";

/// The module at the root of the crate to which a module belongs.
fn part(module: &str) -> &str {
    let below = module.strip_prefix("crate::").unwrap_or_default();
    below.split("::").next().unwrap_or_default()
}

/// Panics if a module of one part imports from another part, as far as that is forbidden.
fn assert_no_import(graph: &Graph, is_forbidden: impl Fn(&str, &str) -> bool) {
    let imports = graph
        .iter()
        .flat_map(|(module, origins)| origins.iter().map(move |origin| (module, origin)));
    let forbidden: Vec<_> = imports
        .filter(|(module, origin)| is_forbidden(part(module), part(origin)))
        .map(|(module, origin)| format!("{module} imports {origin}"))
        .collect();
    assert!(forbidden.is_empty(), "{forbidden:#?}");
}

#[test]
fn no_module_imports_itself_by_way_of_others() {
    if let Some(circle) = circle(&graph(&modules())) {
        panic!("{}", circle.join(" → "));
    }
}

#[test]
fn no_service_imports_another() {
    assert_no_import(&graph(&modules()), |part, origin| {
        SERVICES.contains(&part) && SERVICES.contains(&origin) && part != origin
    });
}

#[test]
fn what_services_share_imports_no_service() {
    assert_no_import(&graph(&modules()), |part, origin| {
        let is_shared = !SERVICES.contains(&part) && part != FRONT;
        is_shared && SERVICES.contains(&origin)
    });
}

#[test]
fn only_the_root_imports_the_front() {
    assert_no_import(&graph(&modules()), |part, origin| {
        !part.is_empty() && part != FRONT && origin == FRONT
    });
}

#[test]
fn nothing_imports_the_root() {
    assert_no_import(&graph(&modules()), |part, origin| !part.is_empty() && origin.is_empty());
}

#[test]
fn no_folder_imports_itself_by_way_of_others() {
    if let Some(circle) = circle(&folders(&graph(&modules()))) {
        panic!("{}", circle.join(" → "));
    }
}

#[test]
fn the_imports_are_found() {
    let graph = graph(&modules());
    let parts: Vec<&str> = graph.keys().map(|module| part(module)).collect();
    for expected in SERVICES.into_iter().chain([FRONT]) {
        assert!(parts.contains(&expected), "{expected}");
    }
    for (module, origin) in [
        ("crate::simulator::router", "crate::dynamo::table"),
        ("crate::dynamo::table", "crate::gate"),
        ("crate::handles", "crate::fault"),
        ("crate::kinesis::put", "crate::kinesis::stream"),
        ("crate::intake", "crate::intake::shard"),
    ] {
        assert!(graph[module].contains(origin), "{module}: {:#?}", graph[module]);
    }
}

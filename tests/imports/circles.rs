//! Cycles among the modules.

use std::collections::{BTreeMap, BTreeSet};

use super::source::Modules;

/// Which modules each module imports from.
pub(crate) type Graph = BTreeMap<String, BTreeSet<String>>;

pub(crate) fn graph(modules: &Modules) -> Graph {
    let edges = |(path, module): (&String, &super::source::Module)| {
        let imported = module.imports.iter().filter_map(|import| origin(modules, import));
        (path.clone(), imported.filter(|origin| origin != path).collect())
    };
    modules.iter().map(edges).collect()
}

/// The module in which an item is defined, wherever it is re-exported.
fn origin(modules: &Modules, import: &str) -> Option<String> {
    let mut path = import;
    let mut below = "";
    while !modules.contains_key(path) {
        let (parent, name) = path.rsplit_once("::")?;
        (path, below) = (parent, name);
    }
    let passed_on = modules[path].passed_on.get(below);
    match passed_on {
        Some(from) => origin(modules, from),
        None => Some(path.to_owned()),
    }
}

/// A cycle as the list of its modules, with the first one again at the end; `None` if there is none.
pub(crate) fn circle(graph: &Graph) -> Option<Vec<String>> {
    let mut done = BTreeSet::new();
    graph
        .keys()
        .find_map(|start| visit(graph, start, &mut Vec::new(), &mut done))
}

fn visit<'a>(
    graph: &'a Graph,
    module: &'a str,
    way: &mut Vec<&'a str>,
    done: &mut BTreeSet<&'a str>,
) -> Option<Vec<String>> {
    if let Some(begin) = way.iter().position(|earlier| *earlier == module) {
        let circle = way[begin..].iter().chain([&module]);
        return Some(circle.map(|module| (*module).to_owned()).collect());
    }
    if !done.insert(module) {
        return None;
    }
    way.push(module);
    let found = graph
        .get(module)
        .into_iter()
        .flatten()
        .find_map(|next| visit(graph, next, way, done));
    way.pop();
    found
}

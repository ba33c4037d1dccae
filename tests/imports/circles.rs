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

/// Which folder or file imports from which one beside it in the same folder, however deep inside of it.
pub(crate) fn folders(modules: &Graph) -> Graph {
    let mut folders = Graph::new();
    let imports = modules.iter();
    for (module, origin) in imports.flat_map(|(module, origins)| origins.iter().map(move |origin| (module, origin))) {
        if let Some((from, to)) = beside(module, origin) {
            folders.entry(from).or_default().insert(to);
        }
    }
    folders
}

/// The two that lie beside each other in the innermost folder that has both modules; `None` if that is one of the modules.
fn beside(module: &str, origin: &str) -> Option<(String, String)> {
    let (own, other): (Vec<_>, Vec<_>) = (module.split("::").collect(), origin.split("::").collect());
    let shared = own.iter().zip(&other).take_while(|(own, other)| own == other).count();
    let place = |path: &[&str]| path.get(..=shared).map(|path| path.join("::"));
    Some((place(&own)?, place(&other)?))
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

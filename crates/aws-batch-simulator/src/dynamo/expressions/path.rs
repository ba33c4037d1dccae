//! Document paths.

use std::fmt::{self, Display};

use serde_json::{Map, Value};

/// Elements of a path at most.
pub(super) const DEEPEST: usize = 32;

/// An element of a path. Indexes are in the order of their numbers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    Name(String),
    Index(usize),
}

/// The place of a value in an item. The first element is the name of an attribute.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Path {
    pub(super) root: String,
    pub(super) steps: Vec<Step>,
}

impl Path {
    /// An attribute at the top of the item.
    pub(super) fn attribute(name: impl Into<String>) -> Self {
        Self {
            root: name.into(),
            steps: Vec::new(),
        }
    }

    pub(super) fn find<'v>(&self, item: &'v Map<String, Value>) -> Option<&'v Value> {
        let first = item.get(&self.root)?;
        self.steps.iter().try_fold(first, |value, step| step.of(value))
    }

    /// Whether one of the paths leads to the other one, or both to the same value.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        let is_shorter = self.steps.len().min(other.steps.len());
        self.root == other.root && self.steps[..is_shorter] == other.steps[..is_shorter]
    }

    /// Whether the paths need the same value to be a list and to be a map.
    pub(super) fn conflicts(&self, other: &Self) -> bool {
        let mut steps = self
            .steps
            .iter()
            .zip(&other.steps)
            .skip_while(|(one, other)| one == other);
        let differing = steps.next();
        self.root == other.root
            && matches!(
                differing,
                Some((Step::Name(_), Step::Index(_)) | (Step::Index(_), Step::Name(_)))
            )
    }
}

impl Step {
    /// What the step leads to in a list or a map.
    pub(super) fn of<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        match self {
            Self::Name(name) => value.get("M")?.get(name),
            Self::Index(index) => value.get("L")?.get(index),
        }
    }
}

impl Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => formatter.write_str(name),
            Self::Index(index) => write!(formatter, "[{index}]"),
        }
    }
}

/// As in errors.
impl Display for Path {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "[{}", self.root)?;
        for step in &self.steps {
            write!(formatter, ", {step}")?;
        }
        formatter.write_str("]")
    }
}

/// What is wrong with paths that are used together.
pub(super) fn problem_of_paths(paths: &[&Path]) -> Option<String> {
    let pairs = paths
        .iter()
        .enumerate()
        .flat_map(|(number, one)| paths[number + 1..].iter().map(move |other| (one, other)));
    for (one, other) in pairs {
        let problem = match (one.overlaps(other), one.conflicts(other)) {
            (true, _) => "overlap",
            (_, true) => "conflict",
            _ => continue,
        };
        return Some(format!(
            "Two document paths {problem} with each other; must remove or rewrite one of these paths; path one: {one}, path \
             two: {other}"
        ));
    }
    None
}

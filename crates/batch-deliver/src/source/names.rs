//! Names of files and objects: what a name stands for, and which names are near one that does not exist.

use std::fs;
use std::path::Path;

use glob::{MatchOptions, Pattern};

/// The prefix of the name of an S3 object.
pub(crate) const SCHEME: &str = "s3://";

/// Whether an argument names a bucket or an object in another way than with the scheme.
pub(super) fn is_of_bucket(argument: &str) -> bool {
    let argument = argument.to_ascii_lowercase();
    let host = argument
        .strip_prefix("https://")
        .and_then(|rest| rest.split('/').next());
    argument.starts_with("s3:/")
        || argument.starts_with("arn:aws") && argument.contains(":s3:")
        || host
            .is_some_and(|host| host.ends_with(".amazonaws.com") && host.split('.').any(|part| part.starts_with("s3")))
}

/// Characters that make a name a pattern.
pub(super) const WILDCARDS: [char; 3] = ['*', '?', '['];

/// A star does not match a slash, as with files, and no dot at the beginning of a name, as in a shell.
pub(super) const IN_A_FOLDER: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

/// Whether an argument names this object. Without a slash at the end and without wildcards, a name is that of one object, so
/// that nothing is read, and above all nothing is deleted, whose name only begins so.
pub(crate) fn names(argument: &str, object: &str) -> bool {
    argument == object
        || argument.ends_with('/') && object.starts_with(argument)
        || Pattern::new(argument).is_ok_and(|pattern| pattern.matches_with(object, IN_A_FOLDER))
}

/// The folder of a path, which has no name if it is the current one.
pub(super) fn searched(folder: &Path) -> &Path {
    if folder == Path::new("") {
        Path::new(".")
    } else {
        folder
    }
}

/// The bucket and the key of a name without its scheme. The key of all objects is empty.
pub(super) fn parts(name: &str) -> Result<(&str, &str), String> {
    match name.split_once('/') {
        Some(("", _)) => Err(format!(
            "{SCHEME}{name} has no bucket: name it as in {SCHEME}bucket/key"
        )),
        Some(parts) => Ok(parts),
        None if name.is_empty() => Err(format!("{SCHEME} has no bucket: name it as in {SCHEME}bucket/key")),
        None => Err(format!(
            "{SCHEME}{name} is a bucket: name an object in it, or all of them as {SCHEME}{name}/"
        )),
    }
}

/// The most names that are shown.
const SHOWN: usize = 3;

/// The similarity, from 0 to 1, from which a name may be a slip of another one.
const SIMILAR: f64 = 0.85;

/// The names in a folder that are most like the wanted one. All of them begin with the folder.
pub(super) fn nearest(folder: &str, wanted: &str, names: impl IntoIterator<Item = String>) -> Vec<String> {
    let within = |name: &str| name.strip_prefix(folder).unwrap_or(name).to_owned();
    let wanted = within(wanted);
    let mut near: Vec<(f64, String)> = names
        .into_iter()
        .map(|name| (similarity(&wanted, &within(&name)), name))
        .filter(|(similarity, _)| *similarity >= SIMILAR)
        .collect();
    near.sort_by(|(a, one), (b, other)| b.total_cmp(a).then_with(|| one.cmp(other)));
    near.dedup();
    near.into_iter().take(SHOWN).map(|(_, name)| name).collect()
}

/// Names that differ only in case or a slash at the end are as similar as can be, then those of which one begins the other.
fn similarity(one: &str, other: &str) -> f64 {
    let folded = |name: &str| name.trim_end_matches('/').to_lowercase();
    let (one, other) = (folded(one), folded(other));
    if one == other {
        2.0
    } else if !one.is_empty() && !other.is_empty() && (one.starts_with(&other) || other.starts_with(&one)) {
        1.0
    } else {
        strsim::jaro_winkler(&one, &other).min(0.999)
    }
}

/// What follows after the words that something is missing.
pub(super) fn near_words(near: &[String]) -> String {
    match near {
        [] => String::new(),
        [one] => format!("; near it is {one}"),
        [others @ .., last] => format!("; near it are {} and {last}", others.join(", ")),
    }
}

/// Files and folders near a path, in the last of its folders that exists.
pub(super) fn near_path(path: &Path) -> Vec<String> {
    for missing in path.ancestors() {
        let (Some(folder), Some(name)) = (missing.parent(), missing.file_name()) else {
            break;
        };
        let Ok(entries) = fs::read_dir(searched(folder)) else {
            continue;
        };
        let names = entries.filter_map(|entry| Some(entry.ok()?.file_name().display().to_string()));
        let near = nearest("", &name.display().to_string(), names);
        let mut near: Vec<String> = near
            .iter()
            .map(|name| folder.join(name).display().to_string())
            .collect();
        // A link that leads nowhere has the name itself.
        near.retain(|near| *near != path.display().to_string());
        return near;
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_is_that_of_one_object_a_folder_or_a_pattern() {
        for (argument, named, others) in [
            (
                "s3://b/a",
                vec!["s3://b/a"],
                vec!["s3://b/a.bak", "s3://b/a/", "s3://b/a/b"],
            ),
            (
                "s3://b/a/",
                vec!["s3://b/a/b", "s3://b/a/b/c"],
                vec!["s3://b/a", "s3://b/ab"],
            ),
            (
                "s3://b/a*",
                vec!["s3://b/a", "s3://b/a.b"],
                vec!["s3://b/a/b", "s3://b/A"],
            ),
            ("s3://b/*", vec!["s3://b/a"], vec!["s3://b/.a", "s3://b/a/b"]),
            ("s3://b/.*", vec!["s3://b/.a"], vec!["s3://b/a"]),
            ("s3://b/[a]", vec!["s3://b/[a]", "s3://b/a"], vec!["s3://b/b"]),
            ("s3://b/", vec!["s3://b/a", "s3://b/a/b"], vec!["s3://bb/a"]),
        ] {
            assert!(named.iter().all(|object| names(argument, object)), "{argument}");
            assert!(!others.iter().any(|object| names(argument, object)), "{argument}");
        }
    }

    #[test]
    fn slips_are_near_and_other_names_are_not() {
        let names = [
            "in/",
            "in/users.json.bak",
            "in/Users.json",
            "in/films/",
            "in/user.json",
            "in/z",
        ];
        let near = |wanted: &str| nearest("in/", wanted, names.map(str::to_owned));
        assert_eq!(
            near("in/users.json"),
            ["in/Users.json", "in/users.json.bak", "in/user.json"]
        );
        assert_eq!(near("in/films"), ["in/films/"]);
        assert_eq!(near("in/flims/"), ["in/films/"]);
        assert_eq!(near("in/y"), Vec::<String>::new());
    }

    proptest! {
        #[test]
        fn a_name_without_wildcards_names_itself_or_what_is_below_its_slash(argument in "s3://b/[a-c./]{0,6}", object in "s3://b/[a-c./]{0,6}") {
            if names(&argument, &object) && argument != object {
                prop_assert!(argument.ends_with('/') && object.starts_with(&argument));
            }
        }
    }
}

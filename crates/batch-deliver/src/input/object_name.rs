//! Names of objects in S3: one object, a folder, or a pattern.

use glob::{MatchOptions, Pattern};

/// The prefix of the name of an S3 object.
pub(crate) const SCHEME: &str = "s3://";

/// Characters that make a name a pattern.
pub(super) const WILDCARDS: [char; 3] = ['*', '?', '['];

/// A star does not match a slash, as with files.
pub(super) const IN_A_FOLDER: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: false,
};

/// Whether an argument names this object. Without a slash at its end and without wildcards, a name is that of one object, so
/// that nothing is read, and above all nothing is deleted, whose name only begins so.
pub(crate) fn names(argument: &str, object: &str) -> bool {
    argument == object
        || argument.ends_with('/') && object.starts_with(argument)
        || Pattern::new(argument).is_ok_and(|pattern| pattern.matches_with(object, IN_A_FOLDER))
}

/// The bucket and the key of a name without its scheme. The key of all objects is empty.
#[cfg(feature = "s3")]
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
            ("s3://b/[a]", vec!["s3://b/[a]", "s3://b/a"], vec!["s3://b/b"]),
            ("s3://b/", vec!["s3://b/a", "s3://b/a/b"], vec!["s3://bb/a"]),
        ] {
            assert!(named.iter().all(|object| names(argument, object)), "{argument}");
            assert!(!others.iter().any(|object| names(argument, object)), "{argument}");
        }
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

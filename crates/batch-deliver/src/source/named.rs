//! The inputs that the arguments name.

use std::io::{IsTerminal, stdin};
use std::path::Path;

use super::export::{self, DataFiles};
use super::input::{Input, InputStorage, STANDARD_INPUT};
use super::names::{SCHEME, WILDCARDS, is_of_bucket};
use super::{listing, pattern};
use crate::connection::Connection;
use crate::console::{grouped, size};
use crate::outcome::Failure;

/// The inputs that these arguments name: files, patterns, folders of exports, objects of S3, `-`.
pub(crate) async fn named(arguments: &[String], connection: &Connection) -> Result<Vec<Input>, Failure> {
    if arguments.is_empty() {
        if stdin().is_terminal() {
            let words = "no input is named: name files, or - for the standard input";
            return Err(Failure::WrongUse(words.to_owned()));
        }
        return Ok(vec![Input::standard()]);
    }
    let mut inputs = Vec::new();
    for argument in arguments {
        inputs.extend(match argument.strip_prefix(SCHEME) {
            Some(object) => listing::named(object, connection).await?,
            None => local(argument)?,
        });
    }
    if inputs
        .iter()
        .filter(|input| input.storage == InputStorage::Standard)
        .count()
        > 1
    {
        let words = "the standard input is named twice: it can be read only once";
        return Err(Failure::WrongUse(words.to_owned()));
    }
    if arguments.len() > 1 {
        for input in &mut inputs {
            input.has_own_keys = false;
        }
    }
    Ok(inputs)
}

/// The file or object with exactly this name, as a plan has it.
pub(crate) async fn exactly(name: &str, connection: &Connection) -> Result<Input, Failure> {
    match name.strip_prefix(SCHEME) {
        Some(object) => listing::exactly(object, connection).await,
        None => Input::file(Path::new(name)),
    }
}

fn local(argument: &str) -> Result<Vec<Input>, Failure> {
    let path = Path::new(argument);
    if argument == STANDARD_INPUT {
        return Ok(vec![Input::standard()]);
    }
    if !path.exists() && is_of_bucket(argument) {
        let words = format!("there is no file {argument}: name an object as in {SCHEME}bucket/key");
        return Err(Failure::WrongUse(words));
    }
    if !path.exists() && argument.contains(WILDCARDS) {
        return matching(argument);
    }
    match export::data_files(path).map_err(Failure::WrongUse)? {
        Some(DataFiles { files, is_full }) => {
            let inputs = files.iter().map(|file| {
                Ok(Input {
                    has_own_keys: is_full,
                    ..Input::file(file)?
                })
            });
            inputs.collect()
        }
        None => Ok(vec![Input::file(path)?]),
    }
}

/// The files that match, in the order of their names.
fn matching(pattern: &str) -> Result<Vec<Input>, Failure> {
    let files = pattern::files(pattern).map_err(Failure::WrongUse)?;
    if files.is_empty() {
        return Err(Failure::WrongUse(format!("no file matches {pattern}")));
    }
    files.iter().map(|file| Input::file(file)).collect()
}

/// The most names that are shown.
const SHOWN: usize = 3;

/// The first names, the number and the size of the inputs, for people to see what a name or a pattern has found.
pub(crate) fn described(inputs: &[Input]) -> String {
    let name = |input: &Input| match input.name.as_str() {
        STANDARD_INPUT => "the standard input".to_owned(),
        name => name.to_owned(),
    };
    let bytes: Option<u64> = inputs.iter().map(|input| input.bytes).sum();
    let bytes = bytes.map(|bytes| format!(", {}", size(bytes))).unwrap_or_default();
    if let [input] = inputs {
        return format!("{}{bytes}", name(input));
    }
    let shown: Vec<String> = inputs.iter().take(SHOWN).map(name).collect();
    let others = match inputs.len().saturating_sub(SHOWN) {
        0 => String::new(),
        others => format!(" and {} more", grouped(others as u64)),
    };
    let count = grouped(inputs.len() as u64);
    let names = if shown.is_empty() {
        String::new()
    } else {
        format!(": {}{others}", shown.join(", "))
    };
    format!("{count} inputs{bytes}{names}")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use futures::FutureExt;

    use super::*;

    fn names(arguments: &[&str]) -> Result<Vec<String>, String> {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        let inputs = named(&arguments, &Connection::default()).now_or_never().unwrap();
        let inputs = inputs.map_err(|failure| failure.to_string())?;
        Ok(inputs.into_iter().map(|input| input.name).collect())
    }

    #[test]
    fn files_patterns_and_the_standard_input_are_named_together() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.jsonl", "a.jsonl", "c.csv", "[d].jsonl"] {
            fs::write(folder.path().join(name), "{}").unwrap();
        }
        let path = |name: &str| folder.path().join(name).display().to_string();
        let inputs = names(&[&path("c.csv"), "-", &path("[ab]*.jsonl"), &path("[d].jsonl")]).unwrap();
        assert_eq!(
            inputs,
            [
                path("c.csv"),
                "-".into(),
                path("a.jsonl"),
                path("b.jsonl"),
                path("[d].jsonl")
            ]
        );
        assert!(names(&[&path("x*")]).unwrap_err().contains("no file matches"));
        assert!(names(&[&path("x")]).unwrap_err().contains("cannot be read"));
        assert!(names(&["-", "-"]).unwrap_err().contains("only once"));
        let of_folder = names(&[&folder.path().display().to_string()]).unwrap_err();
        assert!(of_folder.contains("name the files in it"), "{of_folder}");
    }

    #[test]
    fn a_pattern_matches_no_hidden_file_unless_it_names_the_dot() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "a.jsonl",
            ".b.jsonl",
            ".DS_Store",
            "c/d.jsonl",
            ".c/.e.jsonl",
            ".c/f.jsonl",
        ] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "{}").unwrap();
        }
        let path = |name: &str| folder.path().join(name).display().to_string();
        assert_eq!(names(&[&path("*")]).unwrap(), [path("a.jsonl")]);
        assert!(names(&[&path("?b.jsonl")]).unwrap_err().contains("no file matches"));
        assert_eq!(names(&[&path(".b*")]).unwrap(), [path(".b.jsonl")]);
        assert_eq!(names(&[&path(".c/*")]).unwrap(), [path(".c/f.jsonl")]);
        assert_eq!(
            names(&[&path("**/*.jsonl")]).unwrap(),
            [path("a.jsonl"), path("c/d.jsonl")]
        );
    }

    /// Other systems have no such names.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_pattern_in_whose_folder_a_name_is_not_utf_8_is_refused_not_half_read() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;

        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let write = |name: &[u8]| {
            let path = folder.path().join(OsStr::from_bytes(name));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "{}").unwrap();
        };
        for name in [&b"a.jsonl"[..], b"l\xe9.jsonl", b"in/a.jsonl", b"in/\xe9/a.jsonl"] {
            write(name);
        }
        for pattern in ["*", "l*.jsonl", "**/*.jsonl", "in/*/a.jsonl", "i?/*/*"] {
            let refused = names(&[&path(pattern)]).unwrap_err();
            assert!(
                refused.contains("\\xe9") && refused.contains("not UTF-8"),
                "{pattern}: {refused}"
            );
        }
        // What does not match may have any name, and so may a folder in which nothing does.
        write(b"out/1/a.jsonl");
        write(b"out/\xe9/notes");
        assert_eq!(names(&[&path("out/*/*.jsonl")]).unwrap(), [path("out/1/a.jsonl")]);
        assert_eq!(names(&[&path("out/*/a.jsonl")]).unwrap(), [path("out/1/a.jsonl")]);
        assert_eq!(names(&[&path("a*")]).unwrap(), [path("a.jsonl")]);
        assert_eq!(names(&[&path("in/*")]).unwrap(), [path("in/a.jsonl")]);
    }

    #[test]
    fn a_bucket_that_is_named_in_another_way_is_told_with_the_scheme() {
        for name in [
            "S3://bucket/a",
            "s3:/bucket/a",
            "https://bucket.s3.eu-west-1.amazonaws.com/a",
            "https://s3.amazonaws.com/bucket/a*",
            "arn:aws:s3:::bucket/a",
        ] {
            let refused = names(&[name]).unwrap_err();
            assert!(refused.contains("as in s3://bucket/key"), "{refused}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_leads_nowhere_is_not_near_itself() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("nowhere", folder.path().join("c.jsonl")).unwrap();
        let refused = names(&[&folder.path().join("*").display().to_string()]).unwrap_err();
        assert!(
            refused.contains("cannot be read") && !refused.contains("near it"),
            "{refused}"
        );
    }

    #[test]
    fn inputs_are_told_by_their_first_names_their_number_and_their_size() {
        let input = |name: &str, bytes: Option<u64>| Input {
            name: name.to_owned(),
            storage: InputStorage::Standard,
            bytes,
            part: None,
            encoding: None,
            has_own_keys: false,
        };
        assert_eq!(described(&[input("a", Some(5))]), "a, 5 B");
        assert_eq!(described(&[]), "0 inputs, 0 B");
        assert_eq!(described(&[input("-", None)]), "the standard input");
        let two = [input("a", Some(5)), input("b", Some(1_000))];
        assert_eq!(described(&two), "2 inputs, 1.0 kB: a, b");
        let many: Vec<Input> = (0..1_203).map(|number| input(&number.to_string(), None)).collect();
        assert_eq!(described(&many), "1,203 inputs: 0, 1, 2 and 1,200 more");
    }
}

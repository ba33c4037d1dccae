//! The inputs that the arguments name.

use std::io::{IsTerminal, stdin};
use std::path::Path;

use super::export::{self, DataFiles};
use super::input::{Input, STANDARD_INPUT, Storage};
#[cfg(feature = "s3")]
use super::listing;
use super::names::{SCHEME, WILDCARDS};
use crate::arguments::Service;
use crate::outcome::Failure;

/// The inputs that these arguments name: files, patterns, folders of exports, objects of S3, `-`.
pub(crate) async fn named(arguments: &[String], service: &Service) -> Result<Vec<Input>, Failure> {
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
            Some(object) => objects(object, service).await?,
            None => local(argument).map_err(Failure::WrongUse)?,
        });
    }
    if inputs.iter().filter(|input| input.storage == Storage::Standard).count() > 1 {
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

#[cfg(feature = "s3")]
async fn objects(name: &str, service: &Service) -> Result<Vec<Input>, Failure> {
    listing::named(name, service).await
}

#[cfg(not(feature = "s3"))]
#[expect(clippy::unused_async, reason = "with the feature it waits")]
async fn objects(name: &str, _: &Service) -> Result<Vec<Input>, Failure> {
    Err(without_s3(name))
}

/// The file or object with exactly this name, as a plan has it.
#[cfg(feature = "distributed")]
pub(crate) async fn exactly(name: &str, service: &Service) -> Result<Input, Failure> {
    match name.strip_prefix(SCHEME) {
        Some(object) => object_named(object, service).await,
        None => Input::file(Path::new(name)).map_err(Failure::WrongUse),
    }
}

#[cfg(all(feature = "distributed", feature = "s3"))]
async fn object_named(name: &str, service: &Service) -> Result<Input, Failure> {
    listing::exactly(name, service).await
}

#[cfg(all(feature = "distributed", not(feature = "s3")))]
#[expect(clippy::unused_async, reason = "with the feature it waits")]
async fn object_named(name: &str, _: &Service) -> Result<Input, Failure> {
    Err(without_s3(name))
}

fn local(argument: &str) -> Result<Vec<Input>, String> {
    let path = Path::new(argument);
    if argument == STANDARD_INPUT {
        return Ok(vec![Input::standard()]);
    }
    if !path.exists() && argument.contains(WILDCARDS) {
        return matching(argument);
    }
    match export::data_files(path)? {
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
fn matching(pattern: &str) -> Result<Vec<Input>, String> {
    let paths = glob::glob(pattern).map_err(|error| format!("{pattern} is not a valid pattern: {error}"))?;
    let mut files = Vec::new();
    for path in paths {
        let path = path.map_err(|error| format!("{pattern} cannot be searched: {error}"))?;
        if !path.is_dir() {
            files.push(Input::file(&path)?);
        }
    }
    if files.is_empty() {
        return Err(format!("no file matches {pattern}"));
    }
    Ok(files)
}

#[cfg(not(feature = "s3"))]
fn without_s3(name: &str) -> Failure {
    let words =
        format!("{SCHEME}{name} cannot be read: this program was built without S3: install it with --features s3");
    Failure::WrongUse(words)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use futures::FutureExt;

    use super::*;

    fn names(arguments: &[&str]) -> Result<Vec<String>, String> {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        let inputs = named(&arguments, &Service::default()).now_or_never().unwrap();
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
}

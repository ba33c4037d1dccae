//! The first command of the README, which loads the sample of this package.

use std::fs;
use std::path::Path;

use crate::program::Folder;

/// A line of a report, with its counts but without what depends on the time that it took.
fn counts(line: &str) -> &str {
    line.split(" in ").next().unwrap_or(line)
}

#[test]
fn the_first_command_of_the_readme_prints_what_it_shows() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(package.join("README.md")).unwrap();
    let (_, example) = readme.split_once("```console\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let (command, shown) = example.split_once('\n').unwrap();
    let arguments = command.strip_prefix("$ batch-deliver ").unwrap();

    // The place that the sample has in a clone, which a package does not have.
    let folder = Folder::new();
    let place = arguments.rsplit(' ').next().unwrap();
    fs::create_dir_all(folder.path(place).parent().unwrap()).unwrap();
    fs::copy(package.join("sample/films.jsonl"), folder.path(place)).unwrap();
    let run = folder.run(arguments);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let shown: Vec<_> = shown.lines().map(counts).collect();
    // There may be progress, and by what the table has throttled.
    let mut printed = run.stderr.lines().map(counts);
    let is_printed = |shown: &_| printed.any(|line| line == *shown);
    assert!(shown.iter().all(is_printed), "{shown:?}\n{}", run.stderr);
}

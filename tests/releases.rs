//! The tests and features that CI names exist, every lock file has the current versions, and the mutations fit the program.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What stands between quotes.
fn quoted(line: &str) -> Vec<&str> {
    line.split('"').skip(1).step_by(2).collect()
}

fn version(manifest: &str) -> String {
    let manifest = read(manifest);
    let line = manifest.lines().find(|line| line.starts_with("version = "));
    quoted(line.unwrap())[0].to_owned()
}

const MANIFESTS: [(&str, &str); 3] = [
    ("aws-batch-delivery", "Cargo.toml"),
    ("aws-batch-simulator", "crates/aws-batch-simulator/Cargo.toml"),
    ("batch-deliver", "crates/batch-deliver/Cargo.toml"),
];

#[test]
fn every_test_that_has_to_notice_mutants_exists() {
    let settings = read(".cargo/mutants.toml");
    let arguments = settings
        .lines()
        .find(|line| line.starts_with("additional_cargo_args"))
        .unwrap();
    let arguments = quoted(arguments);
    let named: Vec<_> = arguments
        .windows(2)
        .filter(|pair| pair[0] == "--test")
        .map(|pair| pair[1])
        .collect();
    assert!(!named.is_empty());
    for name in named {
        let tests = root().join("tests");
        let is_there = tests.join(format!("{name}.rs")).exists() || tests.join(name).join("main.rs").exists();
        assert!(is_there, "there is no test {name}");
    }
}

#[test]
fn every_lock_file_has_the_versions_of_the_packages() {
    for lock in [
        "Cargo.lock",
        "benches/metering/Cargo.lock",
        "benches/peers/Cargo.lock",
        "fuzz/Cargo.lock",
    ] {
        let locked = read(lock);
        let mut found = 0;
        for (package, manifest) in MANIFESTS {
            let header = format!("name = \"{package}\"\n");
            let Some((_, of_package)) = locked.split_once(&header) else {
                continue;
            };
            found += 1;
            let line = of_package.lines().next().unwrap();
            assert_eq!(quoted(line), [version(manifest)], "{package} in {lock}");
        }
        assert!(found > 0, "{lock} has none of the packages");
    }
}

#[test]
fn ci_has_every_feature_of_every_package() {
    let script = read(".ci/run");
    let libraries = script.lines().find(|line| line.starts_with("library_features="));
    let listed_for = |package: &str| -> BTreeSet<String> {
        let list = if package == "aws-batch-delivery" {
            quoted(libraries.unwrap())[0].to_owned()
        } else {
            let call = format!("each_feature_of {package} \"");
            let line = script.lines().find(|line| line.trim_start().starts_with(&call));
            quoted(line.unwrap())[0].to_owned()
        };
        list.split(' ').map(str::to_owned).collect()
    };
    for (package, manifest) in MANIFESTS {
        let manifest = read(manifest);
        let features = manifest.split_once("\n[features]\n").unwrap().1;
        let features = features.split("\n[").next().unwrap();
        let lines = features
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.split_once(" = "));
        let named: BTreeSet<String> = lines
            .map(|(name, _)| name.to_owned())
            .filter(|name| name != "default" && !name.starts_with('_'))
            .collect();
        assert_eq!(listed_for(package), named, "{package}");
    }
}

/// `.ci/mutations` runs before a release only.
#[test]
fn every_mutation_applies_to_the_program() {
    let folder = "crates/batch-deliver/tests/mutations";
    let mut patches = 0;
    for patch in fs::read_dir(folder).unwrap() {
        let patch = patch.unwrap().path();
        let applied = Command::new("git").args(["apply", "--check"]).arg(&patch).output();
        // Without git there is nothing to release.
        let Ok(applied) = applied else { return };
        let said = String::from_utf8_lossy(&applied.stderr);
        assert!(applied.status.success(), "{}: {said}", patch.display());
        patches += 1;
    }
    assert!(patches > 20, "{patches}");
}

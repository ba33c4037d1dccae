//! Every test that the documentation names exists.

use std::fs;
use std::path::Path;

/// The files that a line names, each with the tests that follow it: `` `tests/…rs`: `one`, `another` ``.
fn named(document: &str) -> Vec<(String, String)> {
    let mut named = Vec::new();
    let mut file = None;
    for line in document.lines() {
        if !line.starts_with("  ") {
            file = None;
        }
        for name in line.split('`').skip(1).step_by(2) {
            if Path::new(name).extension().is_some_and(|extension| extension == "rs") {
                file = Some(name.to_owned());
            } else if let Some(file) = &file {
                named.push((file.clone(), name.to_owned()));
            }
        }
    }
    named
}

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_test_that_a_guarantee_names_exists() {
    let named = named(&read("docs/guarantees.md"));
    assert!(named.len() > 40, "only {} tests are named", named.len());
    for (file, test) in named {
        let text = read(&file);
        let declared = text.find(&format!("fn {test}("));
        let before = declared.map(|place| &text[..place]);
        // A test, and no helper of that name; or one that a macro such as `proptest!` makes.
        let last = before.and_then(|before| before.rfind("#[")).map(|place| &text[place..]);
        assert!(
            last.is_some_and(|last| last.starts_with("#[test")
                || last.starts_with("#[tokio::test")
                || last.starts_with("#[ignore")),
            "{file} has no test `{test}`"
        );
    }
}

#[test]
fn every_guarantee_of_the_readme_has_its_tests() {
    let (readme, guarantees) = (read("README.md"), read("docs/guarantees.md"));
    let section = readme
        .split("## Guarantees")
        .nth(1)
        .and_then(|rest| rest.split("\n## ").next());
    let links: Vec<&str> = section
        .unwrap()
        .lines()
        .filter(|line| line.starts_with("- **"))
        .collect();
    assert!(links.len() >= 7, "{links:?}");
    for line in links {
        let anchor = line.split("][").nth(1).and_then(|rest| rest.split(']').next());
        let anchor = anchor.unwrap_or_else(|| panic!("no link to its tests: {line}"));
        let target = readme.lines().find(|line| line.starts_with(&format!("[{anchor}]: ")));
        let heading = target.and_then(|target| target.split('#').nth(1));
        let heading = heading.unwrap_or_else(|| panic!("[{anchor}] is no section of the guarantees"));
        let of_heading = |line: &str| {
            let title = line.strip_prefix("## ")?;
            (title.to_lowercase().replace(' ', "-") == heading).then_some(())
        };
        assert!(
            guarantees.lines().any(|line| of_heading(line).is_some()),
            "no section #{heading}"
        );
    }
}

//! How the services are reached, and what is said where they are not.

use crate::program::{Folder, Run, items};
use crate::served::Served;

/// A load of three items with these variables and this profile.
fn load(arguments: &str, variables: &[(&str, &str)], profile: &str) -> Run {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..3));
    folder.write("config", format!("[default]\n{profile}\n"));
    let mut load = folder.command(&format!("load --table items {arguments} a.jsonl"));
    load.env("AWS_CONFIG_FILE", folder.path("config"));
    load.envs(variables.iter().copied());
    Run::from(load.output().unwrap())
}

#[test]
fn a_credential_with_a_line_feed_is_named_before_anything_is_begun() {
    let served = Served::new(1e6);
    let id = ("AWS_ACCESS_KEY_ID", "AKIA-OF-A-TEST\n");
    for key in ["", "--key id:N"] {
        let run = load(&format!("{} {key}", served.arguments()), &[id], "");
        run.expect(2, "error: the access key id has a line feed at its end");
        assert!(!run.stderr.contains("AKIA"), "{}", run.stderr);
    }
    assert!(served.items().is_empty());
}

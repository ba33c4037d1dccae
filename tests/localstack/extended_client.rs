//! The Extended Client Library for Python, at the other end of the tests.

use std::collections::BTreeMap;
use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

/// The Python that has the library. `localstack/up` prints it.
const PYTHON: &str = "AWS_BATCH_DELIVERY_PYTHON";

/// A message as the library sees it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Message {
    pub(crate) body: String,
    pub(crate) attributes: BTreeMap<String, String>,
    /// None in a standard queue.
    pub(crate) group: Option<String>,
}

pub(crate) struct ExtendedClient {
    python: PathBuf,
}

impl ExtendedClient {
    /// The library.
    ///
    /// # Panics
    /// When it is not installed.
    pub(crate) fn find() -> Self {
        let python = env::var_os(PYTHON).filter(|python| !python.is_empty());
        let python = python.expect(
            "it takes the Extended Client Library for Python, which localstack/up installs where there is no Docker",
        );
        Self { python: python.into() }
    }

    /// Receives all messages, and deletes them and their objects.
    pub(crate) fn receive(&self, queue_url: &str) -> Vec<Message> {
        let lines = self.run(&["receive", queue_url], "");
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Sends a message by way of S3.
    pub(crate) fn send(&self, queue_url: &str, bucket: &str, message: &Message) {
        self.run(&["send", queue_url, bucket], &serde_json::to_string(message).unwrap());
    }

    fn run(&self, arguments: &[&str], input: &str) -> String {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/localstack/extended_client.py");
        let mut child = Command::new(&self.python)
            .arg(script)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // Closed when it is written.
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{arguments:?} failed");
        String::from_utf8(output.stdout).unwrap()
    }
}

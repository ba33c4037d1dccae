//! An emulator as a process of this machine, to suspend and to kill.

use std::env;
use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::emulators::run_folder;

pub(crate) struct Process {
    /// The leader of its process group.
    id: String,
    /// Host and port.
    address: String,
}

impl Process {
    /// LocalStack.
    ///
    /// # Panics
    /// When it is in a container, or was not started by `localstack/up`.
    pub(crate) fn localstack() -> Self {
        Self::find("localstack", "AWS_ENDPOINT_URL_SQS")
    }

    /// What stands for DynamoDB, on the same conditions.
    pub(crate) fn dynamodb() -> Self {
        Self::find("dynamodb", "AWS_ENDPOINT_URL_DYNAMODB")
    }

    /// DynamoDB, whose tables outlive a kill.
    ///
    /// # Panics
    /// When they do not, besides.
    pub(crate) fn lasting_dynamodb() -> Self {
        let lasts = run_folder().is_some_and(|run| run.join("tables").exists());
        assert!(lasts, "this emulator of DynamoDB forgets its tables when it is killed");
        Self::dynamodb()
    }

    fn find(name: &str, endpoint: &str) -> Self {
        let id = run_folder().and_then(|run| fs::read_to_string(run.join(name).with_extension("pid")).ok());
        let id = id.expect("it stops an emulator, which takes one that localstack/up has started without Docker");
        let endpoint = env::var(endpoint).unwrap();
        Self {
            id: id.trim().to_owned(),
            address: endpoint.trim_start_matches("http://").to_owned(),
        }
    }

    /// Stands still until the guard is dropped.
    pub(crate) fn suspend(&self) -> Suspended<'_> {
        self.signal("STOP");
        Suspended(self)
    }

    /// Is gone until the guard is dropped.
    pub(crate) fn kill(self) -> Killed {
        self.signal("KILL");
        // Its port is free when it is gone.
        while TcpStream::connect(&self.address).is_ok() {
            thread::sleep(Duration::from_millis(20));
        }
        Killed
    }

    fn signal(&self, signal: &str) {
        let group = format!("-{}", self.id);
        let status = Command::new("kill").args(["-s", signal, "--", &group]).status();
        assert!(status.unwrap().success(), "{signal}");
    }
}

pub(crate) struct Suspended<'process>(&'process Process);

impl Drop for Suspended<'_> {
    fn drop(&mut self) {
        self.0.signal("CONT");
    }
}

pub(crate) struct Killed;

impl Drop for Killed {
    /// Starts it again, also when the test has failed: others need it.
    fn drop(&mut self) {
        let up = Path::new(env!("CARGO_MANIFEST_DIR")).join("localstack/up");
        let output = Command::new(up).output().unwrap();
        assert!(output.status.success() || thread::panicking(), "localstack/up failed");
    }
}

//! The emulators that the environment points to.

use std::env;
use std::io::{Write, stderr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::UNIX_EPOCH;
use std::{process, thread};

use aws_config::{BehaviorVersion, SdkConfig};
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Where the emulators are. `localstack/up` prints them.
const ENDPOINTS: [&str; 3] = [
    "AWS_ENDPOINT_URL_SQS",
    "AWS_ENDPOINT_URL_DYNAMODB",
    "AWS_ENDPOINT_URL_S3",
];

/// Makes a test fail that would be skipped.
const REQUIRED: &str = "AWS_BATCH_DELIVERY_REQUIRE_LOCALSTACK";

/// The folder with the emulators' process ids. `localstack/up` prints it.
const RUN: &str = "AWS_BATCH_DELIVERY_LOCALSTACK_RUN";

/// Tests run side by side, but for those that stop an emulator.
static TURNS: RwLock<()> = RwLock::const_new(());

/// The emulators, for as long as one test needs them.
pub(crate) struct Emulators {
    config: SdkConfig,
    _turn: Turn,
}

#[expect(dead_code, reason = "held, not read")]
enum Turn {
    Shared(RwLockReadGuard<'static, ()>),
    Alone(RwLockWriteGuard<'static, ()>),
}

impl Emulators {
    /// The emulators, or nothing when there are none: the test is then skipped.
    pub(crate) async fn find() -> Option<Self> {
        if is_missing() {
            return None;
        }
        Some(Self::with(Turn::Shared(TURNS.read().await)).await)
    }

    /// The same, and no other test meanwhile.
    pub(crate) async fn find_alone() -> Option<Self> {
        if is_missing() {
            return None;
        }
        Some(Self::with(Turn::Alone(TURNS.write().await)).await)
    }

    async fn with(turn: Turn) -> Self {
        Self {
            config: aws_config::load_defaults(BehaviorVersion::latest()).await,
            _turn: turn,
        }
    }

    pub(crate) fn dynamo(&self) -> aws_sdk_dynamodb::Client {
        aws_sdk_dynamodb::Client::new(&self.config)
    }

    pub(crate) fn s3(&self) -> aws_sdk_s3::Client {
        aws_sdk_s3::Client::new(&self.config)
    }

    pub(crate) fn sqs(&self) -> aws_sdk_sqs::Client {
        aws_sdk_sqs::Client::new(&self.config)
    }
}

fn is_missing() -> bool {
    let Some(missing) = ENDPOINTS.into_iter().find(|name| env::var_os(name).is_none()) else {
        return false;
    };
    let why = format!("{missing} is not set; localstack/test runs these tests, see localstack/README.md");
    assert!(env::var_os(REQUIRED).is_none_or(|value| value != "1"), "{why}");
    skip(&why);
    true
}

/// Says that this test is skipped and why. Written around the test harness, which keeps what passing tests print, and in one
/// piece, since others write as well.
pub(crate) fn skip(why: &str) {
    let test = thread::current().name().unwrap_or("a test").to_owned();
    let _ = stderr().write_all(format!("{test} was skipped: {why}\n").as_bytes());
}

/// The folder with what `localstack/up` knows of the emulators, if it has started them.
pub(crate) fn run_folder() -> Option<PathBuf> {
    env::var_os(RUN).map(PathBuf::from)
}

/// Whether the emulators are in a container.
pub(crate) fn in_docker() -> bool {
    run_folder().is_some_and(|run| run.join("docker").exists())
}

/// A name that no other test uses, nor another run of this one.
pub(crate) fn unique(name: &str) -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Relaxed);
    let now = UNIX_EPOCH.elapsed().unwrap().as_millis();
    format!("{name}-{now}-{}-{number}", process::id())
}

//! The emulators that the environment points to.

use std::env;
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::UNIX_EPOCH;

use aws_config::{BehaviorVersion, SdkConfig};
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Where the emulators are. `localstack/up` prints them.
const ENDPOINTS: [&str; 3] = [
    "AWS_ENDPOINT_URL_SQS",
    "AWS_ENDPOINT_URL_DYNAMODB",
    "AWS_ENDPOINT_URL_S3",
];

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
    /// The emulators.
    ///
    /// # Panics
    /// When there are none.
    pub(crate) async fn find() -> Self {
        Self::with(Turn::Shared(TURNS.read().await)).await
    }

    /// The same, and no other test meanwhile.
    pub(crate) async fn find_alone() -> Self {
        Self::with(Turn::Alone(TURNS.write().await)).await
    }

    async fn with(turn: Turn) -> Self {
        for name in ENDPOINTS {
            assert!(
                env::var_os(name).is_some(),
                "{name} is not set; localstack/test runs these tests, see localstack/README.md"
            );
        }
        Self {
            config: aws_config::load_defaults(BehaviorVersion::latest()).await,
            _turn: turn,
        }
    }

    pub(crate) fn dynamo(&self) -> aws_sdk_dynamodb::Client {
        aws_sdk_dynamodb::Client::new(&self.config)
    }

    /// The configuration, for clients of other services.
    #[cfg(all(feature = "kinesis", feature = "firehose", feature = "sns", feature = "eventbridge"))]
    pub(crate) fn config(&self) -> &SdkConfig {
        &self.config
    }

    pub(crate) fn s3(&self) -> aws_sdk_s3::Client {
        aws_sdk_s3::Client::new(&self.config)
    }

    pub(crate) fn sqs(&self) -> aws_sdk_sqs::Client {
        aws_sdk_sqs::Client::new(&self.config)
    }
}

/// The folder with what `localstack/up` knows of the emulators, if it has started them.
pub(crate) fn run_folder() -> Option<PathBuf> {
    env::var_os(RUN).map(PathBuf::from)
}

/// A name that no other test uses, nor another run of this one.
pub(crate) fn unique(name: &str) -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Relaxed);
    let now = UNIX_EPOCH.elapsed().unwrap().as_millis();
    format!("{name}-{now}-{}-{number}", process::id())
}

//! What each call changes in the client's configuration.

/// The changes for the calls of a client of one service's SDK: the SDKs have the same types, each its own.
///
/// The SDK's retries are off: underneath a delivery they would multiply the attempts and hide the throttles, and the adaptive
/// mode would pace the calls a second time. What else the retry configuration holds stays, such as when connections are kept.
macro_rules! single_attempt {
    ($sdk:ident, $client:expr) => {{
        use $sdk::config::retry::{RetryConfig, RetryMode};
        let retries = $client.config().retry_config().cloned();
        let retries = retries.unwrap_or_else(RetryConfig::standard);
        let changes = $sdk::Config::builder()
            .retry_config(retries.with_retry_mode(RetryMode::Standard).with_max_attempts(1))
            .interceptor($crate::targets::transmission::Transmission::default());
        let crate_name = $sdk::config::FrameworkMetadata::new(env!("CARGO_PKG_NAME"), Some(env!("CARGO_PKG_VERSION")));
        match crate_name {
            Ok(crate_name) => changes.framework_metadata(crate_name),
            // The user agent then goes without the crate's name; the calls work as well.
            Err(_) => changes,
        }
    }};
}

pub(crate) use single_attempt;

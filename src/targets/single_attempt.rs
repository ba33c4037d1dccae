//! The changes to the client's configuration for each call.

/// The renewal of a client's identity cache. A macro, because each SDK has types of its own.
macro_rules! renewal {
    ($sdk:ident, $client:expr) => {{
        // A cache of the SDK needs a timer; a client with a cache of its own may lack one.
        let has_timer = $client.config().identity_cache().is_none() || $client.config().sleep_impl().is_some();
        $crate::targets::renewal::Renewal::with(has_timer.then_some(|| $sdk::config::IdentityCache::lazy().build()))
    }};
}

/// The changes for the calls of one service's client. A macro, because each SDK has types of its own.
///
/// The SDK's retries are off: they would multiply the attempts and hide throttles from the delivery, and the adaptive mode
/// would pace the calls a second time. The rest of the retry configuration stays, such as when connections are reused.
macro_rules! single_attempt {
    ($sdk:ident, $client:expr) => {{
        use $crate::targets::renewal::Changes;
        use $crate::targets::single_attempt::renewal;
        use $sdk::config::SharedInterceptor;
        use $sdk::config::retry::{RetryConfig, RetryMode};
        let retries = $client.config().retry_config().cloned();
        let retries = retries.unwrap_or_else(RetryConfig::standard);
        let renewal = renewal!($sdk, $client);
        let transmission = $crate::targets::transmission::Transmission::renewing(renewal.clone());
        let mut changes =
            $sdk::Config::builder().retry_config(retries.with_retry_mode(RetryMode::Standard).with_max_attempts(1));
        // The SDK looks for no setting that disables it then, which it does before each of its hooks.
        changes.push_interceptor(SharedInterceptor::permanent(transmission));
        let crate_name = $sdk::config::FrameworkMetadata::new(env!("CARGO_PKG_NAME"), Some(env!("CARGO_PKG_VERSION")));
        let always = match crate_name {
            Ok(crate_name) => changes.framework_metadata(crate_name),
            // The user agent is then sent without the name of this crate.
            Err(_) => changes,
        };
        Changes { always, renewal }
    }};
}

pub(crate) use {renewal, single_attempt};

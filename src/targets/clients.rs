//! The caller's client, and the one that is derived from it.
//!
//! To change a client's configuration for a single call takes the SDK some percent of the call. So of the calls that get a body
//! only the first one is made like that. It tells what a client that has the changes for good has to share with the
//! caller's, and such a client makes those that follow.

/// Defines `Clients` for the SDK of one service: the SDKs have the same types, each its own. A derived client has the
/// interceptor too, if there is one.
macro_rules! clients {
    ($sdk:ident $(, $interceptor:expr)?) => {
        /// The caller's client, and the one that is derived from it.
        #[derive(Clone)]
        struct Clients {
            callers: $sdk::Client,
            changes: $sdk::config::Builder,
            transmission: $crate::targets::transmission::Transmission,
            learnt: std::sync::Arc<std::sync::OnceLock<$crate::targets::kept::Kept>>,
            derived: std::sync::Arc<std::sync::OnceLock<$sdk::Client>>,
            needs_input: std::sync::Arc<std::sync::atomic::AtomicBool>,
        }

        impl Clients {
            fn new(callers: $sdk::Client) -> Self {
                let is_watched = callers.config().interceptors().next().is_some();
                let transmission = $crate::targets::transmission::Transmission::default();
                Self {
                    changes: Self::changed($sdk::Config::builder(), callers.config(), &transmission),
                    transmission,
                    callers,
                    learnt: std::sync::Arc::default(),
                    derived: std::sync::Arc::default(),
                    needs_input: std::sync::Arc::new(is_watched.into()),
                }
            }

            /// The caller's own. Its calls need the [`changes`](Self::changes).
            fn callers(&self) -> &$sdk::Client {
                &self.callers
            }

            /// What is changed in the configuration for a call of the caller's client.
            fn changes(&self) -> $sdk::config::Builder {
                self.changes.clone()
            }

            /// The same for a call that gets a body. Once there was such a call, a client can be [derived](Self::derived).
            fn changes_with_body(&self) -> $sdk::config::Builder {
                let learner = $crate::targets::kept::Learner(std::sync::Arc::downgrade(&self.learnt));
                self.changes()
                    .interceptor(learner)
                    .interceptor($crate::targets::body::Placer)
            }

            /// The client whose calls need no changes, and get a body. It is made when it is asked for first.
            fn derived(&self) -> Option<&$sdk::Client> {
                let kept = self.learnt.get()?;
                let derive = || {
                    let callers = self.callers.config();
                    let mut config = Self::changed(callers.to_builder(), callers, &self.transmission)
                        .http_client(kept.http_client.clone())
                        .identity_cache(kept.identity_cache.clone())
                        .interceptor($crate::targets::body::Placer)
                        $(.interceptor($interceptor))?;
                    if let Some(clock) = &kept.clock {
                        // After the client's own one, which belongs to the SDK's defaults, so that this one has the last word.
                        config.push_interceptor(clock.clone());
                    }
                    $sdk::Client::from_conf(config.build())
                };
                Some(self.derived.get_or_init(derive))
            }

            /// Whether the input of a call has to have all that is sent: somebody looks at it, or it cannot get a body.
            fn need_input(&self) -> bool {
                self.needs_input.load(std::sync::atomic::Ordering::Relaxed)
            }

            /// A call could not get a body, and none that follows can.
            fn give_input(&self) {
                self.needs_input.store(true, std::sync::atomic::Ordering::Relaxed);
            }

            /// Retries underneath would multiply the attempts and hide the throttles, and the adaptive mode would pace the calls
            /// beside our own pace. What else the caller has set there holds, such as which connections are kept.
            fn changed(
                config: $sdk::config::Builder,
                callers: &$sdk::Config,
                transmission: &$crate::targets::transmission::Transmission,
            ) -> $sdk::config::Builder {
                use $sdk::config::retry::{RetryConfig, RetryMode};
                let retries = callers
                    .retry_config()
                    .cloned()
                    .unwrap_or_else(RetryConfig::standard);
                let config = config
                    .retry_config(retries.with_retry_mode(RetryMode::Standard).with_max_attempts(1))
                    .interceptor(transmission.clone());
                let crate_name =
                    $sdk::config::FrameworkMetadata::new(env!("CARGO_PKG_NAME"), Some(env!("CARGO_PKG_VERSION")));
                match crate_name {
                    Ok(crate_name) => config.framework_metadata(crate_name),
                    // The user agent then goes without the crate's name; the calls work as well.
                    Err(_) => config,
                }
            }
        }

        #[cfg(test)]
        impl Clients {
            /// As if nobody looked at the input.
            fn unwatched(self) -> Self {
                self.needs_input
                    .store(false, std::sync::atomic::Ordering::Relaxed);
                self
            }

            fn have_derived(&self) -> bool {
                self.derived.get().is_some()
            }
        }
    };
}

pub(crate) use clients;

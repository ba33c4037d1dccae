//! The caller's client, and the one that is derived from it.
//!
//! To change a client's configuration for a single call takes the SDK some percent of the call. So only the first call is made
//! like that. It tells what a client that has the changes for good has to share with the caller's, and such a client makes
//! the calls that follow.

/// Defines `Clients` for the SDK of one service: the SDKs have the same types, each its own.
macro_rules! clients {
    ($sdk:ident) => {
        /// The caller's client, and the one that is derived from it.
        #[derive(Clone)]
        pub(super) struct Clients {
            callers: $sdk::Client,
            changes: $sdk::config::Builder,
            learner: $crate::target::kept::Learner,
            derived: std::sync::Arc<std::sync::OnceLock<$sdk::Client>>,
            /// Somebody looks at the input of each call.
            watched: bool,
        }

        impl Clients {
            pub(super) fn new(callers: $sdk::Client) -> Self {
                let watched = callers.config().interceptors().next().is_some();
                Self {
                    watched,
                    callers,
                    changes: Self::changed($sdk::Config::builder()),
                    learner: $crate::target::kept::Learner::default(),
                    derived: std::sync::Arc::default(),
                }
            }

            /// The caller's own. Its calls need the [`changes`](Self::changes).
            pub(super) fn callers(&self) -> &$sdk::Client {
                &self.callers
            }

            /// What is changed in the configuration for a call of the caller's client.
            pub(super) fn changes(&self) -> $sdk::config::Builder {
                self.changes.clone()
            }

            /// The same for a call that gets a body. Once there was such a call, there is a derived client.
            pub(super) fn changes_with_body(&self) -> $sdk::config::Builder {
                self.changes()
                    .interceptor(self.learner.clone())
                    .interceptor($crate::target::body::Placer)
            }

            /// The client whose calls need no changes, and get a body.
            pub(super) fn derived(&self) -> Option<&$sdk::Client> {
                let kept = self.learner.learnt()?;
                let derive = || {
                    let mut config = Self::changed(self.callers.config().to_builder())
                        .http_client(kept.http_client.clone())
                        .identity_cache(kept.identity_cache.clone())
                        .interceptor($crate::target::body::Placer);
                    if let Some(clock) = &kept.clock {
                        config.push_interceptor(clock.clone());
                    }
                    $sdk::Client::from_conf(config.build())
                };
                Some(self.derived.get_or_init(derive))
            }

            /// Whether the input of a call has to have all that is sent.
            pub(super) fn are_watched(&self) -> bool {
                self.watched
            }

            /// Retries underneath would multiply the attempts and hide the throttles.
            fn changed(config: $sdk::config::Builder) -> $sdk::config::Builder {
                let config = config.retry_config($sdk::config::retry::RetryConfig::disabled());
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
            pub(super) fn unwatched(mut self) -> Self {
                self.watched = false;
                self
            }

            pub(super) fn have_derived(&self) -> bool {
                self.derived.get().is_some()
            }
        }
    };
}

pub(crate) use clients;

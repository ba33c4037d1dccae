//! The methods of the handles that tests have for streams, topics and buses.

/// The methods that all handles share. The handle has an `inner` with a `name` and an `intake`.
macro_rules! handles {
    ($handle:ident, $entries:literal, $action:literal) => {
        /// Handles for tests.
        impl $handle {
            /// The name.
            pub fn name(&self) -> &str {
                &self.inner.name
            }

            /// Sets the random faults. Default: none.
            pub fn set_faults(&self, faults: $crate::Faults) {
                self.inner.intake.state().gate.set_faults(faults);
            }

            /// Sets the faults of the next batch calls, in this order; the random faults apply again after them. Replaces the
            /// rest of an earlier script. A call that is refused because of its contents uses its step of the script, too.
            pub fn script(&self, faults: impl IntoIterator<Item = $crate::InjectedFault>) {
                self.inner.intake.state().gate.set_script(faults);
            }

            #[doc = concat!("The ", $entries, " for which the predicate is true are throttled, whatever the capacity. It gets the JSON of the request.")]
            pub fn reject_while(&self, predicate: impl Fn(&$crate::Value) -> bool + Send + Sync + 'static) {
                self.inner.intake.hot.set(predicate);
            }

            #[doc = concat!("The number of ", $entries, " that are kept.")]
            pub fn len(&self) -> usize {
                self.inner.intake.state().kept.len()
            }

            #[doc = concat!("Whether no ", $entries, " are kept.")]
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// The number of batch calls that have arrived.
            pub fn calls(&self) -> u64 {
                self.statistics().calls
            }

            /// The counts of calls and entries.
            pub fn statistics(&self) -> $crate::Statistics {
                self.inner.intake.state().gate.statistics
            }

            #[doc = concat!("Keeps a record of all ", $entries, " that ", $action, " from now on. Off by default, because it takes memory.")]
            pub fn keep_journal(&self) {
                self.inner.intake.state().gate.journal.switch_on();
            }

            #[doc = concat!("What happened to all ", $entries, " since [`keep_journal`](Self::keep_journal), in the order of arrival.")]
            pub fn journal(&self) -> Vec<$crate::Record> {
                self.inner.intake.state().gate.journal.records()
            }
        }

        impl std::fmt::Debug for $handle {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($handle))
                    .field("name", &self.inner.name)
                    .finish_non_exhaustive()
            }
        }
    };
}

pub(crate) use handles;

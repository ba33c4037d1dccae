//! What tests may ask of everything that takes batches, and tell it.

/// The methods that all handles share. The handle has an `inner` with a `name` and an `intake`.
macro_rules! handles {
    ($handle:ident, $entries:literal, $action:literal) => {
        /// Handles for tests.
        impl $handle {
            /// The name.
            pub fn name(&self) -> &str {
                &self.inner.name
            }

            /// What goes wrong at random, from now on.
            pub fn set_faults(&self, faults: $crate::Faults) {
                self.inner.intake.state().gate.set_faults(faults);
            }

            /// What happens to the next batch calls, in this order; after them the random faults strike again. Replaces what is
            /// left of an earlier script. A call that is refused for its contents takes its step of the script, too.
            pub fn script(&self, faults: impl IntoIterator<Item = $crate::InjectedFault>) {
                self.inner.intake.state().gate.set_script(faults);
            }

            #[doc = concat!("The ", $entries, " for which this holds at the moment are throttled. They are as on the wire.")]
            pub fn reject_while(&self, predicate: impl Fn(&$crate::Value) -> bool + Send + Sync + 'static) {
                self.inner.intake.hot.set(predicate);
            }

            #[doc = concat!("How many ", $entries, " are kept.")]
            pub fn len(&self) -> usize {
                self.inner.intake.state().kept.len()
            }

            #[doc = concat!("Whether no ", $entries, " are kept.")]
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// How many batch calls have arrived.
            pub fn calls(&self) -> u64 {
                self.statistics().calls
            }

            /// What has arrived, in numbers.
            pub fn statistics(&self) -> $crate::Statistics {
                self.inner.intake.state().gate.statistics
            }

            #[doc = concat!("Keeps a record of all ", $entries, " that ", $action, " from now on. Off at first, since it takes memory.")]
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

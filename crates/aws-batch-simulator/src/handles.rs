//! What the handles, the options and the entries of several resources share.

/// `Debug` with these fields alone: the contents of entries are left out.
macro_rules! debug_fields {
    ($type:ident, $($field:ident),*) => {
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($type))$(.field(stringify!($field), &self.$field))*.finish_non_exhaustive()
            }
        }
    };
}

/// The methods of all handles of resources that accept batches. A handle has an `inner` with a `name`, and a method `with_gate`.
macro_rules! handle {
    ($handle:ident, $entries:literal, $action:literal) => {
        /// Handles for tests.
        impl $handle {
            /// The name.
            pub fn name(&self) -> &str {
                &self.inner.name
            }

            /// Sets the random faults. Default: none.
            pub fn set_faults(&self, faults: $crate::Faults) {
                self.with_gate(|gate| gate.set_faults(faults));
            }

            /// Sets the faults of the next calls that write or send, in this order; the random faults apply again after them. Replaces the
            /// rest of an earlier script. A call that is refused because of its contents uses its step of the script, too.
            pub fn script(&self, faults: impl IntoIterator<Item = $crate::InjectedFault>) {
                self.with_gate(|gate| gate.set_script(faults));
            }

            /// The number of calls that have arrived.
            pub fn calls(&self) -> u64 {
                self.statistics().calls
            }

            /// The counts of calls and entries.
            pub fn statistics(&self) -> $crate::Statistics {
                self.with_gate(|gate| gate.statistics)
            }

            #[doc = concat!("Keeps a record of all ", $entries, " that ", $action, " from now on. Off by default, because it takes memory.")]
            pub fn keep_journal(&self) {
                self.with_gate(|gate| gate.journal.switch_on());
            }

            #[doc = concat!("What happened to all ", $entries, " since [`keep_journal`](Self::keep_journal), in the order of arrival.")]
            pub fn journal(&self) -> Vec<$crate::Record> {
                self.with_gate(|gate| gate.journal.records())
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

/// The capacity of a handle whose gate has it, within an `impl`. `$create` is an example that creates one.
macro_rules! handle_capacity {
    ($units:literal, $create:literal) => {
        #[doc = concat!("Changes the capacity, in ", $units, " per second. The level of the bucket stays, up to the new burst.")]
        pub fn set_capacity(&self, capacity: impl Into<$crate::Capacity>) {
            self.with_gate(|gate| gate.set_capacity(capacity.into()));
        }

        /// Changes the capacity at exactly each of these times after now.
        ///
        /// Replaces an earlier schedule; [`set_capacity`](Self::set_capacity) clears it.
        ///
        /// ```
        /// # use std::time::Duration;
        /// # use aws_batch_simulator::*;
        /// # #[tokio::main(flavor = "current_thread")]
        /// # async fn main() {
        /// # let simulator = Simulator::new(1);
        #[doc = concat!("let orders = simulator.", $create, ";")]
        /// orders.schedule_capacity([(Duration::from_secs(30), 500.0), (Duration::from_secs(60), 2_000.0)]);
        /// # }
        /// ```
        pub fn schedule_capacity<C: Into<$crate::Capacity>>(
            &self,
            steps: impl IntoIterator<Item = (std::time::Duration, C)>,
        ) {
            self.with_gate(|gate| gate.schedule_capacity(steps));
        }

        #[doc = concat!("Another client uses the capacity for up to this many ", $units, ". Returns how many it has used.")]
        pub fn drain(&self, units: f64) -> f64 {
            self.with_gate(|gate| gate.drain(units))
        }
    };
}

/// The methods of handles whose entries an `intake` in their `inner` keeps.
macro_rules! kept_handle {
    ($handle:ident, $entries:literal, $action:literal) => {
        $crate::handles::handle!($handle, $entries, $action);

        impl $handle {
            #[doc = concat!("The number of ", $entries, " that are kept.")]
            pub fn len(&self) -> usize {
                self.inner.intake.state().kept.len()
            }

            #[doc = concat!("Whether no ", $entries, " are kept.")]
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            fn with_gate<R>(&self, act: impl FnOnce(&mut $crate::gate::Gate) -> R) -> R {
                act(&mut self.inner.intake.state().gate)
            }
        }
    };
}

/// The methods of handles whose `intake` decides on each entry.
macro_rules! intake_handle {
    ($handle:ident, $entries:literal, $action:literal) => {
        $crate::handles::kept_handle!($handle, $entries, $action);

        impl $handle {
            #[doc = concat!("The ", $entries, " for which the predicate is true are throttled, whatever the capacity. It gets the JSON of the request.")]
            pub fn reject_while(&self, predicate: impl Fn(&serde_json::Value) -> bool + Send + Sync + 'static) {
                self.inner.intake.throttled.set(predicate);
            }
        }
    };
}

/// The option `capacity`, within an `impl`.
macro_rules! capacity_option {
    ($entries:literal) => {
        #[doc = concat!("The capacity, in ", $entries, " per second.")]
        pub fn capacity(mut self, capacity: impl Into<$crate::Capacity>) -> Self {
            self.capacity = capacity.into();
            self
        }
    };
}

/// The option `counts_only`, within an `impl`.
macro_rules! counts_only_option {
    ($entries:literal) => {
        #[doc = concat!("The ", $entries, " are counted but not kept, so any number of them takes no memory.")]
        pub fn counts_only(mut self) -> Self {
            self.counts_only = true;
            self
        }
    };
}

/// The option `content_based_deduplication`, within an `impl`.
macro_rules! deduplication_option {
    ($resource:literal, $content:literal) => {
        #[doc = concat!("A FIFO ", $resource, " makes the deduplication id from the ", $content, " where there is none.")]
        pub fn content_based_deduplication(mut self) -> Self {
            self.deduplicates_by_content = true;
            self
        }
    };
}

pub(crate) use {
    capacity_option, counts_only_option, debug_fields, deduplication_option, handle, handle_capacity, intake_handle,
    kept_handle,
};

//! `Debug` of targets.

/// `Debug` of targets with their names and limits: their clients are left out, and so are the account ids of ARNs and URLs.
macro_rules! debug_by_name {
    ($($target:ident)*) => {$(
        impl std::fmt::Debug for $target {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($target))
                    .field("name", &$crate::contract::BatchTarget::name(self))
                    .field("limits", &$crate::contract::BatchTarget::limits(self))
                    .finish_non_exhaustive()
            }
        }
    )*};
}

#[allow(unused_imports, reason = "each service uses it")]
pub(super) use debug_by_name;

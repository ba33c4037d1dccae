//! `Debug` without what entries and messages have.

/// `Debug` with these fields alone, or with these values.
macro_rules! debug_fields {
    ($type:ident $(<$generic:ident>)? $(, $field:ident)*) => {
        $crate::debug::debug_fields!(this: $type $(<$generic>)? $(, $field = this.$field)*);
    };
    ($this:ident: $type:ident $(<$generic:ident>)? $(, $field:ident = $value:expr)* $(,)?) => {
        impl$(<$generic>)? std::fmt::Debug for $type$(<$generic>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let $this = self;
                let _ = $this;
                f.debug_struct(stringify!($type))$(.field(stringify!($field), &$value))*.finish_non_exhaustive()
            }
        }
    };
}

pub(crate) use debug_fields;

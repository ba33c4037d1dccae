//! Values that have names on the command line.

/// All values of a type, and their names.
macro_rules! value_names {
    ($type:ident, $($value:ident = $name:literal),*) => {
        impl $type {
            pub(crate) const ALL: &'static [Self] = &[$(Self::$value),*];

            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name),*
                }
            }
        }
    };
}

pub(crate) use value_names;

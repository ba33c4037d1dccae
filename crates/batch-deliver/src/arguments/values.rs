//! Values of options.

use std::time::Duration;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use encoding_rs::Encoding;

use crate::format::{ItemFormat, TableFormat, TextFormat};
use crate::sink::Strategy;
use crate::source::Order;

/// Options whose values are names.
macro_rules! named_values {
    ($($values:ty),*) => {$(
        impl ValueEnum for $values {
            fn value_variants<'a>() -> &'a [Self] {
                &Self::ALL
            }

            fn to_possible_value(&self) -> Option<PossibleValue> {
                Some(PossibleValue::new(self.name()))
            }
        }
    )*};
}

named_values!(ItemFormat, Order, Strategy, TableFormat, TextFormat);

pub(super) fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("give a number above 0".to_owned()),
    }
}

/// A time of at least `least`; what is wrong with a shorter one.
pub(super) fn time(text: &str, least: Duration, too_short: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(time) if time >= least => Ok(time),
        Ok(_) => Err(too_short.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

pub(super) fn url(text: &str) -> Result<String, String> {
    let behind = ["http://", "https://"]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme));
    match behind {
        Some(host) if !host.is_empty() => Ok(text.to_owned()),
        _ => Err("a URL is needed, such as http://127.0.0.1:4566".to_owned()),
    }
}

pub(super) fn encoding(name: &str) -> Result<&'static Encoding, String> {
    Encoding::for_label(name.as_bytes())
        .ok_or_else(|| "give the name of an encoding, such as utf-8, utf-16le, latin1 or windows-1252".to_owned())
}

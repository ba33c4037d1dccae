//! Values of options.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use clap::ValueEnum;
use clap::builder::PossibleValue;
use encoding_rs::Encoding;

use crate::format::{ItemFormat, TableFormat, TextFormat, value_of_json};
use crate::sink::Strategy;
use crate::source::Order;

/// Options whose values are names.
macro_rules! named_values {
    ($($values:ty),*) => {$(
        impl ValueEnum for $values {
            fn value_variants<'a>() -> &'a [Self] {
                Self::ALL
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

pub(super) fn encoding(name: &str) -> Result<&'static Encoding, String> {
    Encoding::for_label(name.as_bytes())
        .ok_or_else(|| "give the name of an encoding, such as utf-8, utf-16le, latin1 or windows-1252".to_owned())
}

/// A placeholder that begins with this sign, and what it stands for.
fn placeholder(text: &str, sign: char) -> Result<(&str, &str), String> {
    match text.split_once('=') {
        Some((placeholder, meaning)) if placeholder.len() > 1 && placeholder.starts_with(sign) => {
            Ok((placeholder, meaning))
        }
        _ => Err(format!("give {sign}NAME=…, in quotes: the shell reads # and others")),
    }
}

pub(super) fn name(text: &str) -> Result<(String, String), String> {
    match placeholder(text, '#')? {
        (_, "") => Err("the attribute has no name".to_owned()),
        (placeholder, name) => Ok((placeholder.to_owned(), name.to_owned())),
    }
}

pub(super) fn value(text: &str) -> Result<(String, AttributeValue), String> {
    let (placeholder, value) = placeholder(text, ':')?;
    let json = value_of_json(value.as_bytes());
    let value = json.unwrap_or_else(|_| AttributeValue::S(value.to_owned()));
    Ok((placeholder.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_json_or_a_text() {
        let text = |text: &str| AttributeValue::S(text.to_owned());
        for (given, expected) in [
            (":a=5", AttributeValue::N("5".to_owned())),
            (":a=\"5\"", text("5")),
            (":a=true", AttributeValue::Bool(true)),
            (":a=new", text("new")),
            (":a=", text("")),
            (":a=b=c", text("b=c")),
        ] {
            assert_eq!(value(given), Ok((":a".to_owned(), expected)), "{given}");
        }
        for wrong in ["a=1", ":=1", ":a", "#a=1"] {
            assert!(value(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_name_needs_an_attribute() {
        assert_eq!(name("#s=status"), Ok(("#s".to_owned(), "status".to_owned())));
        for wrong in ["s=status", "#s=", "#=status", ":s=status"] {
            assert!(name(wrong).is_err(), "{wrong}");
        }
    }
}

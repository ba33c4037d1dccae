//! The values of a spool as JSON, which is read back as what it was.

mod nulls;

use std::any::type_name;

use serde::Serialize;
use serde::de::DeserializeOwned;

use self::nulls::nulls;
use super::error::SpoolError;
use crate::guarded::guarded;
use crate::invalid::ConversionError;

/// What `serde_json` writes, without its feature `arbitrary_precision`, for a number whose digits are kept. A text of JSON cannot have
/// it, because its quotes are escaped.
const EXACT: &str = "{\"$serde_json::private::Number\":\"";

/// And what follows the digits.
const EXACT_END: &str = "\"}";

/// How JSON is read, so that its numbers keep their digits. `serde_json` reads a number as one of 64 bits where the type leaves open
/// what it is, as decimals do, which can be read from texts as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As it is.
    Plain,
    /// Numbers with a fraction whose digits 64 bits do not keep are read as texts.
    TextFractions,
    /// And those that are whole, such as `4.0`, because a decimal that is read from a number of 64 bits has no such zero.
    TextWholes,
    /// All numbers whose digits 64 bits do not keep are read as texts.
    TextNumbers,
}

impl Form {
    const ALL: [Self; 4] = [Self::Plain, Self::TextFractions, Self::TextWholes, Self::TextNumbers];

    /// As the store keeps it.
    pub(super) fn number(self) -> i64 {
        self as i64
    }

    /// The form that the store has.
    pub(super) fn of(number: i64) -> Self {
        let form = Self::ALL.into_iter().find(|form| form.number() == number);
        form.unwrap_or(Self::Plain)
    }

    fn reads_as_text(self, number: &str) -> bool {
        match self {
            Self::Plain => false,
            Self::TextFractions => number.contains(['.', 'e', 'E']) && !is_kept(number),
            Self::TextWholes => number.ends_with(".0") || Self::TextFractions.reads_as_text(number),
            Self::TextNumbers => !is_kept(number),
        }
    }
}

/// The value as JSON, and how it is read.
///
/// # Errors
/// When it cannot be serialized, or is not read back as it was.
pub(super) fn written<V: Serialize + DeserializeOwned>(value: &V) -> Result<(String, Form), SpoolError> {
    let json = to_json(value)?;
    let (mut why, mut alike) = (None, None);
    for form in Form::ALL {
        let text = text(&json, form);
        if form != Form::Plain && text == json {
            continue;
        }
        // The message of an error may quote the value, as may that of a panic.
        let read = guarded("the deserialization", || serde_json::from_str::<V>(&text));
        let read = match read {
            Ok(Ok(read)) if json.contains("null") && nulls(&read) != nulls(value) => {
                why.get_or_insert_with(|| "another value is read for a `null`".to_owned());
                continue;
            }
            Ok(Ok(read)) => to_json(&read)?,
            Ok(Err(error)) => {
                let (line, column) = (error.line(), error.column());
                why.get_or_insert_with(|| format!("it is refused at line {line} column {column}"));
                continue;
            }
            Err(fault) => {
                why.get_or_insert_with(|| fault.to_string());
                continue;
            }
        };
        if read == json || sorted(&read, str::to_owned) == sorted(&json, str::to_owned) {
            return Ok((json, form));
        }
        if sorted(&read, without_zeros) == sorted(&json, without_zeros) {
            alike.get_or_insert(form);
        }
        why.get_or_insert_with(|| "another value is read".to_owned());
    }
    if let Some(form) = alike {
        return Ok((json, form));
    }
    Err(SpoolError::Unreadable {
        type_name: type_name::<V>(),
        why: why.unwrap_or_default(),
    })
}

/// Reads what was [written].
pub(super) fn read<V: DeserializeOwned>(json: &[u8], form: Form) -> serde_json::Result<V> {
    match std::str::from_utf8(json) {
        Ok(json) if form != Form::Plain => serde_json::from_str(&text(json, form)),
        _ => serde_json::from_slice(json),
    }
}

fn to_json<V: Serialize>(value: &V) -> Result<String, SpoolError> {
    let json = serde_json::to_string(value).map_err(|error| SpoolError::Unserializable {
        type_name: type_name::<V>(),
        error: ConversionError::new(error),
    })?;
    Ok(exact_numbers(json))
}

/// Makes numbers of what stands for them.
fn exact_numbers(json: String) -> String {
    if !json.contains(EXACT) {
        return json;
    }
    let mut parts = json.split(EXACT);
    let mut exact = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(EXACT_END) {
            Some((digits, rest)) if is_number(digits) => {
                exact.push_str(digits);
                exact.push_str(rest);
            }
            _ => {
                exact.push_str(EXACT);
                exact.push_str(part);
            }
        }
    }
    exact
}

fn is_number(text: &str) -> bool {
    text.ends_with(|last: char| last.is_ascii_digit())
        && text.starts_with(|first: char| first == '-' || first.is_ascii_digit())
        && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Whether a number of 64 bits has exactly these digits.
fn is_kept(number: &str) -> bool {
    let read = serde_json::from_str::<serde_json::Number>(number);
    read.is_ok_and(|read| serde_json::to_string(&read).is_ok_and(|digits| digits == number))
}

/// The JSON as it is read in this form.
fn text(json: &str, form: Form) -> String {
    if form == Form::Plain {
        return json.to_owned();
    }
    let mut text = String::with_capacity(json.len());
    for token in tokens(json) {
        let is_text =
            token.starts_with(|first: char| first == '-' || first.is_ascii_digit()) && form.reads_as_text(token);
        let quote = if is_text { "\"" } else { "" };
        text.extend([quote, token, quote]);
    }
    text
}

/// The texts, numbers, words and signs of compact JSON.
fn tokens(json: &str) -> impl Iterator<Item = &str> {
    let mut rest = json;
    std::iter::from_fn(move || {
        let bytes = rest.as_bytes();
        let length = match bytes.first()? {
            b'"' => {
                let mut end = 1;
                while end < bytes.len() && bytes[end] != b'"' {
                    end += if bytes[end] == b'\\' { 2 } else { 1 };
                }
                end + 1
            }
            b'{' | b'}' | b'[' | b']' | b',' | b':' => 1,
            _ => rest.find(['{', '}', '[', ']', ',', ':', '"']).unwrap_or(bytes.len()),
        };
        let (token, left) = rest.split_at(length.min(bytes.len()));
        rest = left;
        Some(token)
    })
}

/// A number without the zeros at the end of its fraction, which mean nothing.
fn without_zeros(token: &str) -> String {
    if !is_number(token) || !token.contains('.') || token.contains(['e', 'E']) {
        return token.to_owned();
    }
    token.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The JSON with the members of its objects and lists in one order: that of a set or a map differs from one to the next.
fn sorted(json: &str, scalar: fn(&str) -> String) -> String {
    /// The members of one object or list so far, and the one that is being read.
    #[derive(Default)]
    struct Level {
        members: Vec<String>,
        current: String,
    }
    let (mut levels, mut outside) = (Vec::<Level>::new(), String::new());
    for token in tokens(json) {
        match token {
            "{" | "[" => levels.push(Level::default()),
            "}" | "]" => {
                let Some(mut level) = levels.pop() else { break };
                level.members.push(level.current);
                level.members.sort_unstable();
                let open = if token == "}" { "{" } else { "[" };
                let whole = format!("{open}{}{token}", level.members.join(","));
                levels
                    .last_mut()
                    .map_or(&mut outside, |level| &mut level.current)
                    .push_str(&whole);
            }
            "," => {
                if let Some(level) = levels.last_mut() {
                    let member = std::mem::take(&mut level.current);
                    level.members.push(member);
                }
            }
            token => levels
                .last_mut()
                .map_or(&mut outside, |level| &mut level.current)
                .push_str(&scalar(token)),
        }
    }
    outside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_stand_where_a_number_is_meant_and_nowhere_else() {
        let number = |digits: &str| format!("{EXACT}{digits}{EXACT_END}");
        let json = format!(
            r#"{{"a":[{},{}],"b":{}}}"#,
            number("1"),
            number("-12.50"),
            number("1e400")
        );
        assert_eq!(exact_numbers(json), r#"{"a":[1,-12.50],"b":1e400}"#);
        // An object that has a text there, or more than it.
        for other in [
            number("one"),
            number("1."),
            number(""),
            number("NaN"),
            format!("{EXACT}1\",\"b\":2}}"),
        ] {
            assert_eq!(exact_numbers(other.clone()), other);
        }
        let quoted = serde_json::to_string(&number("1")).unwrap();
        assert_eq!(exact_numbers(quoted.clone()), quoted);
    }

    #[test]
    fn only_digits_that_64_bits_do_not_keep_are_read_as_texts() {
        let json = r#"{"a":1.5,"b":12.50,"c":18446744073709551616,"12.50":"12.50\"7"}"#;
        let fractions = r#"{"a":1.5,"b":"12.50","c":18446744073709551616,"12.50":"12.50\"7"}"#;
        let numbers = r#"{"a":1.5,"b":"12.50","c":"18446744073709551616","12.50":"12.50\"7"}"#;
        assert_eq!(text(json, Form::Plain), json);
        assert_eq!(text(json, Form::TextFractions), fractions);
        assert_eq!(text(json, Form::TextNumbers), numbers);
        for form in Form::ALL {
            assert_eq!(Form::of(form.number()), form);
        }
    }

    #[test]
    fn an_order_that_means_nothing_is_no_difference() {
        let sorted_alike = |one, other| sorted(one, str::to_owned) == sorted(other, str::to_owned);
        assert!(sorted_alike(
            r#"{"a":[1,2,{"x":1,"y":[]}],"b":"}"}"#,
            r#"{"b":"}","a":[{"y":[],"x":1},2,1]}"#
        ));
        assert!(!sorted_alike("[1,2,2]", "[1,1,2]"));
        assert!(!sorted_alike(r#"{"a":1,"b":2}"#, r#"{"a":2,"b":1}"#));
        assert!(!sorted_alike("12", "12.0"));
        assert_eq!(
            sorted("[12.50,12.0,120,\"1.0\"]", without_zeros),
            sorted("[12.5,12,120,\"1.0\"]", without_zeros)
        );
    }
}

//! Values within a text of JSON, as they are written there.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

/// The value at this JSON pointer (RFC 6901); `None` if there is none, or the text is not JSON.
pub(super) fn at<'a>(text: &'a str, pointer: &str) -> Option<&'a str> {
    let mut value = value(text)?;
    if pointer.is_empty() {
        return Some(value);
    }
    for token in pointer.strip_prefix('/')?.split('/') {
        let token = token.replace("~1", "/").replace("~0", "~");
        value = if value.starts_with('{') {
            read::<BTreeMap<String, &RawValue>>(value)?.get(&token)?.get()
        } else {
            let is_index = token == "0" || !token.starts_with(['0', '+']);
            let index: usize = token.parse().ok().filter(|_| is_index)?;
            read::<Vec<&RawValue>>(value)?.get(index)?.get()
        };
    }
    Some(value)
}

/// The most levels of lists and objects that are compared.
const DEEPEST: usize = 128;

/// Whether the value is what a person has given as this text: of a string its content, of others their JSON.
pub(super) fn is_given_as(found: &str, given: &str) -> bool {
    match read::<String>(found) {
        Some(text) => text == given,
        None => value(given).is_some_and(|given| are_equal(found, given, DEEPEST)),
    }
}

/// Whether two values are equal, numbers exactly, and objects whatever the order of their members. Those with more levels than these are
/// not.
fn are_equal(one: &str, other: &str, levels: usize) -> bool {
    let Some(within) = levels.checked_sub(1) else {
        return false;
    };
    match (one.as_bytes(), other.as_bytes()) {
        ([b'{', ..], [b'{', ..]) => both::<BTreeMap<String, &RawValue>>(one, other).is_some_and(|(one, other)| {
            let same_names = one.keys().eq(other.keys());
            same_names
                && one
                    .values()
                    .zip(other.values())
                    .all(|(one, other)| are_equal(one.get(), other.get(), within))
        }),
        ([b'[', ..], [b'[', ..]) => both::<Vec<&RawValue>>(one, other).is_some_and(|(one, other)| {
            let same_length = one.len() == other.len();
            same_length
                && one
                    .iter()
                    .zip(&other)
                    .all(|(one, other)| are_equal(one.get(), other.get(), within))
        }),
        ([b'"', ..], [b'"', ..]) => both::<String>(one, other).is_some_and(|(one, other)| one == other),
        ([b'-' | b'0'..=b'9', ..], [b'-' | b'0'..=b'9', ..]) => {
            let numbers = Decimal::of(one).zip(Decimal::of(other));
            one == other || numbers.is_some_and(|(one, other)| one == other)
        }
        _ => one == other,
    }
}

/// The only value of a text, without the spaces around it.
fn value(text: &str) -> Option<&str> {
    read::<&RawValue>(text).map(RawValue::get)
}

fn both<'a, T: Deserialize<'a>>(one: &'a str, other: &'a str) -> Option<(T, T)> {
    read(one).zip(read(other))
}

fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
    serde_json::from_str(text).ok()
}

/// A number of any size, without the zeros that do not count.
#[derive(PartialEq)]
struct Decimal {
    is_negative: bool,
    digits: String,
    /// The power of ten of the last digit.
    exponent: i128,
}

impl Decimal {
    /// A number of JSON; `None` if its exponent does not fit in 64 bits.
    fn of(text: &str) -> Option<Self> {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let unsigned = mantissa.strip_prefix('-').unwrap_or(mantissa);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let all = [whole, fraction].concat();
        let digits = all.trim_end_matches('0');
        let zeros = all.len() - digits.len();
        let digits = digits.trim_start_matches('0').to_owned();
        let is_zero = digits.is_empty();
        let last = i128::from(exponent.parse::<i64>().ok()?) + count(zeros)? - count(fraction.len())?;
        Some(Self {
            is_negative: unsigned != mantissa && !is_zero,
            digits,
            exponent: if is_zero { 0 } else { last },
        })
    }
}

fn count(length: usize) -> Option<i128> {
    i128::try_from(length).ok()
}

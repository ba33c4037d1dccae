//! Numbers as `DynamoDB` keeps them: 38 significant decimal digits and an exponent.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::wording::Wording;
use crate::wire::Refusal;

const MOST_DIGITS: usize = 38;
/// The largest magnitude is 9.99…E+125.
const LARGEST_EXPONENT: i64 = 125;
/// The smallest magnitude is 1E-130.
const SMALLEST_EXPONENT: i64 = -130;
/// Bytes that a number counts at most. A negative one with twenty bytes of digits has no byte for its sign.
const LARGEST_SIZE: usize = 21;

/// A number, without the zeros that do not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Number {
    negative: bool,
    /// Empty for zero. The first and the last one are not 0.
    digits: String,
    /// The power of ten of the first digit.
    exponent: i64,
}

impl Number {
    /// Refuses a text that is not a number, in this wording.
    pub(super) fn parse_as(text: &str, wording: Wording) -> Result<Self, Refusal> {
        let parsed = if wording == Wording::Older {
            check_as_big_decimal(text).and_then(|()| Self::read(text))
        } else {
            Self::read(text)
        };
        parsed.map_err(|message| wording.refuse(message))
    }

    pub(super) fn parse(text: &str) -> Result<Self, Refusal> {
        Self::parse_as(text, Wording::Plain)
    }

    fn read(text: &str) -> Result<Self, Cow<'static, str>> {
        let (negative, mantissa, exponent) = parts(text).ok_or_else(|| not_numeric(text))?;
        let exponent: i64 = exponent.parse().map_err(|_| not_numeric(text))?;
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let last = exponent.saturating_sub(length(fraction));
        let number = Self::of(negative, &[whole, fraction].concat(), last);
        if number.digits.len() > MOST_DIGITS {
            return Err("Attempting to store more than 38 significant digits in a Number".into());
        }
        // Zero is checked as if its last digit were a 1.
        check_magnitude(if number.digits.is_empty() {
            last
        } else {
            number.exponent
        })?;
        Ok(number)
    }

    /// The number of these digits, of which the last one stands for this power of ten.
    fn of(negative: bool, digits: &str, last: i64) -> Self {
        let significant = digits.trim_start_matches('0');
        let is_zero = significant.is_empty();
        let first = last.saturating_add(length(significant) - 1);
        Self {
            negative: negative && !is_zero,
            digits: significant.trim_end_matches('0').to_owned(),
            exponent: if is_zero { 0 } else { first },
        }
    }

    /// The same text for the same value.
    pub(super) fn canonical(&self) -> String {
        if self.digits.is_empty() {
            return "0".to_owned();
        }
        let sign = if self.negative { "-" } else { "" };
        format!("{sign}{}E{}", self.digits, self.exponent)
    }

    /// As the service writes it in answers: without an exponent, and without zeros that do not count.
    pub(super) fn plain(&self) -> String {
        if self.digits.is_empty() {
            return "0".to_owned();
        }
        let sign = if self.negative { "-" } else { "" };
        let zeros = |count: i64| "0".repeat(usize::try_from(count).unwrap_or_default());
        let whole = self.exponent + 1;
        let missing = whole - length(&self.digits);
        if whole <= 0 {
            format!("{sign}0.{}{}", zeros(-whole), self.digits)
        } else if missing >= 0 {
            format!("{sign}{}{}", self.digits, zeros(missing))
        } else {
            let (whole, fraction) = self.digits.split_at(usize::try_from(whole).unwrap_or_default());
            format!("{sign}{whole}.{fraction}")
        }
    }

    pub(super) fn negated(&self) -> Self {
        Self {
            negative: !self.negative,
            ..self.clone()
        }
    }

    /// The sum of two numbers. The service reports that one with too many digits is too large.
    pub(super) fn plus(&self, other: &Self) -> Result<Self, String> {
        if self.digits.is_empty() || other.digits.is_empty() {
            return Ok(if self.digits.is_empty() { other } else { self }.clone());
        }
        let last = |number: &Self| number.exponent - length(&number.digits) + 1;
        let lowest = last(self).min(last(other));
        let scaled = |number: &Self| {
            let power = 10_u128.checked_pow(u32::try_from(last(number) - lowest).ok()?)?;
            number.digits.parse::<u128>().ok()?.checked_mul(power)
        };
        // What does not fit in 128 bits has a last digit that no sum removes, and more than 38 digits before it.
        let (one, two) = scaled(self).zip(scaled(other)).ok_or(OVERFLOW)?;
        let (negative, sum) = match (self.negative == other.negative, one >= two) {
            (true, _) => (self.negative, one.checked_add(two).ok_or(OVERFLOW)?),
            (false, true) => (self.negative, one - two),
            (false, false) => (other.negative, two - one),
        };
        let sum = Self::of(negative, &sum.to_string(), lowest);
        if sum.digits.len() > MOST_DIGITS {
            return Err(OVERFLOW.to_owned());
        }
        check_magnitude(sum.exponent)?;
        Ok(sum)
    }

    /// Bytes whose order is that of the numbers, of the [canonical](Self::canonical) text.
    pub(super) fn order_of_canonical(text: &str) -> Vec<u8> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let Some((digits, exponent)) = rest.split_once('E') else {
            return vec![1];
        };
        let exponent: i64 = exponent.parse().unwrap_or_default();
        let exponent = u8::try_from(exponent - SMALLEST_EXPONENT).unwrap_or_default();
        let magnitude = std::iter::once(exponent).chain(digits.bytes());
        if negative {
            let reversed = magnitude.map(|byte| u8::MAX - byte);
            // A number with more digits is the smaller one of two that begin alike.
            std::iter::once(0).chain(reversed).chain([u8::MAX]).collect()
        } else {
            std::iter::once(2).chain(magnitude).collect()
        }
    }

    /// The bytes that count towards the size of an item: two digits in a byte, and one byte more.
    pub(super) fn size(&self) -> usize {
        if self.digits.is_empty() {
            return 1;
        }
        let digits = self.digits.len();
        let unaligned = digits.is_multiple_of(2) && self.exponent % 2 == 0;
        let size = 1 + digits.div_ceil(2) + usize::from(unaligned) + usize::from(self.negative);
        size.min(LARGEST_SIZE)
    }
}

/// By value.
impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = |number: &Self| match number.digits.as_str() {
            "" => 0,
            _ if number.negative => -1,
            _ => 1,
        };
        let of_magnitudes = || (self.exponent, &self.digits).cmp(&(other.exponent, &other.digits));
        let of_negatives = || of_magnitudes().reverse();
        let of_signs = sign(self).cmp(&sign(other));
        of_signs.then_with(|| if self.negative { of_negatives() } else { of_magnitudes() })
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Whether it is negative, its digits with at most one point, and its exponent. `None` if the text has another form.
fn parts(text: &str) -> Option<(bool, &str, &str)> {
    let (negative, rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let power = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let is_number = !(whole.is_empty() && fraction.is_empty()) && is_digits(whole) && is_digits(fraction);
    (is_number && !power.is_empty() && is_digits(power)).then_some((negative, mantissa, exponent))
}

/// The older layer reads numbers as Java's `BigDecimal` does: its exponents and scales have 32 bits, and a sum that exceeds them wraps.
fn check_as_big_decimal(text: &str) -> Result<(), Cow<'static, str>> {
    if text.is_empty() {
        return Err("The parameter cannot be converted to a numeric value".into());
    }
    let (_, mantissa, exponent) = parts(text).ok_or_else(|| not_numeric(text))?;
    let exponent: i32 = exponent.parse().map_err(|_| not_numeric(text))?;
    let fraction = mantissa.split_once('.').map_or(0, |(_, fraction)| length(fraction));
    let scale = fraction - i64::from(exponent);
    if i32::try_from(scale).is_err() {
        return Err(not_numeric(text));
    }
    let digits = mantissa.bytes().filter(u8::is_ascii_digit);
    let precision = digits.skip_while(|digit| *digit == b'0').count().max(1);
    if i64::try_from(precision).unwrap_or(i64::MAX) - scale >= i64::from(i32::MAX) {
        return Err(UNDERFLOW.into());
    }
    Ok(())
}

fn not_numeric(text: &str) -> Cow<'static, str> {
    format!("The parameter cannot be converted to a numeric value: {text}").into()
}

const OVERFLOW: &str = "Number overflow. Attempting to store a number with magnitude larger than supported range";
const UNDERFLOW: &str = "Number underflow. Attempting to store a number with magnitude smaller than supported range";

fn check_magnitude(exponent: i64) -> Result<(), Cow<'static, str>> {
    if exponent > LARGEST_EXPONENT {
        Err(OVERFLOW.into())
    } else if exponent < SMALLEST_EXPONENT {
        Err(UNDERFLOW.into())
    } else {
        Ok(())
    }
}

fn length(text: &str) -> i64 {
    i64::try_from(text.len()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn canonical(text: &str) -> String {
        Number::parse(text).unwrap().canonical()
    }

    fn message(text: &str) -> String {
        Number::parse(text).unwrap_err().message().to_owned()
    }

    #[test]
    fn numbers_are_compared_by_value() {
        for (left, right) in [
            ("1", "1.0"),
            ("100", "1e2"),
            ("-0", "0.000"),
            ("0.5", "5E-1"),
            ("+7", "007"),
        ] {
            assert_eq!(canonical(left), canonical(right), "{left} {right}");
        }
        assert_ne!(canonical("1"), canonical("-1"));
        assert_ne!(canonical("1"), canonical("10"));
    }

    #[test]
    fn a_text_that_is_not_a_number_is_refused() {
        for text in [
            "", "-", ".", "1e", "abc", "1_000", "0x1", "NaN", "Infinity", " 1", "1.2.3", "--1",
        ] {
            assert!(message(text).starts_with("The parameter cannot be converted"), "{text}");
        }
    }

    #[test]
    fn thirty_eight_digits_are_the_limit_and_zeros_do_not_count() {
        assert!(Number::parse(&"9".repeat(38)).is_ok());
        assert!(message(&"9".repeat(39)).contains("38 significant digits"));
        assert!(Number::parse(&format!("{}0", "9".repeat(38))).is_ok());
    }

    #[test]
    fn the_magnitude_has_its_limits() {
        assert!(Number::parse("9.9999999999999999999999999999999999999E+125").is_ok());
        assert!(message("1E126").starts_with("Number overflow"));
        assert!(Number::parse("1E-130").is_ok());
        assert!(message("9E-131").starts_with("Number underflow"));
        assert!(message("1E9223372036854775807").starts_with("Number overflow"));
        for (zero, expected) in [
            ("0e126", "Number overflow"),
            ("0.0e127", "Number overflow"),
            ("0e-131", "Number underflow"),
            ("0.0e-130", "Number underflow"),
        ] {
            assert!(message(zero).starts_with(expected), "{zero}");
        }
        assert_eq!(
            [canonical("0e125"), canonical("0.0e126"), canonical("-0E-130")],
            ["0"; 3]
        );
    }

    /// The first literals were measured in eu-west-2 in August 2026, by items of exactly the limit and of a byte more, by the authors
    /// of the suite `paritysuite/dynamodb-conformance`. The rest is as the public calculators of item sizes have it.
    #[test]
    fn sizes_are_those_that_were_measured() {
        let measured = [
            ("0", 1),
            ("1", 2),
            ("12", 2),
            ("123", 3),
            ("1234", 3),
            ("12345678901234567890123456789012345678", 20),
            ("0042", 2),
            ("100", 2),
            ("1010", 3),
            ("0.0000001", 2),
            ("1E125", 2),
            ("1E-100", 2),
            ("1.5", 3),
            ("15", 2),
            ("1.2", 3),
            ("1.200", 3),
            ("1.234", 4),
            ("3.14159", 5),
            ("123456", 4),
            ("100.5", 4),
            ("0.15", 2),
            ("-42", 3),
            ("-0", 1),
        ];
        let calculated = [
            ("-1", 3),
            ("120", 3),
            ("0.012", 3),
            ("1.2345678901234567890123456789012345678", 21),
            ("-1.2345678901234567890123456789012345678", 21),
        ];
        for (text, size) in measured.into_iter().chain(calculated) {
            assert_eq!(Number::parse(text).unwrap().size(), size, "{text}");
        }
    }

    #[test]
    fn a_number_is_written_out() {
        for (text, plain) in [
            ("0042.1200", "42.12"),
            ("1.5E2", "150"),
            ("-0", "0"),
            ("+7", "7"),
            ("-.5", "-0.5"),
            ("12e-4", "0.0012"),
            ("1E-130", &format!("0.{}1", "0".repeat(129))),
            ("1E125", &format!("1{}", "0".repeat(125))),
        ] {
            assert_eq!(Number::parse(text).unwrap().plain(), plain, "{text}");
        }
    }

    #[test]
    fn numbers_are_ordered_by_value() {
        let ordered = ["-20", "-3", "-0.5", "0", "1E-130", "0.5", "0.51", "3", "20", "1E125"];
        let mut numbers: Vec<Number> = ordered.iter().rev().map(|text| Number::parse(text).unwrap()).collect();
        numbers.sort();
        let expected = ordered.map(|text| Number::parse(text).unwrap());
        assert_eq!(numbers, expected);
        numbers.reverse();
        numbers.sort_by_key(|number| Number::order_of_canonical(&number.canonical()));
        assert_eq!(numbers, expected);
    }

    #[test]
    fn a_sum_has_at_most_thirty_eight_digits() {
        let sum = |one: &str, other: &str| {
            let [one, other] = [one, other].map(|text| Number::parse(text).unwrap());
            one.plus(&other).map(|sum| sum.canonical())
        };
        let nines = "9".repeat(38);
        assert_eq!(sum("1E38", "-1"), Ok(format!("{nines}E37")));
        assert_eq!(
            sum("1.9E38", &format!("-{nines}")),
            Ok(format!("9{}1E37", "0".repeat(36)))
        );
        assert_eq!(sum(&nines, "1"), Ok("1E38".to_owned()));
        assert_eq!(sum(&format!("-{nines}"), &nines), Ok("0".to_owned()));
        assert_eq!(sum("-0", "1E125"), Ok("1E125".to_owned()));
        assert_eq!(sum("9E125", "-1E125"), Ok("8E125".to_owned()));
        for (one, other) in [
            ("1E39", "-1"),
            ("1E38", "1"),
            ("4E38", "-1"),
            (&nines, "0.1"),
            ("1E125", "1E-130"),
            ("9E125", "9E125"),
        ] {
            assert_eq!(sum(one, other), Err(OVERFLOW.to_owned()), "{one} {other}");
        }
    }

    #[test]
    fn the_older_layer_reads_exponents_of_thirty_two_bits() {
        let message = |text: &str| {
            let refusal = Number::parse_as(text, Wording::Older).unwrap_err();
            refusal.message().to_owned()
        };
        assert_eq!(message(""), "The parameter cannot be converted to a numeric value");
        assert_eq!(message("a"), "The parameter cannot be converted to a numeric value: a");
        assert!(message("1e126").starts_with("Number overflow"));
        assert!(message("1e2147483646").starts_with("Number underflow"));
        assert!(message("1e2147483648").starts_with("The parameter cannot"));
        assert!(message("1.5e-2147483648").starts_with("The parameter cannot"));
    }

    proptest! {
        #[test]
        fn shifting_the_point_and_the_exponent_keeps_the_value(digits in "[1-9][0-9]{0,30}", shift in 0_usize..40) {
            let moved = format!("{digits}{}E-{shift}", "0".repeat(shift));
            prop_assert_eq!(canonical(&digits), canonical(&moved));
        }

        #[test]
        fn sums_are_those_of_integers(one in any::<i64>(), other in any::<i64>(), shift in -60_i32..60) {
            let number = |value: i128| Number::parse(&format!("{value}E{shift}")).unwrap();
            let (a, b) = (number(one.into()), number(other.into()));
            prop_assert_eq!(a.plus(&b).unwrap().plain(), number(i128::from(one) + i128::from(other)).plain());
            prop_assert_eq!(a.plus(&b.negated()).unwrap().plain(), number(i128::from(one) - i128::from(other)).plain());
        }

        #[test]
        fn the_order_of_numbers_is_that_of_their_bytes(
            one in "-?[0-9]{1,20}(\\.[0-9]{1,18})?(E-?[0-9]{1,2})?",
            other in "-?[0-9]{1,20}(\\.[0-9]{1,18})?(E-?[0-9]{1,2})?",
        ) {
            let (one, other) = (Number::parse(&one).unwrap(), Number::parse(&other).unwrap());
            let order = |number: &Number| Number::order_of_canonical(&number.canonical());
            prop_assert_eq!(one.cmp(&other), order(&one).cmp(&order(&other)));
        }

        #[test]
        fn a_number_that_is_written_out_is_the_same_number(text in "-?[0-9]{1,20}(\\.[0-9]{1,18})?(E-?[0-9]{1,2})?") {
            let number = Number::parse(&text).unwrap();
            prop_assert_eq!(&Number::parse(&number.plain()).unwrap(), &number);
        }
    }
}

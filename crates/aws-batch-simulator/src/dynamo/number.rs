//! Numbers as `DynamoDB` keeps them: 38 significant decimal digits and an exponent.

use crate::wire::Refusal;

const MOST_DIGITS: usize = 38;
/// The largest magnitude is 9.99…E+125.
const LARGEST_EXPONENT: i64 = 125;
/// The smallest magnitude is 1E-130.
const SMALLEST_EXPONENT: i64 = -130;

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
    pub(super) fn parse(text: &str) -> Result<Self, Refusal> {
        let not_numeric =
            || Refusal::validation(format!("The parameter cannot be converted to a numeric value: {text}"));
        let (negative, rest) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().map_err(|_| not_numeric())?),
            None => (rest, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = [whole, fraction].concat();
        if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(not_numeric());
        }
        let significant = all.trim_start_matches('0');
        if significant.is_empty() {
            // Zero is checked as if its last digit were a 1.
            let last = exponent.saturating_sub(length(fraction));
            check_magnitude(last)?;
            return Ok(Self {
                negative: false,
                digits: String::new(),
                exponent: 0,
            });
        }
        let skipped = length(&all) - length(significant);
        let number = Self {
            negative,
            digits: significant.trim_end_matches('0').to_owned(),
            exponent: exponent.saturating_add(length(whole) - skipped - 1),
        };
        number.check()?;
        Ok(number)
    }

    fn check(&self) -> Result<(), Refusal> {
        if self.digits.len() > MOST_DIGITS {
            Err(Refusal::validation(
                "Attempting to store more than 38 significant digits in a Number",
            ))
        } else {
            check_magnitude(self.exponent)
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

    /// The bytes that count towards the size of an item: two digits in a byte, and one byte more.
    pub(super) fn size(&self) -> usize {
        if self.digits.is_empty() {
            return 1;
        }
        let digits = self.digits.len();
        let unaligned = digits.is_multiple_of(2) && self.exponent % 2 == 0;
        1 + digits.div_ceil(2) + usize::from(unaligned) + usize::from(self.negative)
    }
}

fn check_magnitude(exponent: i64) -> Result<(), Refusal> {
    if exponent > LARGEST_EXPONENT {
        Err(Refusal::validation(
            "Number overflow. Attempting to store a number with magnitude larger than supported range",
        ))
    } else if exponent < SMALLEST_EXPONENT {
        Err(Refusal::validation(
            "Number underflow. Attempting to store a number with magnitude smaller than supported range",
        ))
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

    #[test]
    fn sizes_follow_the_rule_of_two_digits_a_byte() {
        for (text, size) in [
            ("0", 1),
            ("1", 2),
            ("-1", 3),
            ("12", 2),
            ("123", 3),
            ("100", 2),
            ("1.2", 3),
        ] {
            assert_eq!(Number::parse(text).unwrap().size(), size, "{text}");
        }
    }

    proptest! {
        #[test]
        fn shifting_the_point_and_the_exponent_keeps_the_value(digits in "[1-9][0-9]{0,30}", shift in 0_usize..40) {
            let moved = format!("{digits}{}E-{shift}", "0".repeat(shift));
            prop_assert_eq!(canonical(&digits), canonical(&moved));
        }
    }
}

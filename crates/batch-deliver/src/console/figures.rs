//! Figures as they are printed.

use std::time::Duration;

/// A count with separators: 4,609.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A count with its noun: 1 call, 4,609 calls.
pub(crate) fn counted(count: u64, what: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{} {what}{ending}", grouped(count))
}

/// What to do about this many items that plain JSON cannot represent without a loss.
pub(crate) fn lossy_words(items: u64) -> String {
    let items = if items == 1 {
        "1 item has".to_owned()
    } else {
        format!("{} items have", grouped(items))
    };
    format!("{items} sets or binary values, which plain JSON does not have: --format dynamodb keeps them")
}

/// A rate, rounded: 1,002 or 0.5.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate is for the eye"
)]
pub(crate) fn rate(rate: f64) -> String {
    if rate < 10.0 {
        format!("{rate:.1}")
    } else {
        grouped(rate.round() as u64)
    }
}

/// A time, rounded: 4.6 s, 3 min 20 s, 2 h 5 min.
pub(crate) fn time(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..10 => format!("{:.1} s", time.as_secs_f64()),
        10..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// A size, rounded: 812 B, 2.4 MB.
#[expect(clippy::cast_precision_loss, reason = "a size is for the eye")]
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1_000 {
        return format!("{bytes} B");
    }
    let mut size = bytes as f64 / 1e3;
    let mut unit = 0;
    while size >= 999.95 && unit < UNITS.len() - 1 {
        size /= 1e3;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}

/// Dollars, rounded to cents: $1,204.50, less than $0.01.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "dollars are for the eye"
)]
pub(crate) fn dollars(dollars: f64) -> String {
    let cents = (dollars * 100.0).round() as u64;
    if cents == 0 && dollars > 0.0 {
        return "less than $0.01".to_owned();
    }
    format!("${}.{:02}", grouped(cents / 100), cents % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_rounded_for_reading() {
        assert_eq!(
            [0, 1, 2_000].map(|count| counted(count, "call")),
            ["0 calls", "1 call", "2,000 calls"]
        );
        assert_eq!(
            [0, 999, 1_000, 1_234_567].map(grouped),
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!([0.04, 9.96, 1_002.4].map(rate), ["0.0", "10.0", "1,002"]);
        let seconds = [4.64, 59.9, 200.0, 7_500.0].map(Duration::from_secs_f64);
        let sizes = [999, 1_000, 999_999, 2_356_947];
        assert_eq!(sizes.map(size), ["999 B", "1.0 kB", "1.0 MB", "2.4 MB"]);
        assert_eq!(
            [0.0, 0.001, 0.995, 1_204.5].map(dollars),
            ["$0.00", "less than $0.01", "$1.00", "$1,204.50"]
        );
        assert_eq!(seconds.map(time), ["4.6 s", "59 s", "3 min 20 s", "2 h 5 min"]);
    }
}

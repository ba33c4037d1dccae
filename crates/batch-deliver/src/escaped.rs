//! Text from outside the program as it is printed: names, attributes, and the words of services.

use std::borrow::Cow;

/// The text without characters that a terminal obeys or that reorder or hide others: each is printed as Rust writes it, such as
/// `\n` or `\u{1b}`. A name can then neither colour the output nor add lines to it.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if is_unsafe(character) {
            escaped.extend(character.escape_default());
        } else {
            escaped.push(character);
        }
    }
    Cow::Owned(escaped)
}

/// Control characters (C0, DEL and C1), line and paragraph separators, marks of direction, and characters without a width.
/// Joiners are left, because some scripts and emoji need them.
fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'
                | '\u{200e}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_what_a_terminal_obeys_or_does_not_show_is_escaped() {
        let table = [
            (
                "films of 2013/Amélie — 東京 👩‍🚀.jsonl",
                "films of 2013/Amélie — 東京 👩‍🚀.jsonl",
            ),
            (r"C:\films", r"C:\films"),
            ("a\u{1b}[31mb", "a\\u{1b}[31mb"),
            ("a\nerror: b\r\t", "a\\nerror: b\\r\\t"),
            ("gpj.\u{202e}exe\u{9b}\u{7f}", "gpj.\\u{202e}exe\\u{9b}\\u{7f}"),
        ];
        for (text, expected) in table {
            assert_eq!(escaped(text), expected);
        }
    }

    proptest! {
        #[test]
        fn no_character_is_lost(text in any::<String>()) {
            let expected: String = text
                .chars()
                .flat_map(|character| if is_unsafe(character) { character.escape_default().collect() } else { vec![character] })
                .collect();
            let printed = escaped(&text);
            prop_assert!(!printed.chars().any(char::is_control));
            prop_assert_eq!(printed, expected);
        }
    }
}

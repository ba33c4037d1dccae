//! The words of expressions, and their placeholders: `#n` for the name of an attribute, `:v` for a value.

use std::collections::HashMap;
use std::iter;

use super::Attributes;
use crate::invalid::InvalidEntry;

/// A part of an expression. Placeholders begin with their `#` or `:`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Token<'a> {
    /// The name of an attribute, a keyword, a function or a number.
    Word(&'a str),
    NamePlaceholder(&'a str),
    ValuePlaceholder(&'a str),
    Equals,
    Comma,
    Other,
}

/// The parts of an expression, which has no texts of its own: every `#` and every `:` begins a placeholder.
pub(super) fn tokens(expression: &str) -> impl Iterator<Item = Token<'_>> {
    let is_of_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut rest = expression;
    iter::from_fn(move || {
        rest = rest.trim_ascii_start();
        let first = rest.chars().next()?;
        let after_first = &rest[first.len_utf8()..];
        let is_alone = !is_of_word(first) && !matches!(first, '#' | ':');
        let length = if is_alone {
            0
        } else {
            after_first
                .find(|letter| !is_of_word(letter))
                .unwrap_or(after_first.len())
        };
        let (text, after) = rest.split_at(first.len_utf8() + length);
        rest = after;
        Some(match first {
            '#' => Token::NamePlaceholder(text),
            ':' => Token::ValuePlaceholder(text),
            ',' => Token::Comma,
            '=' => Token::Equals,
            _ if is_alone => Token::Other,
            _ => Token::Word(text),
        })
    })
}

/// The placeholders of an expression, in their order, as often as they occur.
pub(super) fn placeholders(expression: &str) -> impl Iterator<Item = &str> {
    tokens(expression).filter_map(|token| match token {
        Token::NamePlaceholder(placeholder) | Token::ValuePlaceholder(placeholder) => Some(placeholder),
        _ => None,
    })
}

/// Checks that each placeholder of the expressions stands for something, and that nothing is given that no expression has: the
/// service refuses both.
pub(super) fn check_placeholders(
    expressions: [Option<&str>; 2],
    names: Option<&HashMap<String, String>>,
    values: Option<&Attributes>,
) -> Result<(), InvalidEntry> {
    let is_given = |placeholder: &str| {
        names.is_some_and(|names| names.contains_key(placeholder))
            || values.is_some_and(|values| values.contains_key(placeholder))
    };
    let mut used = expressions.into_iter().flatten().flat_map(placeholders);
    if let Some(missing) = used.find(|placeholder| !is_given(placeholder)) {
        let part = "meaning of the placeholder";
        return Err(InvalidEntry::Missing { part }.of_attribute(missing));
    }
    let is_used = |given: &&String| {
        let mut used = expressions.into_iter().flatten().flat_map(placeholders);
        used.any(|placeholder| placeholder == given.as_str())
    };
    let mut given = names
        .into_iter()
        .flat_map(HashMap::keys)
        .chain(values.into_iter().flat_map(HashMap::keys));
    match given.find(|given| !is_used(given)) {
        None => Ok(()),
        Some(unused) => Err(InvalidEntry::malformed("placeholder", "in an expression").of_attribute(unused)),
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::types::AttributeValue;

    use super::*;

    #[test]
    fn placeholders_end_where_their_name_ends() {
        let found = |expression| placeholders(expression).collect::<Vec<_>>();
        assert_eq!(
            found("SET #s=:s, #a_1.#b[0] = if_not_exists(c,:c)"),
            ["#s", ":s", "#a_1", "#b", ":c"]
        );
        assert!(found("attribute_not_exists(id)").is_empty());
    }

    #[test]
    fn what_a_placeholder_stands_for_is_given_and_used() {
        let names = HashMap::from([("#s".to_owned(), "status".to_owned())]);
        let values = Attributes::from([(":s".to_owned(), AttributeValue::Bool(true))]);
        let checked = |expression| {
            let invalid = check_placeholders([None, Some(expression)], Some(&names), Some(&values)).err();
            invalid.map(|invalid| invalid.to_string())
        };
        assert_eq!(checked("#s = :s OR #s < :s"), None);
        assert_eq!(
            checked("#s = :s AND #s < :newest").unwrap(),
            "`:newest`: the meaning of the placeholder is missing or empty"
        );
        assert_eq!(
            checked("status = :s").unwrap(),
            "`#s`: the placeholder must be in an expression"
        );
    }
}

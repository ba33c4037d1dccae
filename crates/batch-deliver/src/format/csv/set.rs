//! Cells with several members.

use serde_json::value::RawValue;

/// The members of a set: a JSON array (`["a","b"]`), or as `DynamoDB`'s console and `PostgreSQL` print it (`{ "a", "b" }`, `{a,b}`).
pub(super) fn members(text: &str) -> Result<Vec<String>, String> {
    let text = text.trim();
    if text.starts_with('[') {
        return array(text);
    }
    let braced = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    let mut rest = braced.ok_or(ADVICE)?.trim();
    let mut members = Vec::new();
    while !rest.is_empty() {
        let (member, behind) = if let Some(quoted) = rest.strip_prefix('"') {
            let (member, behind) = unquoted(quoted)?;
            (member, behind.trim_start())
        } else {
            let end = rest.find(',').unwrap_or(rest.len());
            (rest[..end].trim_end().to_owned(), &rest[end..])
        };
        let is_quoted = rest.starts_with('"');
        if !is_quoted && (member.is_empty() || member.contains(['"', '{', '}'])) {
            return Err(ADVICE.to_owned());
        }
        if !is_quoted && member.eq_ignore_ascii_case("NULL") {
            return Err(NULL.to_owned());
        }
        members.push(member);
        rest = match behind.strip_prefix(',') {
            Some(next) if !next.trim().is_empty() => next.trim_start(),
            None if behind.is_empty() => behind,
            _ => return Err(ADVICE.to_owned()),
        };
    }
    Ok(members)
}

const ADVICE: &str = "this is not a set: write [\"a\",\"b\"] or {a,b}";

const NULL: &str = "a set has no NULL: leave it out, or write \"NULL\" with quotes if it is text";

fn array(text: &str) -> Result<Vec<String>, String> {
    let members: Vec<&RawValue> = serde_json::from_str(text).map_err(|_| ADVICE)?;
    let members = members.into_iter().map(|member| match member.get() {
        text if text.starts_with('"') => serde_json::from_str(text).map_err(|_| ADVICE.to_owned()),
        number if number.starts_with(|first: char| first == '-' || first.is_ascii_digit()) => Ok(number.to_owned()),
        _ => Err(ADVICE.to_owned()),
    });
    members.collect()
}

/// The text up to the closing quote, and what follows it.
fn unquoted(text: &str) -> Result<(String, &str), String> {
    let mut member = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Ok((member, &text[at + 1..])),
            '\\' => member.extend(letters.next().map(|(_, letter)| letter)),
            letter => member.push(letter),
        }
    }
    Err(ADVICE.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_read_as_the_console_databases_and_json_write_them() {
        let table: [(&str, &[&str]); 11] = [
            (r#"["a","b"]"#, &["a", "b"]),
            (r#"{ "x", "y" }"#, &["x", "y"]),
            ("{red,green}", &["red", "green"]),
            (r#"{a b,"c,\"d\\"}"#, &["a b", "c,\"d\\"]),
            ("{1, 2.5}", &["1", "2.5"]),
            ("{}", &[]),
            ("[]", &[]),
            (r#"{""}"#, &[""]),
            ("[1, 2.50]", &["1", "2.50"]),
            (r#"{"NULL"}"#, &["NULL"]),
            ("{NULLS,a null}", &["NULLS", "a null"]),
        ];
        for (text, expected) in table {
            assert_eq!(members(text).unwrap(), expected, "{text}");
        }
        for text in [
            "a,b",
            "{a",
            "{a,}",
            "{,a}",
            r#"{"a"b}"#,
            r#"{"a}"#,
            "{{a}}",
            "[null]",
            "{a,NULL,b}",
            "{ null }",
            r#"["a""#,
        ] {
            assert!(members(text).is_err(), "{text}");
        }
    }
}

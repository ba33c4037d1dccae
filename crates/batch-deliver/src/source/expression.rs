//! The words of DynamoDB's expressions.

/// The operands, functions and keywords of an expression. An operand is a path, or a placeholder of a value.
pub(crate) fn words(expression: &str) -> impl Iterator<Item = &str> {
    let is_separator = |character: char| !character.is_alphanumeric() && !"#:_.-[]".contains(character);
    expression.split(is_separator).filter(|word| !word.is_empty())
}

/// The placeholders of an expression that begin with this sign: `#` of names, which may be anywhere in a path, and `:` of values.
pub(crate) fn placeholders(expression: &str, sign: char) -> impl Iterator<Item = &str> {
    let parts = words(expression).flat_map(|word| word.split(['.', '[', ']', '-']));
    parts.filter(move |part| part.len() > 1 && part.starts_with(sign))
}

/// A placeholder of a name that stands for nothing else.
pub(crate) fn unused_placeholder(is_used: impl Fn(&str) -> bool) -> String {
    let mut placeholders = (0_u64..).map(|number| format!("#key_{number}"));
    placeholders
        .find(|placeholder| !is_used(placeholder))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_found_wherever_they_stand() {
        let found = |sign| placeholders("SET #a.#b[0].c_#=:x+:y_1, list[:no] = (:z)", sign).collect::<Vec<_>>();
        assert_eq!(found('#'), ["#a", "#b"]);
        assert_eq!(found(':'), [":x", ":y_1", ":no", ":z"]);
        assert_eq!(placeholders("# = : AND a:b", ':').count(), 0);
    }
}

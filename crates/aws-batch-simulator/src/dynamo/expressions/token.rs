//! The tokens of an expression.

/// A piece of an expression, and where it begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'a> {
    pub(super) kind: TokenKind,
    pub(super) text: &'a str,
    pub(super) start: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// The name of an attribute or of a function, or a keyword.
    Word,
    /// A placeholder of a name: `#name`.
    Name,
    /// A placeholder of a value: `:value`.
    Value,
    /// Digits.
    Number,
    /// An operator or a parenthesis.
    Symbol,
    /// What no expression has.
    Unknown,
}

const SYMBOLS: [&str; 14] = ["<>", "<=", ">=", "<", ">", "=", "(", ")", "[", "]", ",", ".", "+", "-"];

/// All tokens of an expression. Spaces separate them, and have no meaning otherwise.
pub(super) fn tokens(expression: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut start = 0;
    while let Some(first) = expression[start..].chars().next() {
        if first.is_ascii_whitespace() {
            start += 1;
            continue;
        }
        let (kind, length) = next(&expression[start..], first);
        let text = &expression[start..start + length];
        tokens.push(Token { kind, text, start });
        start += length;
    }
    tokens
}

/// The kind and the length of the first token, which begins with this character.
fn next(rest: &str, first: char) -> (TokenKind, usize) {
    let word = |rest: &str| {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        rest.bytes().take_while(|byte| is_part(*byte)).count()
    };
    match first {
        '#' | ':' => match word(&rest[1..]) {
            0 => (TokenKind::Unknown, 1),
            length if first == '#' => (TokenKind::Name, length + 1),
            length => (TokenKind::Value, length + 1),
        },
        'a'..='z' | 'A'..='Z' => (TokenKind::Word, word(rest)),
        '0'..='9' => {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            (TokenKind::Number, digits)
        }
        _ => match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            Some(symbol) => (TokenKind::Symbol, symbol.len()),
            None => (TokenKind::Unknown, first.len_utf8()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_need_no_spaces_and_words_begin_with_a_letter() {
        let texts =
            |expression: &'static str| -> Vec<&str> { tokens(expression).iter().map(|token| token.text).collect() };
        assert_eq!(
            texts("(#a_1=:2)AND b[10].c<>d"),
            [
                "(", "#a_1", "=", ":2", ")", "AND", "b", "[", "10", "]", ".", "c", "<>", "d"
            ]
        );
        let kinds = |expression: &'static str| -> Vec<TokenKind> {
            tokens(expression).iter().map(|token| token.kind).collect()
        };
        assert_eq!(kinds("_a"), [TokenKind::Unknown, TokenKind::Word]);
        assert_eq!(
            kinds("1a # ü"),
            [
                TokenKind::Number,
                TokenKind::Word,
                TokenKind::Unknown,
                TokenKind::Unknown
            ]
        );
    }
}

//! The path of an attribute inside an entry, as errors show it.

/// The most characters of one name in a path. Longer names are cut.
const LONGEST_NAME: usize = 64;

/// The most characters of a path. Longer ones are cut.
const LONGEST: usize = 256;

/// What a cut name or path ends with.
const CUT: char = '…';

/// The path of an attribute, or of a member of one: `address.zip`, `lines[3].price`.
///
/// A name with other characters than letters, digits and `_-:#/@$` is quoted, and its quotes and control characters are
/// escaped: `"a.b"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AttributePath(String);

impl AttributePath {
    pub(crate) fn of_name(name: &str) -> Self {
        let is_plain = |letter: char| letter.is_alphanumeric() || "_-:#/@$".contains(letter);
        if !name.is_empty() && name.chars().all(is_plain) {
            return Self(cut(name, LONGEST_NAME));
        }
        Self(format!("{:?}", cut(name, LONGEST_NAME)))
    }

    #[cfg(any(test, feature = "dynamodb"))]
    pub(crate) fn of_index(index: usize) -> Self {
        Self(format!("[{index}]"))
    }

    /// The path of what is at `inner` inside of this one.
    pub(crate) fn with(mut self, inner: &str) -> Self {
        if !inner.starts_with('[') {
            self.0.push('.');
        }
        self.0.push_str(inner);
        Self(cut(&self.0, LONGEST))
    }

    pub(crate) fn into_text(self) -> String {
        self.0
    }
}

fn cut(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        None => text.to_owned(),
        Some((end, _)) => text[..end].trim_end_matches(CUT).chars().chain([CUT]).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_are_quoted_and_escaped() {
        for (name, shown) in [
            ("zip", "zip"),
            ("größe_1", "größe_1"),
            ("user#42", "user#42"),
            ("a.b", r#""a.b""#),
            ("two words", r#""two words""#),
            ("", r#""""#),
            ("a\"b\n\u{1b}[31m`", r#""a\"b\n\u{1b}[31m`""#),
        ] {
            assert_eq!(AttributePath::of_name(name).into_text(), shown);
        }
    }

    #[test]
    fn long_names_and_paths_are_cut() {
        let name = AttributePath::of_name(&"x".repeat(65_535)).into_text();
        assert_eq!(name, format!("{}…", "x".repeat(64)));
        let path = (0..32).fold(String::new(), |inner, _| {
            AttributePath::of_name(&"x".repeat(64)).with(&inner).into_text()
        });
        assert_eq!(path.chars().count(), LONGEST + 1);
        let index = AttributePath::of_name("a").with(&AttributePath::of_index(3).with("b").into_text());
        assert_eq!(index.into_text(), "a[3].b");
    }
}

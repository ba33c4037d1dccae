//! Where a value is inside of an item, as flaws show it.

use crate::source::Flaw;

/// The most characters of a path. Longer ones are cut.
const LONGEST: usize = 256;

/// The flaw of the attribute with this name, or of what is inside of it: `address.zip: …`.
pub(super) fn in_attribute(name: &str, flaw: LocatedFlaw) -> LocatedFlaw {
    // As the delivery shows them: a name with other characters is quoted, and its control characters are escaped.
    let is_plain = |letter: char| letter.is_alphanumeric() || "_-:#/@$".contains(letter);
    let name = if !name.is_empty() && name.chars().all(is_plain) {
        name.to_owned()
    } else {
        format!("{name:?}")
    };
    flaw.inside(&name)
}

/// The flaw of a member of a list: `phones[3]: …`.
pub(super) fn in_list(index: usize, flaw: LocatedFlaw) -> LocatedFlaw {
    flaw.inside(&format!("[{index}]"))
}

/// A flaw with the path of its value.
#[derive(Debug)]
pub(super) struct LocatedFlaw {
    path: String,
    flaw: Flaw,
}

impl LocatedFlaw {
    fn inside(mut self, outer: &str) -> Self {
        let separator = if self.path.is_empty() || self.path.starts_with('[') {
            ""
        } else {
            "."
        };
        self.path = format!("{outer}{separator}{}", self.path);
        if let Some((end, _)) = self.path.char_indices().nth(LONGEST) {
            self.path.truncate(end);
            self.path.push('…');
        }
        self
    }
}

impl From<Flaw> for LocatedFlaw {
    fn from(flaw: Flaw) -> Self {
        Self {
            path: String::new(),
            flaw,
        }
    }
}

impl From<LocatedFlaw> for Flaw {
    fn from(LocatedFlaw { path, flaw }: LocatedFlaw) -> Self {
        if path.is_empty() {
            return flaw;
        }
        Self {
            reason: format!("{path}: {}", flaw.reason).into(),
            ..flaw
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(located: LocatedFlaw) -> String {
        Flaw::from(located).to_string()
    }

    #[test]
    fn the_path_has_names_and_indices() {
        let located = in_attribute("n", Flaw::new("bad").into());
        assert_eq!(shown(in_attribute("phones", in_list(3, located))), "phones[3].n: bad");
        let located = in_attribute("a.b\u{1b}", Flaw::new("bad").into());
        assert_eq!(shown(located), "\"a.b\\u{1b}\": bad");
        let long = in_attribute(&"x".repeat(9_000), Flaw::new("bad").into());
        assert_eq!(shown(long), format!("{}…: bad", "x".repeat(LONGEST)));
    }
}

//! What is said about the inputs before they are read.

use crate::console::{grouped, size};
use crate::source::{Input, STANDARD_INPUT};

/// The most names that are told.
const TOLD: usize = 3;

/// The first names, the number and the size of the inputs, for people to see what a name or a pattern has found.
pub(crate) fn words(inputs: &[Input]) -> String {
    let name = |input: &Input| match input.name.as_str() {
        STANDARD_INPUT => "the standard input".to_owned(),
        name => name.to_owned(),
    };
    let bytes: Option<u64> = inputs.iter().map(|input| input.bytes).sum();
    let bytes = bytes.map(size);
    if let [input] = inputs {
        let bytes = bytes.map(|bytes| format!(", {bytes}")).unwrap_or_default();
        return format!("{}{bytes}", name(input));
    }
    let told: Vec<String> = inputs.iter().take(TOLD).map(name).collect();
    let more = match inputs.len().saturating_sub(TOLD) {
        0 => String::new(),
        more => format!(" and {} more", grouped(more as u64)),
    };
    let bytes = bytes.map(|bytes| format!(", {bytes}")).unwrap_or_default();
    let count = grouped(inputs.len() as u64);
    let names = if told.is_empty() {
        String::new()
    } else {
        format!(": {}{more}", told.join(", "))
    };
    format!("{count} inputs{bytes}{names}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Storage;

    #[test]
    fn inputs_are_told_by_their_first_names_their_number_and_their_size() {
        let input = |name: &str, bytes: Option<u64>| Input {
            name: name.to_owned(),
            storage: Storage::Standard,
            bytes,
            part: None,
            encoding: None,
            has_own_keys: false,
        };
        assert_eq!(words(&[input("a", Some(5))]), "a, 5 B");
        assert_eq!(words(&[]), "0 inputs, 0 B");
        assert_eq!(words(&[input("-", None)]), "the standard input");
        let two = [input("a", Some(5)), input("b", Some(1_000))];
        assert_eq!(words(&two), "2 inputs, 1.0 kB: a, b");
        let many: Vec<Input> = (0..1_203).map(|number| input(&number.to_string(), None)).collect();
        assert_eq!(words(&many), "1,203 inputs: 0, 1, 2 and 1,200 more");
    }
}

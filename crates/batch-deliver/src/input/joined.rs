//! Objects of JSON that are joined without a line end between them.

/// Where the second object of a line begins, if the first one ends before it.
///
/// Only braces and quotes are looked at, so that the line has the same number of objects whether they are parsed or not, and
/// whatever else is wrong with one of them.
pub(super) fn first_of_joined(line: &[u8]) -> Option<usize> {
    if !may_be_joined(line) {
        return None;
    }
    let mut depth = 0_u64;
    let mut at = memchr::memchr(b'{', line)?;
    loop {
        at += memchr::memchr3(b'"', b'{', b'}', &line[at..])?;
        match line[at] {
            b'"' => at = end_of_text(line, at + 1)?,
            b'{' => {
                depth += 1;
                at += 1;
            }
            _ => {
                depth = depth.saturating_sub(1);
                at += 1;
                if depth == 0 {
                    let rest = line[at..].trim_ascii_start();
                    return rest.starts_with(b"{").then(|| line.len() - rest.len());
                }
            }
        }
    }
}

/// Whether a brace opens directly behind one that closes. In one object this is possible only inside of a text.
fn may_be_joined(line: &[u8]) -> bool {
    memchr::memchr_iter(b'}', line).any(|end| line[end + 1..].trim_ascii_start().starts_with(b"{"))
}

/// The position behind the closing quote.
fn end_of_text(line: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr2(b'"', b'\\', line.get(at..)?)?;
        if line[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

//! Gzip, as other programs write it: members one after another, and zeros behind the last one.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::GzDecoder;

/// The first bytes of a member.
pub(super) const MAGIC: &[u8] = b"\x1F\x8B";

/// The content of all members.
///
/// Zeros may fill the input up to the end of a block of a tape or disk. Other bytes behind a member are an error, because what
/// they were is not known.
pub(super) struct GzipMembers<R> {
    state: MemberState<R>,
}

enum MemberState<R> {
    Within(Box<GzDecoder<BufReader<R>>>),
    Between(BufReader<R>),
    /// Only while the state changes.
    Ended,
}

impl<R: Read> GzipMembers<R> {
    pub(super) fn new(input: R) -> Self {
        let state = MemberState::Within(Box::new(GzDecoder::new(BufReader::new(input))));
        Self { state }
    }
}

impl<R: Read> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            match std::mem::replace(&mut self.state, MemberState::Ended) {
                MemberState::Within(mut member) => match member.read(buffer) {
                    Ok(0) => self.state = MemberState::Between(member.into_inner()),
                    read => {
                        self.state = MemberState::Within(member);
                        return read;
                    }
                },
                MemberState::Between(mut input) => match input.fill_buf() {
                    Ok([]) => return Ok(0),
                    Ok([0, ..]) => {
                        zeros(input)?;
                        return Ok(0);
                    }
                    Ok(_) => self.state = MemberState::Within(Box::new(GzDecoder::new(input))),
                    Err(error) => {
                        self.state = MemberState::Between(input);
                        return Err(error);
                    }
                },
                MemberState::Ended => return Ok(0),
            }
        }
    }
}

/// Checks that there are only zeros up to the end.
fn zeros(input: impl BufRead) -> io::Result<()> {
    for byte in input.bytes() {
        if byte? != 0 {
            let words = "there are other bytes after the gzip data: the file is damaged";
            return Err(io::Error::new(io::ErrorKind::InvalidData, words));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    use super::*;

    fn member(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn read(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        GzipMembers::new(bytes).read_to_end(&mut text)?;
        Ok(text)
    }

    proptest! {
        #[test]
        fn all_members_are_read_and_zeros_behind_them_are_not(
            texts in prop::collection::vec("[a-c\n]{0,40}", 1..4),
            zeros in 0_usize..20_000,
        ) {
            let members: Vec<u8> = texts.iter().flat_map(|text| member(text.as_bytes())).collect();
            let padded = [members.clone(), vec![0; zeros]].concat();
            prop_assert_eq!(read(&padded).unwrap(), texts.concat().into_bytes());
            for damaged in [[padded.clone(), vec![7]].concat(), [padded, member(b"a"), b"oops".to_vec()].concat()] {
                prop_assert!(read(&damaged).is_err());
            }
            for cut in [1, 5, 9] {
                prop_assert!(read(&members[..members.len() - cut]).is_err());
            }
        }
    }
}

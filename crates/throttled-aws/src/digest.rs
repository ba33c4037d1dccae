//! Digests, as keys of the journal and of shards.

use md5::{Digest, Md5};

/// The MD5 digest as a number, most significant byte first.
pub(crate) fn number(bytes: &[u8]) -> u128 {
    u128::from_be_bytes(Md5::digest(bytes).into())
}

/// The MD5 digest in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    format!("{:032x}", number(bytes))
}

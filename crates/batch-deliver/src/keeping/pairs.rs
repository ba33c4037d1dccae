//! The items of two tables by their keys: which are in both, and whether these are equal.
//!
//! What is known of an item is its key and a hash of its content. It is divided by a hash of the key into parts, which are in memory as
//! long as they are small, and in files after that. At the end one part after another is compared. So tables may be read in any
//! order, and take the memory of one part in 256.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::{env, process};

/// Files that are open at the same time; systems allow some hundreds at least.
const PARTS: u64 = 256;

/// Bytes in memory after which all parts are written to their files. A part that grows has room for up to twice as many.
const IN_MEMORY: usize = 16 << 20;

/// Bytes of an entry without its key.
const HEAD: usize = 1 + 16 + 4;

/// A table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    First,
    Second,
}

/// How the items with one key differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ItemDifference {
    OnlyInFirst,
    OnlyInSecond,
    Different,
}

/// How many items are equal, and how many differ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Comparison {
    pub(crate) equal: u64,
    pub(crate) only_in_first: u64,
    pub(crate) only_in_second: u64,
    pub(crate) different: u64,
}

impl Comparison {
    pub(crate) fn is_equal(&self) -> bool {
        self.only_in_first + self.only_in_second + self.different == 0
    }
}

/// The items that were read.
#[derive(Debug)]
pub(crate) struct Pairs {
    parts: Vec<Vec<u8>>,
    in_memory: usize,
    most: usize,
    files: Option<PairFiles>,
}

impl Pairs {
    pub(crate) fn new() -> Self {
        Self::with_memory(IN_MEMORY)
    }

    /// Keeps this many bytes in memory.
    fn with_memory(most: usize) -> Self {
        Self {
            parts: (0..PARTS).map(|_| Vec::new()).collect(),
            in_memory: 0,
            most,
            files: None,
        }
    }

    /// Adds an item of one of the tables, by its key and its content as texts.
    pub(crate) fn add(&mut self, side: Side, key: &str, content: &str) -> io::Result<()> {
        let part = usize::try_from(hash(0, key) % PARTS).unwrap_or_default();
        let length = u32::try_from(key.len()).map_err(io::Error::other)?;
        let entry = &mut self.parts[part];
        entry.push(u8::from(side == Side::Second));
        entry.extend(hash(1, content).to_le_bytes());
        entry.extend(hash(2, content).to_le_bytes());
        entry.extend(length.to_le_bytes());
        entry.extend(key.as_bytes());
        self.in_memory += HEAD + key.len();
        if self.in_memory >= self.most {
            self.write()
        } else {
            Ok(())
        }
    }

    /// Writes all parts to their files.
    fn write(&mut self) -> io::Result<()> {
        let files = match &mut self.files {
            Some(files) => files,
            None => self.files.insert(PairFiles::new()?),
        };
        for (part, number) in self.parts.iter_mut().zip(0..) {
            files.append(number, part)?;
            part.clear();
        }
        self.in_memory = 0;
        Ok(())
    }

    /// Compares all items. Calls `found` with each difference and its key.
    pub(crate) fn compare(
        self,
        mut found: impl FnMut(ItemDifference, &str) -> io::Result<()>,
    ) -> io::Result<Comparison> {
        let mut compared = Comparison::default();
        for (part, number) in self.parts.into_iter().zip(0..) {
            let mut entries = match &self.files {
                Some(files) => files.read(number)?,
                None => Vec::new(),
            };
            entries.extend(part);
            for (key, sides) in by_key(&entries)? {
                let (count, difference) = match sides {
                    (Some(first), Some(second)) if first == second => {
                        compared.equal += 1;
                        continue;
                    }
                    (Some(_), Some(_)) => (&mut compared.different, ItemDifference::Different),
                    (Some(_), None) => (&mut compared.only_in_first, ItemDifference::OnlyInFirst),
                    (None, _) => (&mut compared.only_in_second, ItemDifference::OnlyInSecond),
                };
                *count += 1;
                found(difference, key)?;
            }
        }
        Ok(compared)
    }
}

/// The hash of a content.
type ItemBytes<'a> = &'a [u8];

/// The contents of the items with a key, in the first and in the second table.
type KeySides<'a> = (Option<ItemBytes<'a>>, Option<ItemBytes<'a>>);

/// What is known of each key of a part.
fn by_key(mut entries: &[u8]) -> io::Result<BTreeMap<&str, KeySides<'_>>> {
    let broken = || io::Error::other("what was written to a file is not what is read from it");
    let mut keys = BTreeMap::<&str, KeySides<'_>>::new();
    while !entries.is_empty() {
        let (head, rest) = entries.split_at_checked(HEAD).ok_or_else(broken)?;
        let length: [u8; 4] = head[17..].try_into().map_err(|_| broken())?;
        let length = usize::try_from(u32::from_le_bytes(length)).map_err(io::Error::other)?;
        let (key, rest) = rest.split_at_checked(length).ok_or_else(broken)?;
        let sides = keys.entry(str::from_utf8(key).map_err(io::Error::other)?).or_default();
        let side = if head[0] == 0 { &mut sides.0 } else { &mut sides.1 };
        *side = Some(&head[1..17]);
        entries = rest;
    }
    Ok(keys)
}

/// One of several hashes of a text. Two together are 128 bits: that the contents of two items have the same by chance is out of the
/// question.
fn hash(number: u8, text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (number, text).hash(&mut hasher);
    hasher.finish()
}

/// The files of the parts, in a folder that is removed at the end.
#[derive(Debug)]
struct PairFiles {
    folder: PathBuf,
}

impl PairFiles {
    fn new() -> io::Result<Self> {
        let random = {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            hash(3, &format!("{:?}", now.unwrap_or_default()))
        };
        let folder = env::temp_dir().join(format!("batch-deliver-{}-{random:016x}", process::id()));
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&folder)?;
        Ok(Self { folder })
    }

    fn path(&self, number: u32) -> PathBuf {
        Path::new(&self.folder).join(number.to_string())
    }

    fn append(&self, number: u32, entries: &[u8]) -> io::Result<()> {
        let mut file = File::options().create(true).append(true).open(self.path(number))?;
        file.write_all(entries)
    }

    fn read(&self, number: u32) -> io::Result<Vec<u8>> {
        fs::read(self.path(number))
    }
}

impl Drop for PairFiles {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_difference_is_found_with_or_without_files(
            first in prop::collection::btree_map("[a-cü]{1,3}", 0..3_u8, 0..40),
            second in prop::collection::btree_map("[a-cü]{1,3}", 0..3_u8, 0..40),
            memory in prop_oneof![Just(IN_MEMORY), 1_usize..500],
        ) {
            let mut pairs = Pairs::with_memory(memory);
            for (key, content) in &first {
                pairs.add(Side::First, key, &content.to_string()).unwrap();
            }
            for (key, content) in second.iter().rev() {
                pairs.add(Side::Second, key, &content.to_string()).unwrap();
            }
            let folder = pairs.files.as_ref().map(|files| files.folder.clone());
            let mut found = BTreeMap::new();
            let compared = pairs.compare(|difference, key| {
                found.insert(key.to_owned(), difference);
                Ok(())
            }).unwrap();
            let mut expected = BTreeMap::new();
            for (key, content) in &first {
                match second.get(key) {
                    None => { expected.insert(key.clone(), ItemDifference::OnlyInFirst); }
                    Some(other) if other != content => { expected.insert(key.clone(), ItemDifference::Different); }
                    Some(_) => {}
                }
            }
            for key in second.keys().filter(|key| !first.contains_key(*key)) {
                expected.insert(key.clone(), ItemDifference::OnlyInSecond);
            }
            let equal = first.iter().filter(|(key, content)| second.get(*key) == Some(content)).count();
            prop_assert_eq!(found, expected);
            prop_assert_eq!(compared.equal, equal as u64);
            prop_assert!(folder.is_none_or(|folder| !folder.exists()));
        }
    }
}

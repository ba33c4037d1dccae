//! A file that is written next to another one, and replaces it when it is complete.

use std::collections::hash_map::RandomState;
use std::fs::{self, File, Metadata, TryLockError};
use std::hash::BuildHasher;
use std::io;
use std::path::{Path, PathBuf};

use super::identity::FileIdentity;
use super::kind::{folder_of, sync_folder_of};

/// The end of its name, behind a random number. No file of the user has such a name.
const NEW: &str = ".new";

/// Hexadecimal digits of the random number.
const DIGITS: usize = 16;

/// A file next to another one, which its owner alone may read. Unless it replaces the other one, it is removed.
#[derive(Debug)]
pub(crate) struct TemporaryFile {
    file: File,
    name: TemporaryName,
    target: PathBuf,
}

/// The name of a file, which is removed if it still leads to it.
#[derive(Debug)]
struct TemporaryName {
    path: PathBuf,
    identity: Option<FileIdentity>,
}

impl TemporaryFile {
    /// Creates a file next to this one, and locks it. It is an error of the kind `WouldBlock` if another process does the same. What
    /// processes that were killed have left is removed.
    pub(crate) fn beside(target: &Path) -> io::Result<Self> {
        let (file, path) = created(target)?;
        let identity = FileIdentity::of(&file.metadata()?);
        let name = TemporaryName { path, identity };
        let can_be_locked = locked(&file)?;
        // Another process may have taken it for one that was left, before it was locked.
        if !FileIdentity::is_at(&file, &name.path)? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        if can_be_locked {
            remove_left(target, &name.path)?;
        }
        Ok(Self {
            file,
            name,
            target: target.to_owned(),
        })
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Replaces the other file, if there is one, and takes over its owner, as far as this process may, and its permissions. Another file
    /// that cannot be replaced gets the content.
    pub(crate) fn replace_alike(&self) -> io::Result<()> {
        if let Ok(old) = fs::metadata(&self.target) {
            take_permissions(&self.file, &old)?;
        }
        match self.replace() {
            Err(error) if is_mounted(&error) => copied(&self.name.path, &self.target),
            replaced => replaced,
        }
    }

    /// Syncs the file and gives it the name of the other one. Then it checks that this name leads to the file.
    pub(crate) fn replace(&self) -> io::Result<()> {
        let Self { file, name, target } = self;
        if !FileIdentity::is_at(file, &name.path)? {
            let words = format!("{} was removed or replaced while it was written", name.path.display());
            return Err(io::Error::other(words));
        }
        file.sync_all()?;
        fs::rename(&name.path, target)?;
        sync_folder_of(target)?;
        if !FileIdentity::is_at(file, target)? {
            return Err(io::Error::other("it was removed or replaced by another process"));
        }
        Ok(())
    }

    /// The file, which has its lock.
    pub(crate) fn into_file(self) -> File {
        self.file
    }
}

impl Drop for TemporaryName {
    fn drop(&mut self) {
        // What another process has put in its place is not removed.
        if FileIdentity::at(&self.path) == self.identity {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Whether the target cannot be replaced because it is mounted itself, as a file in a container.
pub(crate) fn is_mounted(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ResourceBusy | io::ErrorKind::CrossesDevices
    )
}

/// Creates a file of a random name, where there is none.
fn created(target: &Path) -> io::Result<(File, PathBuf)> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    loop {
        let random = RandomState::new().hash_one(0);
        let mut path = target.to_owned().into_os_string();
        path.push(format!(".{random:0DIGITS$x}{NEW}"));
        match options.open(&path) {
            Ok(file) => return Ok((file, path.into())),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// Writes the content of the first file over that of the second one.
fn copied(from: &Path, to: &Path) -> io::Result<()> {
    let mut copy = File::options().write(true).truncate(true).open(to)?;
    io::copy(&mut File::open(from)?, &mut copy)?;
    copy.sync_all()?;
    if FileIdentity::is_at(&copy, to)? {
        Ok(())
    } else {
        Err(io::Error::other("it was removed or replaced by another process"))
    }
}

/// Locks the file for this process, and returns whether its file system has locks.
fn locked(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Removes the files that killed processes have left next to this one. One that is locked is of a process that is at work.
fn remove_left(target: &Path, own: &Path) -> io::Result<()> {
    let Ok(files) = fs::read_dir(folder_of(target)) else {
        return Ok(());
    };
    for left in files.flatten() {
        if !is_temporary(&left, target) || own.file_name() == Some(&left.file_name()) {
            continue;
        }
        let path = left.path();
        let Ok(file) = File::options().write(true).open(&path) else {
            continue;
        };
        if locked(&file)? {
            let _ = fs::remove_file(path);
        }
    }
    Ok(())
}

fn is_temporary(entry: &fs::DirEntry, target: &Path) -> bool {
    let name = entry.file_name();
    let random = || {
        let name = name.as_encoded_bytes();
        let behind = name.strip_prefix(target.file_name()?.as_encoded_bytes())?;
        behind.strip_prefix(b".")?.strip_suffix(NEW.as_bytes())
    };
    let is_named = random().is_some_and(|random| random.len() == DIGITS && random.iter().all(u8::is_ascii_hexdigit));
    is_named && entry.file_type().is_ok_and(|kind| kind.is_file())
}

/// Gives the file the owner and the permissions of another one.
#[cfg(unix)]
fn take_permissions(file: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let own = file.metadata()?;
    let is_of_others = (own.uid(), own.gid()) != (old.uid(), old.gid());
    // What its group may do, another group may not.
    let is_denied = is_of_others && fchown(file, Some(old.uid()), Some(old.gid())).is_err() && own.gid() != old.gid();
    let permitted = if is_denied { 0o707 } else { 0o777 };
    file.set_permissions(fs::Permissions::from_mode(old.mode() & permitted))
}

#[cfg(not(unix))]
fn take_permissions(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = names
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn what_a_killed_process_has_left_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out");
        let kept = [
            "out.0123456789abcdef",
            "out.0123456789abcdeg.new",
            "out.new",
            "outs.0123456789abcdef.new",
        ];
        for name in kept.iter().chain(&["out.0123456789abcdef.new"]) {
            fs::write(folder.path().join(name), "left").unwrap();
        }
        let temporary = TemporaryFile::beside(&target).unwrap();
        temporary.file().write_all(b"whole").unwrap();
        temporary.replace().unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "whole");
        let mut expected = kept.map(str::to_owned).to_vec();
        expected.push("out".to_owned());
        expected.sort();
        assert_eq!(names(folder.path()), expected);
    }

    #[test]
    fn one_that_is_not_complete_is_removed_and_has_one_writer() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out");
        fs::write(&target, "old").unwrap();
        let first = TemporaryFile::beside(&target).unwrap();
        assert_eq!(
            TemporaryFile::beside(&target).unwrap_err().kind(),
            io::ErrorKind::WouldBlock
        );
        drop(first);
        assert_eq!(names(folder.path()), ["out"]);
        assert_eq!(fs::read_to_string(&target).unwrap(), "old");
    }

    #[cfg(unix)]
    #[test]
    fn what_was_put_in_its_place_is_neither_renamed_nor_removed() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out");
        for is_replaced in [true, false] {
            let temporary = TemporaryFile::beside(&target).unwrap();
            let own = temporary.name.path.clone();
            fs::remove_file(&own).unwrap();
            fs::write(&own, "mine").unwrap();
            if is_replaced {
                temporary.replace().unwrap_err();
            } else {
                drop(temporary);
            }
            assert_eq!(fs::read_to_string(&own).unwrap(), "mine");
            assert!(!target.exists());
            fs::remove_file(own).unwrap();
        }
    }

    /// As a file that is mounted.
    #[test]
    fn a_file_that_cannot_be_replaced_gets_the_content() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::write(&from, "new\n").unwrap();
        fs::write(&to, "old and longer\n").unwrap();
        let identity = FileIdentity::at(&to);
        copied(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(&to).unwrap(), "new\n");
        assert_eq!(FileIdentity::at(&to), identity);
        fs::remove_file(&to).unwrap();
        copied(&from, &to).unwrap_err();
    }
}

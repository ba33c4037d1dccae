//! A file that was removed while it was written.

#[cfg(unix)]
use std::fs;
use std::fs::File;
use std::io;
#[cfg(unix)]
use std::io::Write;
use std::path::{Path, PathBuf};

#[cfg(unix)]
use super::kind::{folder_of, sync_folder_of};

/// Writes a file that has no name again, under the name that it had or one like it, and returns that. Returns nothing if it has another name.
#[cfg(unix)]
pub(crate) fn restored(file: &File, path: &Path) -> io::Result<Option<PathBuf>> {
    use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
    let metadata = file.metadata()?;
    if metadata.nlink() > 0 {
        return Ok(None);
    }
    let mut options = File::options();
    options.create_new(true).write(true).mode(metadata.mode() & 0o777);
    let (mut number, mut has_folders) = (0, false);
    let (mut new, name) = loop {
        let mut name = path.to_owned().into_os_string();
        if number > 0 {
            name.push(format!(".{number}"));
        }
        match options.open(&name) {
            Ok(new) => break (new, PathBuf::from(name)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            // Its folders may have been removed with it.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !has_folders => {
                fs::create_dir_all(folder_of(path))?;
                has_folders = true;
            }
            Err(error) => return Err(error),
        }
    };
    // It may be written meanwhile, so its position stays.
    let (mut piece, mut read) = (vec![0; 64 << 10], 0);
    loop {
        let length = file.read_at(&mut piece, read)?;
        if length == 0 {
            break;
        }
        new.write_all(&piece[..length])?;
        read += length as u64;
    }
    new.sync_all()?;
    sync_folder_of(&name)?;
    Ok(Some(name))
}

#[cfg(not(unix))]
pub(crate) fn restored(_: &File, _: &Path) -> io::Result<Option<PathBuf>> {
    Ok(None)
}

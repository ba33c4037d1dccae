//! The files that a pattern matches.

use std::fs;
use std::path::{Path, PathBuf, is_separator};

use glob::Pattern;

use super::names::{WILDCARDS, searched};

/// A part of a pattern, between its slashes.
enum PatternPart<'a> {
    /// A name without wildcards.
    Name(&'a str),
    /// `**`: any folders, or none.
    Folders,
    /// Names that match, and whether they may begin with a dot, as in a shell.
    Names(Pattern, bool),
}

/// The files that match, in the order of their names. A name that matches but for bytes that are not UTF-8 is an error.
pub(super) fn files(pattern: &str) -> Result<Vec<PathBuf>, String> {
    let invalid = |error| format!("{pattern} is not a valid pattern: {error}");
    Pattern::new(pattern).map_err(invalid)?;
    let mut parts = Vec::new();
    for part in Path::new(pattern) {
        let part = part.to_str().unwrap_or_default();
        match part {
            // The names of the files are those that a journal has had so far.
            "." => {}
            "**" if matches!(parts.last(), Some(PatternPart::Folders)) => {}
            "**" => parts.push(PatternPart::Folders),
            part if part.contains(WILDCARDS) => {
                let names = Pattern::new(part).map_err(invalid)?;
                parts.push(PatternPart::Names(names, part.starts_with('.')));
            }
            part => parts.push(PatternPart::Name(part)),
        }
    }
    let mut files = Vec::new();
    // What ends with a slash is a folder.
    if !pattern.ends_with(is_separator) {
        search(Path::new(""), &parts, &mut files).map_err(|words| format!("{pattern} {words}"))?;
    }
    files.sort();
    Ok(files)
}

/// Adds the files below the folder that match the parts.
fn search(folder: &Path, parts: &[PatternPart<'_>], files: &mut Vec<PathBuf>) -> Result<(), String> {
    let [part, rest @ ..] = parts else { return Ok(()) };
    match part {
        PatternPart::Name(name) => {
            let path = folder.join(name);
            if !rest.is_empty() {
                return search(&path, rest, files);
            }
            if path.symlink_metadata().is_ok() && !path.is_dir() {
                files.push(path);
            }
        }
        PatternPart::Names(..) => {
            for path in entries(folder)? {
                search_entry(path, parts, files)?;
            }
        }
        PatternPart::Folders => {
            if let [PatternPart::Name(_), ..] = rest {
                search(folder, rest, files)?;
            }
            for path in entries(folder)? {
                if let [PatternPart::Names(..), ..] = rest {
                    search_entry(path.clone(), rest, files)?;
                }
                // As in a shell, not through links: they may lead to the same files again, or never end.
                if path.symlink_metadata().is_ok_and(|found| found.is_dir()) && !is_hidden(&path) {
                    search(&path, parts, files)?;
                }
            }
        }
    }
    Ok(())
}

/// Adds an entry of a folder, or the files below it, if its name matches the first part.
fn search_entry(path: PathBuf, parts: &[PatternPart<'_>], files: &mut Vec<PathBuf>) -> Result<(), String> {
    let [PatternPart::Names(names, also_hidden), rest @ ..] = parts else {
        return Ok(());
    };
    let name = path.file_name().unwrap_or_default();
    let is_meant = names.matches(&name.to_string_lossy()) && (*also_hidden || !is_hidden(&path));
    if !is_meant || path.is_dir() == rest.is_empty() {
        return Ok(());
    }
    let is_utf_8 = name.to_str().is_some();
    let before = files.len();
    if rest.is_empty() {
        files.push(path);
    } else {
        search(&path, rest, files)?;
    }
    match files.get(before) {
        Some(path) if !is_utf_8 => Err(format!(
            "matches {}, whose name is not UTF-8: rename it, or give - and its content on the standard input",
            path.as_os_str().as_encoded_bytes().escape_ascii()
        )),
        _ => Ok(()),
    }
}

/// What is in a folder, in the order of the names. There is nothing in what is not a folder.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let folder_read = searched(folder);
    if !folder_read.is_dir() {
        return Ok(Vec::new());
    }
    let names = fs::read_dir(folder_read).and_then(|entries| {
        let names = entries.map(|entry| Ok(entry?.file_name()));
        names.collect::<Result<Vec<_>, _>>()
    });
    let mut names =
        names.map_err(|error| format!("cannot be searched: {} cannot be read: {error}", folder.display()))?;
    names.sort_unstable();
    Ok(names.into_iter().map(|name| folder.join(name)).collect())
}

fn is_hidden(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.as_encoded_bytes().starts_with(b".")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::tempdir;

    use super::*;

    #[test]
    fn a_leading_dot_is_no_part_of_the_names() {
        assert_eq!(files("./Cargo.tom*"), Ok(vec![PathBuf::from("Cargo.toml")]));
        assert_eq!(files("Cargo.tom*"), Ok(vec![PathBuf::from("Cargo.toml")]));
    }

    #[test]
    fn files_of_folders_and_beside_them_are_in_the_order_of_their_names() {
        let folder = tempdir().unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        for name in ["a/films", "films", "a.films"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let pattern = folder.path().join("**/*films").display().to_string();
        let names = ["a/films", "a.films", "films"].map(|name| folder.path().join(name));
        assert_eq!(files(&pattern), Ok(names.to_vec()));
    }

    /// A link to the newest folder had its files sent twice, one to its own folder forty times, and with two of these the search did not end.
    #[cfg(unix)]
    #[test]
    fn any_folders_are_not_reached_through_links() {
        let folder = tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("2025")).unwrap();
        fs::write(path("2025/films"), "").unwrap();
        for (link, of) in [("latest", "2025"), ("itself", ".")] {
            std::os::unix::fs::symlink(of, path(link)).unwrap();
        }
        std::os::unix::fs::symlink("films", path("2025/more films")).unwrap();
        let matching = |pattern: &str| files(&path(pattern).display().to_string()).unwrap();
        assert_eq!(matching("**/*films"), ["2025/films", "2025/more films"].map(path));
        assert_eq!(matching("latest/**/films"), [path("latest/films")]);
        assert_eq!(matching("lat*/films"), [path("latest/films")]);
    }
}

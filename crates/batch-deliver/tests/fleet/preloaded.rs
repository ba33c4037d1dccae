//! Libraries that are loaded into a process before the C library.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// Tests of one process compile the same library only once.
static COMPILING: Mutex<()> = Mutex::new(());

/// The library with this name and source, compiled once for each version of the source. It is next to what cargo builds.
pub(crate) fn library(name: &str, source: &str) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    source.hash(&mut hasher);
    let name = format!("{name}-{:x}", hasher.finish());
    // An executable of a test is in `deps`.
    let executable = std::env::current_exe().unwrap();
    let folder = executable.parent().and_then(Path::parent).unwrap();
    let library = folder.join(format!("{name}.so"));
    let _only_one = COMPILING.lock().unwrap_or_else(PoisonError::into_inner);
    if library.exists() {
        return library;
    }
    // Another process may compile it at the same time.
    let own = folder.join(format!("{name}.{}", std::process::id()));
    // Whatever links Rust has it.
    let mut compiler = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-x", "c", "-", "-ldl", "-o"])
        .arg(&own)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    compiler.stdin.take().unwrap().write_all(source.as_bytes()).unwrap();
    assert!(compiler.wait().unwrap().success(), "{name} cannot be compiled");
    fs::rename(own, &library).unwrap();
    library
}

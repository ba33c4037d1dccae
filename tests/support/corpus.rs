//! What a fuzzer has kept of a target, or what has broken it once.

use std::fs;
use std::path::Path;

/// The files of the target, each with its name.
pub(crate) fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let files = fs::read_dir(folder).unwrap().map(|file| {
        let file = file.unwrap();
        let name = file.file_name().into_string().unwrap();
        (name, fs::read(file.path()).unwrap())
    });
    files.collect()
}

//! Compressed files as other programs write them.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::load;

const LINES: &[u8] = b"{\"id\":\"a\"}\n{\"id\":\"b\"}\n";

fn stored() -> [Value; 2] {
    ["a", "b"].map(|id| json!({"id": {"S": id}}))
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(text).unwrap();
    gzip.finish().unwrap()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 1).unwrap()
}

#[test]
fn padding_skippable_frames_parts_and_packing_twice_load() {
    let (first, second) = LINES.split_at(LINES.len() / 2);
    let skipped = b"\x50\x2A\x4D\x18\x04\0\0\0\x07\0\0\0";
    for (name, content) in [
        ("a.gz", [gzip(first), gzip(second), vec![0; 512]].concat()),
        ("a.gz.gz", gzip(&gzip(LINES))),
        (
            "a.zst",
            [&skipped[..], &zstd(first), skipped, &zstd(second), skipped].concat(),
        ),
        // The content tells what it is, whatever the name says.
        ("a.jsonl", [&skipped[..], &zstd(LINES)].concat()),
        ("a.csv.gz.gz", gzip(&gzip(b"id\na\nb\n"))),
    ] {
        load(&[(name, &content)], name).stored(&stored());
    }
}

#[test]
fn an_empty_compressed_file_has_no_items() {
    for (name, content) in [("e.gz", gzip(b"")), ("e.zst", zstd(b"")), ("f.gz", Vec::new())] {
        let lines = gzip(LINES);
        load(&[(name, &content), ("a.gz", &lines)], &format!("{name} a.gz")).stored(&stored());
    }
}

#[test]
fn a_file_that_is_cut_off_or_has_other_bytes_behind_is_an_error() {
    let (gzip, zstd) = (gzip(LINES), zstd(LINES));
    let cut = |packed: &[u8]| packed[..packed.len() - 1].to_vec();
    for (name, content, words) in [
        ("a.gz", cut(&gzip), "a.gz cannot be read after line"),
        ("a.zst", cut(&zstd), "a.zst cannot be read"),
        (
            "a.gz",
            [&gzip[..], &[0, 0], b"more"].concat(),
            "there are other bytes after the gzip data",
        ),
        ("a.zst", [&zstd[..], b"more"].concat(), "a.zst cannot be read"),
    ] {
        load(&[(name, &content)], name).said(1, words);
    }
}

#[test]
fn a_window_that_takes_too_much_memory_is_refused_with_what_to_do() {
    // A frame with a window of 2 GiB, as of `zstd --long=31`, and one raw block.
    let block = (u32::try_from(LINES.len()).unwrap() << 3 | 1).to_le_bytes();
    let frame = [b"\x28\xB5\x2F\xFD\0", &[21 << 3][..], &block[..3], LINES].concat();
    load(&[("a.zst", &frame)], "a.zst").said(
        1,
        "with a window of more than 128 MiB, which is the limit: `zstd -dc --long=31` unpacks it",
    );
}

//! Formats that are recognized by their first bytes, but not read, and what to do.

/// First bytes by which all of them are recognized: the mark of tar is behind the first 257.
pub(super) const START_BYTES: usize = 512;

/// The place of the mark of tar.
const TAR: std::ops::Range<usize> = 257..262;

const PARQUET: &str = "this is Parquet, which is not read: \
    `duckdb -c \"COPY (SELECT * FROM 'FILE') TO '/dev/stdout' (FORMAT json)\"` writes JSON lines, which can be piped in as `-`";
const AVRO: &str =
    "this is Avro, which is not read: `avro-tools tojson FILE` writes JSON lines, which can be piped in as `-`";
const ORC: &str =
    "this is ORC, which is not read: `orc-tools data FILE` writes JSON lines, which can be piped in as `-`";
const ION: &str =
    "this is Amazon Ion, which is not read: make the export again as DynamoDB JSON (`--export-format DYNAMODB_JSON`)";
const SQLITE: &str = "this is an SQLite database, which is not read: `sqlite3 -csv -header FILE 'SELECT …'` writes CSV, which can be \
    piped in as `-` with `--format csv`";
const EXCEL: &str = "this is an Excel workbook, which is not read: save its sheet as CSV UTF-8";
const ZIP: &str = "this is a zip archive, and only gzip and zstd are unpacked: unpack it with `unzip -p FILE NAME` and pipe it in as `-`";
const TARRED: &str = "this is a tar archive, which is not read: unpack it with `tar -xf FILE` and name the files in it";
pub(super) const UTF_16: &str =
    "this is UTF-16 without a byte order mark: give its encoding as --encoding utf-16le, or utf-16be";
const UTF_32: &str = "this is UTF-32: `iconv -f UTF-32 -t UTF-8 FILE` writes UTF-8, which can be piped in as `-`";

const HIVE: &str = "this is an export of Data Pipeline through Hive, with control characters between names and values: \
    `sed 's/\\x03/\":/g; s/\\x02/,\"/g; s/^/{\"/; s/$/}/' FILE` makes JSON lines of it";

const MAGICS: [(&[u8], &str); 13] = [
    (b"Obj\x01", AVRO),
    (b"\xE0\x01\x00\xEA", ION),
    (b"$ion_1_", ION),
    (b"SQLite format 3\0", SQLITE),
    (b"\xFF\xFE\0\0", UTF_32),
    (b"\0\0\xFE\xFF", UTF_32),
    (
        b"\xFD7zXZ\0",
        "this is xz, and only gzip and zstd are unpacked: unpack it with `xz -dc` and pipe it in as `-`",
    ),
    (
        b"\x04\x22\x4D\x18",
        "this is lz4, and only gzip and zstd are unpacked: unpack it with `lz4 -dc` and pipe it in as `-`",
    ),
    (
        b"\xFF\x06\0\0sNaPpY",
        "this is Snappy, and only gzip and zstd are unpacked: unpack it and pipe it in as `-`",
    ),
    (
        b"7z\xBC\xAF\x27\x1C",
        "this is a 7z archive, and only gzip and zstd are unpacked: unpack it with `7z e -so` and pipe it in as `-`",
    ),
    (
        b"\x1F\x9D",
        "this is the output of `compress`: unpack it with `uncompress -c` and pipe it in as `-`",
    ),
    (b"PK\x05\x06", "this is an empty zip archive"),
    (b"%PDF-", "this is a PDF, which has no records"),
];

/// Formats whose first bytes are letters, with which a line of text may begin, too.
const LETTERS: [(&[u8], &str); 3] = [
    (b"PAR1", PARQUET),
    (b"ORC", ORC),
    (
        b"BZh",
        "this is bzip2, and only gzip and zstd are unpacked: unpack it with `bzip2 -dc` and pipe it in as `-`",
    ),
];

/// What to do with an input that starts like this, if its format is known and not read.
pub(super) fn advice(start: &[u8]) -> Option<&'static str> {
    if start.starts_with(b"PK\x03\x04") {
        // The name of the first file is behind the header of 30 bytes.
        let name = start.get(30..).unwrap_or_default();
        let of_office = [&b"[Content_Types]"[..], b"_rels/", b"docProps/", b"xl/"];
        return Some(if of_office.iter().any(|first| name.starts_with(first)) {
            EXCEL
        } else {
            ZIP
        });
    }
    // A name, and a value with its type.
    if let Some(end) = start.iter().position(|byte| *byte < b' ')
        && end > 0
        && start[end..].starts_with(b"\x03{\"")
    {
        return Some(HIVE);
    }
    if start.get(TAR).is_some_and(|mark| mark == b"ustar") {
        return Some(TARRED);
    }
    let magic = MAGICS.iter().find(|(magic, _)| start.starts_with(magic));
    let is_text = || start.iter().all(|byte| *byte >= b' ' || byte.is_ascii_whitespace());
    let letters = || LETTERS.iter().find(|(magic, _)| start.starts_with(magic) && !is_text());
    magic
        .or_else(letters)
        .map(|(_, advice)| *advice)
        .or_else(|| wide(start))
}

/// The advice for text whose characters have two or four bytes. ASCII, with which every format begins, then has zeros between.
fn wide(start: &[u8]) -> Option<&'static str> {
    match start.first_chunk::<4>()?.map(|byte| byte != 0) {
        [true, false, false, false] | [false, false, false, true] => Some(UTF_32),
        [true, false, true, false] | [false, true, false, true] => Some(UTF_16),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(start: &[u8]) -> &'static str {
        advice(start).unwrap_or_default()
    }

    #[test]
    fn the_first_bytes_tell_what_to_do() {
        for (start, words) in [
            (&b"PAR1\x15\x04"[..], "this is Parquet"),
            (b"Obj\x01\x04", "this is Avro"),
            (b"ORC\x11", "this is ORC"),
            (b"\xE0\x01\x00\xEA\xEE", "this is Amazon Ion"),
            (b"$ion_1_0 {Item:{id:\"a\"}}", "this is Amazon Ion"),
            (b"SQLite format 3\0\x10", "this is an SQLite database"),
            (b"\xFF\xFE\0\0{\0\0\0", "this is UTF-32"),
            (b"{\0\0\0\"\0\0\0", "this is UTF-32"),
            (b"\0\0\0{\0\0\0\"", "this is UTF-32"),
            (b"{\0\"\0i\0", "this is UTF-16 without"),
            (b"\0{\0\"\0i", "this is UTF-16 without"),
            (
                b"id\x03{\"s\":\"a\"}\x02n\x03{\"n\":\"5\"}\n",
                "this is an export of Data Pipeline",
            ),
            (b"7z\xBC\xAF\x27\x1C", "this is a 7z archive"),
        ] {
            assert!(said(start).starts_with(words), "{start:?}: {}", said(start));
        }
        let zip = |name: &[u8]| [b"PK\x03\x04\x14\0\x06\0", &[0; 22][..], name].concat();
        assert!(said(&zip(b"xl/workbook.xml")).starts_with("this is an Excel"));
        assert!(said(&zip(b"[Content_Types].xml")).starts_with("this is an Excel"));
        assert!(said(&zip(b"items.json")).starts_with("this is a zip"));
        let tar = [&b"items.json"[..], &[0; 247], b"ustar\x0000"].concat();
        assert!(said(&tar).starts_with("this is a tar archive"));
    }

    #[test]
    fn text_is_no_other_format() {
        for start in [
            &b""[..],
            b"{",
            b"{\"a\":1}\n",
            b"id,name\n",
            b"ORCHID,PAR1\n",
            b"BZh",
            b"\xEF\xBB\xBFid",
            b"\xFF\xFEi\0d\0",
        ] {
            assert_eq!(advice(start), None, "{start:?}");
        }
    }
}

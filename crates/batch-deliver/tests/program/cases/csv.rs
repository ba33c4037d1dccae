//! Rows as spreadsheets, databases and consoles write them.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::load;

fn item(id: &str, name: &str) -> Value {
    json!({"id": {"S": id}, "name": {"S": name}})
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_stray_quote_is_a_flaw_of_its_line_and_merges_no_rows() {
    let files: [(&str, &[u8]); 1] = [("a.csv", b"id,name\n1,\"a\n2,b\n3,\"c\n4,d\n")];
    load(&files, "a.csv").said(1, "a.csv:2: column 3: ");
    let loaded = load(&files, "--keep-going 2 a.csv");
    loaded.said(1, "a.csv:4: column 3: ");
    assert_eq!(loaded.items, [item("2", "b"), item("4", "d")]);
}

#[test]
fn text_behind_a_closing_quote_and_quotes_inside_a_cell_are_flaws() {
    for row in ["1,\"24\" monitor\"", "1,a \"b\" c", "1,\"a\" b", "1,a\"", "\"1\"x,a"] {
        let text = format!("id,name\n{row}\n2,b\n");
        let loaded = load(&[("a.csv", text.as_bytes())], "--keep-going 1 a.csv");
        loaded.said(1, "a.csv:2: column ");
        assert_eq!(loaded.items, [item("2", "b")], "{row}");
    }
}

#[test]
fn a_backslash_before_a_quote_needs_the_escape() {
    let files: [(&str, &[u8]); 1] = [(
        "a.csv",
        br#"id,name
1,"the \"Kid\" Lee, \\"
2,"a ""b"" \n"
"#,
    )];
    load(&files, "a.csv").said(1, "--escape");
    load(&files, r"--escape \ a.csv").stored(&[item("1", r#"the "Kid" Lee, \"#), item("2", r#"a "b" \n"#)]);
}

#[test]
fn spaces_beside_a_quoted_cell_are_dropped_and_those_of_a_key_are_a_flaw() {
    load(&[("a.csv", b"id, \"name\"\na1, \"Mia, M.\" \na2, Lou\n")], "a.csv")
        .stored(&[item("a1", "Mia, M."), item("a2", "Lou")]);
    load(&[("a.csv", b"name,id\nMia, a1\n")], "a.csv")
        .said(1, "a.csv:2: id: this part of the key has a space at its edge");
    load(&[("a.csv", b"name, id\nMia, a1 \n")], "a.csv").stored(&[item("a1", "Mia")]);
    load(&[("a.csv", b"name, id\nMia,\" a1\"\n")], "a.csv").stored(&[item(" a1", "Mia")]);
}

#[test]
fn lines_are_counted_as_an_editor_counts_them() {
    let texts: [(&[u8], u64); 6] = [
        (b"id,name\r\n1,\"a\r\nb\"\r\n2,b,EXTRA\r\n", 4),
        (b"id,name\n\n  \n1,a\n\n\n2,b,EXTRA\n", 7),
        (b"\xEF\xBB\xBFid;name\r\n1;a\r\n2;b;c\r\n", 3),
        (b"id,name\r1,a\r2,b,c\r", 3),
        (b"id,name\n1,a\n2,b\rc\n", 3),
        (b"id,name\r\n1,a\r\n2,\"b\r\nc\" d\r\n", 3),
    ];
    for (text, line) in texts {
        let loaded = load(&[("a.csv", text)], "a.csv");
        loaded.said(1, &format!("a.csv:{line}: "));
    }
}

#[test]
fn a_row_equal_to_the_header_is_a_flaw_also_behind_a_byte_order_mark() {
    for again in ["id,name", "\"id\", name ", "\u{feff}id,name"] {
        let text = format!("id,name\n1,a\n{again}\n2,b\n");
        let loaded = load(&[("a.csv", text.as_bytes())], "--keep-going 1 a.csv");
        loaded.said(1, "a.csv:3: this row is the header again");
        assert_eq!(loaded.items, [item("1", "a"), item("2", "b")]);
    }
    load(&[("a.csv", "id,name\n\u{feff}1,a\n".as_bytes())], "a.csv").said(1, "byte order mark");
}

#[test]
fn a_header_with_types_that_is_repeated_is_a_flaw() {
    let rows = b"\"id (S)\",\"name (S)\"\n1,a\n\"id (S)\",\"name (S)\"\n2,b\n";
    let loaded = load(&[("a.csv", rows)], "--keep-going 1 a.csv");
    loaded.said(1, "a.csv:3: this row is the header again: leave it out");
    assert_eq!(loaded.items, [item("1", "a"), item("2", "b")]);
}

#[test]
fn an_input_without_rows_is_none() {
    let (full, empty) = (gzip(b"id,name\n1,a\n"), gzip(b""));
    let files: [(&str, &[u8]); 4] = [
        ("part-0.csv.gz", &full),
        ("part-1.csv.gz", &empty),
        ("part-2.csv", b""),
        ("part-3.csv", b"\r\n \n"),
    ];
    load(&files, "part-*").stored(&[item("1", "a")]);
}

#[test]
fn the_delimiter_is_seen_outside_of_quotes_or_given() {
    let names = |text: &str| json!({"id": {"S": "1"}, "a;b": {"S": text}});
    load(&[("a.csv", b"id,\"a;b\"\n1,x;y\n")], "a.csv").stored(&[names("x;y")]);
    load(&[("a.csv", b"id|name\n1|a,b\n")], "a.csv").stored(&[item("1", "a,b")]);
    load(&[("a.txt", b"id:name\n1:a\n")], "--delimiter : a.txt").stored(&[item("1", "a")]);
    load(
        &[("a.csv", b"id\tname, all\n1\ta\n")],
        "--delimiter tab --types id:S a.csv",
    )
    .said(0, "1 delivered");
}

#[test]
fn quotes_of_tsv_are_those_of_csv_unless_quotes_are_text() {
    let quoted: [(&str, &[u8]); 1] = [("a.tsv", b"id\tname\n1\t\"said \"\"hi\"\"\"\n2\t5\" pipe\n")];
    load(&quoted, "a.tsv").stored(&[item("1", "said \"hi\""), item("2", "5\" pipe")]);
    let unquoted: [(&str, &[u8]); 1] = [("a.tsv", b"id\tname\n1\t\"Heroes\" by Bowie\n")];
    load(&unquoted, "a.tsv").said(1, "--quote none");
    load(&unquoted, "--quote none a.tsv").stored(&[item("1", "\"Heroes\" by Bowie")]);
}

#[test]
fn names_and_nulls_are_given_where_the_file_has_none() {
    let files: [(&str, &[u8]); 1] = [("a.txt", b"1,a\n2,\\N\n3,\"\\N\"\n4,\n")];
    let only = |id: &str| json!({"id": {"S": id}});
    load(&files, r"--header id,name --null \N a.txt").stored(&[item("1", "a"), only("2"), item("3", "\\N"), only("4")]);
    load(&[("a.csv", b"id,name\n1,a\n")], "--header id,name a.csv").said(1, "a.csv:1: this row is the header");
}

#[test]
fn encodings_are_shown_by_a_mark_or_given() {
    let utf_16 = |text: &str| -> Vec<u8> {
        let units = std::iter::once(0xFEFF).chain(text.encode_utf16());
        units.flat_map(u16::to_le_bytes).collect()
    };
    let expected = [item("1", "stra\u{df}e")];
    load(&[("a.csv", &utf_16("id,name\r\n1,stra\u{df}e\r\n"))], "a.csv").stored(&expected);
    load(
        &[("a.jsonl", &utf_16("{\"id\":\"1\",\"name\":\"stra\u{df}e\"}\n"))],
        "a.jsonl",
    )
    .stored(&expected);
    load(&[("a.csv", b"id,name\n1,stra\xDFe\n")], "a.csv").said(1, "not UTF-8");
    load(&[("a.csv", b"id,name\n1,stra\xDFe\n")], "--encoding latin1 a.csv").stored(&expected);
}

#[test]
fn booleans_sets_and_cells_of_dynamodb_json_have_their_types() {
    let text =
        "id,seen,tags,info\n1,t,\"[\"\"x\"\",\"\"y\"\"]\",\"[{\"\"S\"\":\"\"Ann, Bo\"\"},{\"\"N\"\":\"\"5\"\"}]\"\n";
    load(
        &[("a.csv", text.as_bytes())],
        "--types seen:BOOL,tags:SS,info:JSON a.csv",
    )
    .stored(&[json!({
        "id": {"S": "1"}, "seen": {"BOOL": true}, "tags": {"SS": ["x", "y"]},
        "info": {"L": [{"S": "Ann, Bo"}, {"N": "5"}]},
    })]);
    let console = "\"id (S)\",\"tags (SS)\",\"n (N)\"\n\"a\",\"{ \"\"x\"\", \"\"y\"\" }\",\"5\"\n";
    load(&[("a.csv", console.as_bytes())], "a.csv")
        .stored(&[json!({"id": {"S": "a"}, "tags": {"SS": ["x", "y"]}, "n": {"N": "5"}})]);
}

#[test]
fn a_json_cell_with_small_names_stays_the_map_that_it_is() {
    for (cell, stored) in [
        (r#"{"s":"east"}"#, json!({"M": {"s": {"S": "east"}}})),
        (r#"{"m":{"x":1}}"#, json!({"M": {"m": {"M": {"x": {"N": "1"}}}}})),
        (r#"{"a":{"n":"5"}}"#, json!({"M": {"a": {"M": {"n": {"S": "5"}}}}})),
        (r#"[{"b":"x"}]"#, json!({"L": [{"M": {"b": {"S": "x"}}}]})),
        (r#"{"a":{"S":"east"}}"#, json!({"M": {"a": {"S": "east"}}})),
    ] {
        let text = format!("id\tinfo\n1\t{cell}\n");
        load(&[("a.tsv", text.as_bytes())], "--types info:JSON a.tsv")
            .stored(&[json!({"id": {"S": "1"}, "info": stored})]);
    }
}

//! Several inputs with the same keys.

use serde_json::json;

use super::{load, run};

#[test]
fn what_is_named_later_wins() {
    let old = b"{\"id\":\"a\",\"n\":1}\n{\"id\":\"b\",\"n\":1}\n{\"id\":\"c\",\"n\":1}\n";
    let new = b"{\"id\":\"c\",\"n\":2}\n";
    let files: [(&str, &[u8]); 2] = [("1-full.jsonl", old), ("2-change.jsonl", new)];
    let item = |id: &str, n: &str| json!({"id": {"S": id}, "n": {"N": n}});
    load(&files, "1-full.jsonl 2-change.jsonl").stored(&[item("a", "1"), item("b", "1"), item("c", "2")]);
    load(&files, "2-change.jsonl 1-full.jsonl").stored(&[item("a", "1"), item("b", "1"), item("c", "1")]);
    load(&files, "--order turns 1-full.jsonl 2-change.jsonl").said(0, "4 delivered");
}

#[test]
fn deletes_take_turns_because_their_order_changes_nothing() {
    let files: [(&str, &[u8]); 2] = [
        ("a.jsonl", b"{\"id\":\"a\"}\n{\"id\":\"b\"}\n"),
        ("b.jsonl", b"{\"id\":\"c\"}\noops\n"),
    ];
    // The flaw is the fourth line in turn, so that both lines of the first file are before it.
    run("delete", &files, "a.jsonl b.jsonl").said(1, "3 delivered");
    run("delete", &files, "--order file b.jsonl a.jsonl").said(1, "1 delivered");
}

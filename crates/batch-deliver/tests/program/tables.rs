//! What a table tells of itself before anything is written to it, and what is said when it goes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use aws_batch_simulator::{IndexOptions, KeyType, TableOptions};

use crate::http::{Request, Response, serve};
use crate::program::{Folder, Run, items};
use crate::served::Served;

/// A table with the key `id`, in this state.
fn described(state: &str) -> Response {
    answer(&format!(
        r#"{{"Table":{{"TableName":"items","TableStatus":"{state}","KeySchema":[{{"AttributeName":"id","KeyType":"HASH"}}],
        "AttributeDefinitions":[{{"AttributeName":"id","AttributeType":"N"}}]}}}}"#
    ))
}

fn answer(body: &str) -> Response {
    Response(
        200,
        "content-type: application/x-amz-json-1.0\r\n".to_owned(),
        body.into(),
    )
}

fn refused(code: &str) -> Response {
    let body = format!(r#"{{"__type":"com.amazonaws.dynamodb.v20120810#{code}","message":"no"}}"#);
    Response(
        400,
        "content-type: application/x-amz-json-1.0\r\n".to_owned(),
        body.into(),
    )
}

/// A service with this answer to the n-th call of an operation, from 0.
fn service(answer: impl Fn(&str, u64, &Request) -> Response + Send + Sync + 'static) -> String {
    let counts: [(&str, AtomicU64); 5] =
        ["DescribeTable", "BatchWriteItem", "Scan", "UpdateItem", "Query"].map(|name| (name, AtomicU64::new(0)));
    let counts = Arc::new(counts);
    let address = serve(move |request| {
        let target = request.header("x-amz-target").unwrap_or_default().to_owned();
        let (name, count) = counts.iter().find(|(name, _)| target.ends_with(name)).unwrap();
        Some(answer(name, count.fetch_add(1, Relaxed), request))
    });
    format!("--endpoint-url http://{address}")
}

const WRITTEN: &str = r#"{"UnprocessedItems":{}}"#;

#[test]
fn a_value_that_an_index_cannot_have_is_not_sent() {
    let table = TableOptions::key("id", KeyType::N).index("by_name", IndexOptions::key("name", KeyType::S));
    let (folder, served) = (Folder::new(), Served::with_table(table, 1e6));
    folder.write("a.jsonl", items(0..2) + "{\"id\":2,\"name\":5}\n" + &items(3..5));
    let words = "the index `by_name` needs `name` as S, the item has N";
    let load = |options: &str| folder.run(&format!("load --table items {} {options} a.jsonl", served.arguments()));
    load("--dry-run").expect(1, words);
    load("").expect(1, words).expect(1, "4 delivered");
    assert_eq!(served.table.statistics().refused_calls, 0);
    let copy = format!("copy --from copy --to items --overwrite {}", served.arguments());
    folder
        .run(&format!("load --table copy {} a.jsonl", served.arguments()))
        .expect(0, "5 delivered");
    folder.run(&copy).expect(1, words).expect(1, "4 delivered");
    assert_eq!(served.table.statistics().refused_calls, 0);
}

#[test]
fn a_table_that_is_being_created_is_waited_for() {
    let endpoint = service(|operation, number, _| match operation {
        "DescribeTable" if number < 2 => described("CREATING"),
        "DescribeTable" => described("ACTIVE"),
        _ => answer(WRITTEN),
    });
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..5));
    folder
        .run(&format!("load --table items {endpoint} a.jsonl"))
        .expect(0, "the table items is being created: waiting for it")
        .expect(0, "5 delivered");
}

#[test]
fn a_table_that_is_being_created_is_not_waited_for_beyond_the_deadline() {
    let endpoint = service(|_, _, _| described("CREATING"));
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..5));
    folder
        .run(&format!("load --table items --deadline 1s {endpoint} a.jsonl"))
        .expect(1, "the table items is still being created after 1.0 s");
}

#[test]
fn a_table_that_is_being_deleted_is_refused() {
    let endpoint = service(|_, _, _| described("DELETING"));
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..5));
    folder
        .run(&format!("load --table items {endpoint} a.jsonl"))
        .expect(2, "the table items is being deleted");
}

#[test]
fn a_table_that_is_deleted_in_the_middle_is_told_from_one_that_never_was() {
    let endpoint = service(|operation, number, _| match operation {
        "DescribeTable" => described("ACTIVE"),
        "BatchWriteItem" if number < 2 => answer(WRITTEN),
        _ => refused("ResourceNotFoundException"),
    });
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..1_000));
    folder
        .run(&format!("load --table items --deadline 3s {endpoint} a.jsonl"))
        .expect(1, "items was there when this run began, and has been deleted since");
}

/// Whose tables may be read and written, but not described.
fn undescribed() -> String {
    service(|operation, _, _| match operation {
        "Scan" => answer(r#"{"Items":[{"id":{"N":"1"}}],"Count":1,"ScannedCount":1}"#),
        "BatchWriteItem" => answer(WRITTEN),
        _ => refused("AccessDeniedException"),
    })
}

#[test]
fn a_copy_and_a_comparison_without_a_description_take_the_key_that_is_given() {
    let (folder, endpoint) = (Folder::new(), undescribed());
    let run = |command: &str| -> Run { folder.run(&format!("{command} {endpoint}")) };
    let copy = "copy --from items --to other --overwrite";
    run(copy).expect(2, "give the key of the table as --key");
    run(&format!("{copy} --key id:N --segments 1")).expect(0, "1 delivered to other");
    run("diff items other").expect(2, "give the key of the table as --key");
    run("diff items other --key id:N --segments 1").expect(0, "1 item equal");
}

#[test]
fn a_table_is_not_compared_with_itself() {
    let (folder, served) = (Folder::new(), Served::new(1e6));
    let diff = |tables: &str| folder.run(&format!("diff {tables} {}", served.arguments()));
    diff("items items").expect(2, "are the same table");
    let arn = "arn:aws:dynamodb:us-east-1:123456789012:table/items";
    diff(&format!("items {arn}")).expect(2, "are the same table");
    diff("items copy").expect(0, "0 items equal");
}

#[test]
fn an_update_of_existing_items_creates_none() {
    let endpoint = service(|operation, _, request| match operation {
        "DescribeTable" => described("ACTIVE"),
        _ if String::from_utf8_lossy(&request.body).contains("attribute_exists(#key_0)") => {
            refused("ConditionalCheckFailedException")
        }
        _ => answer("{}"),
    });
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..5));
    let update = |options: &[&str]| -> Run {
        let mut command = folder.command(&format!("update --table items {endpoint} a.jsonl"));
        command.args(["--set", "#name = :name"]).args(options);
        command.output().unwrap().into()
    };
    update(&[]).expect(0, "5 delivered");
    update(&["--existing"]).expect(0, "5 with a failed condition");
    update(&["--existing", "--condition", "#name <> :name"]).expect(0, "5 with a failed condition");
}

#[test]
fn an_expression_that_compares_the_key_with_another_type_is_told_when_nothing_matches() {
    let endpoint = service(|operation, _, _| match operation {
        "DescribeTable" => answer(
            r#"{"Table":{"TableName":"items","TableStatus":"ACTIVE","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],
            "AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}]}}"#,
        ),
        _ => answer(r#"{"Items":[],"Count":0,"ScannedCount":9}"#),
    });
    let folder = Folder::new();
    let run = |command: &str, arguments: &[&str]| -> Run {
        let mut command = folder.command(&format!("{command} {endpoint}"));
        command.args(arguments).output().unwrap().into()
    };
    let words = "nothing matched: id, a part of the key, is of type S, but :a is of type N; a text is written --value ':a=\"…\"'";
    let where_ = ["--where", "id = :a", "--value", ":a=17"];
    run("delete --table items --yes", &where_).expect(0, words);
    run("delete --table items --dry-run", &where_).expect(0, words);
    let filter = ["--filter", "#id = :a", "--value", ":a=17"];
    run("export --table items out.jsonl", &filter).expect(0, words);
    run("copy --from items --to other --overwrite", &filter).expect(0, words);
    let of_text = ["--where", "id = :a", "--value", ":a=\"17\""];
    let run = run("delete --table items --yes", &of_text);
    run.expect(0, "0 delivered");
    assert!(!run.stderr.contains("nothing matched"), "{}", run.stderr);
}

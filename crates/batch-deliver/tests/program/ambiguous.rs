//! Inputs in a shape that could be taken for another one.

use crate::program::Folder;
use crate::served::Served;

#[test]
fn a_line_that_has_the_key_beside_a_list_is_an_item() {
    let folder = Folder::new();
    let load = |options: &str, line: &str| {
        let load = "load --simulate 1000000 --table items --key id:S";
        folder.run_with(&format!("{load} {options} -"), line)
    };
    let inner = "{\"Items\":[{\"id\":{\"S\":\"inner\"}}],\"id\":\"o1\"}\n";
    load("", inner).expect(1, "--format json").expect(1, "0 delivered");
    load("--format json", inner).expect(0, "1 delivered");
    load("", "{\"Items\":[],\"id\":\"o1\"}\n").expect(0, "1 delivered");
    // Also if the key stands far behind.
    let many = "{\"id\":{\"S\":\"inner\"}},".repeat(2_000);
    let long = format!("{{\"Items\":[{}],\"id\":\"o1\"}}\n", many.trim_end_matches(','));
    load("", &long).expect(1, "--format json").expect(1, "0 delivered");
    let requests = "{\"items\":[{\"PutRequest\":{\"Item\":{\"id\":{\"S\":\"a\"}}}}],\"id\":\"o1\"}\n";
    load("", requests).expect(1, "0 delivered");
    // An answer of the service is none, whatever stands beside its list.
    let answer = "{\"Items\":[{\"id\":{\"S\":\"a\"}}],\"Count\":1,\"ScannedCount\":1}\n";
    load("", answer).expect(0, "1 delivered");
    load("", &answer.replace(',', ",\n")).expect(0, "1 delivered");
}

#[test]
fn a_dump_of_messages_is_not_sent_with_its_envelope() {
    let folder = Folder::new();
    let send =
        |options: &str, lines: &str| folder.run_with(&format!("send --simulate 1000 --queue q {options} -"), lines);
    let record = "{\"messageId\":\"m\",\"receiptHandle\":\"r\",\"body\":\"b\",\"attributes\":{\"SentTimestamp\":\"1\"},\"messageAttributes\":{},\"md5OfBody\":\"x\",\"eventSource\":\"aws:sqs\",\"eventSourceARN\":\"arn\",\"awsRegion\":\"us-east-1\"}";
    let event = format!("{{\"Records\":[{record}]}}\n");
    let shoryuken = "{\"attributes\":{},\"message_attributes\":{},\"id\":\"m\",\"message_body\":\"b\"}\n";
    let snake = "{\"message_id\":\"m\",\"receipt_handle\":\"r\",\"body\":\"b\"}\n";
    for lines in [&event, record, shoryuken, snake] {
        let run = send("", lines);
        assert_ne!(run.code, 0, "{lines}: {}", run.stderr);
        assert!(run.stderr.contains("jq -c"), "{lines}: {}", run.stderr);
    }
    for lines in [&event, record, shoryuken] {
        let run = send("--format json", lines);
        assert_eq!(run.code, 1, "{lines}: {}", run.stderr);
        assert!(run.stderr.contains("jq -c"), "{lines}: {}", run.stderr);
    }
    let system =
        "{\"body\":\"b\",\"attributes\":{\"SentTimestamp\":\"1596556800000\",\"ApproximateReceiveCount\":\"1\"}}\n";
    send("--format json", system).expect(1, "`ApproximateReceiveCount` is what a queue says of a message");
    // Records of other services are messages.
    send("", "{\"Records\":[{\"eventSource\":\"aws:s3\",\"s3\":{}}]}\n").expect(0, "1 delivered");
    let own = "{\"body\":\"b\",\"attributes\":{\"SenderId\":\"shop\",\"SentTimestamp\":\"monday\"}}\n";
    send("--format json", own).expect(0, "1 delivered");
}

#[test]
fn lines_of_sql_are_no_rows() {
    let folder = Folder::new();
    for sql in [
        "INSERT INTO items (id, name) VALUES (1, 'a');\n",
        "insert into \"items\" value {'id': 1}\n",
        "-- MySQL dump 10.13\n\nCREATE TABLE items (id int, name text);\n",
        "COPY public.items (id, name) FROM stdin;\n1\ta\n",
    ] {
        folder
            .run_with("load --simulate 1000 --table items --key id:N -", sql)
            .expect(1, "this is SQL")
            .expect(1, "0 delivered");
    }
}

#[test]
fn values_with_line_breaks_are_counted_and_the_first_is_named() {
    let folder = Folder::new();
    folder.write("a.csv", "id,t\n1,a\n2,\"b\n3,c\n4,d\"\n5,\"e\"\n6,\"f\ng\"\n");
    let words = "2 values have line breaks, the first of them t in a.csv:3";
    folder.load("a.csv").expect(0, words).expect(0, "4 delivered");
    folder.load("--dry-run a.csv").expect(0, words);
    let json = folder.load("--json a.csv");
    assert_eq!(json.report()["values_with_line_breaks"], 2, "{}", json.stdout);
    folder.write("b.csv", "id,t\r\n1,a\r\n2,\"b\"\r\n");
    let run = folder.load("b.csv");
    assert!(!run.stderr.contains("line break"), "{}", run.stderr);
}

#[test]
fn the_first_bad_lines_are_printed_and_the_others_counted() {
    let folder = Folder::new();
    folder.write("a.jsonl", "oops\n".repeat(50));
    for (options, code) in [
        ("--keep-going 100", 1),
        ("--keep-going 100 --dead-letter dead", 1),
        ("--dry-run", 1),
    ] {
        let run = folder.load(&format!("{options} a.jsonl"));
        run.expect(code, "40 more bad lines");
        assert_eq!(run.stderr.matches("a.jsonl:").count(), 10, "{options}: {}", run.stderr);
    }
    // The one at which a load stops is named in any case.
    let run = folder.load("--keep-going 20 a.jsonl");
    run.expect(1, "a.jsonl:21: ");
    assert_eq!(run.stderr.matches("a.jsonl:").count(), 11, "{}", run.stderr);
    let events = folder.load("--keep-going 100 --json a.jsonl").stdout;
    assert_eq!(events.matches("\"bad_line\"").count(), 50);
}

#[test]
fn a_load_of_which_nothing_is_left_is_not_to_be_continued() {
    let (folder, served) = (Folder::new(), Served::new(1e6));
    let large = format!("{{\"id\":1,\"t\":\"{}\"}}\n", "x".repeat(500_000));
    folder.write("a.jsonl", large + "{\"id\":2}\n");
    let load = |options: &str| {
        folder.run(&format!(
            "load --table items {} --resume state {options} a.jsonl",
            served.arguments()
        ))
    };
    let run = load("");
    run.expect(1, "1 delivered");
    assert!(!run.stderr.contains("to continue"), "{}", run.stderr);
    folder.write("a.jsonl", "{\"id\":2}\noops\n");
    std::fs::remove_file(folder.path("state")).unwrap();
    load("").expect(1, "to continue, run the same command again");
    std::fs::remove_file(folder.path("state")).unwrap();
    let kept = load("--keep-going 1 --dead-letter dead");
    kept.expect(1, "1 bad line");
    assert!(!kept.stderr.contains("to continue"), "{}", kept.stderr);
}

#[cfg(unix)]
#[test]
fn an_early_error_on_a_terminal_stands_alone() {
    let folder = Folder::new();
    folder.write("a.csv", "id,t\n1,a\n");
    let command = folder.command("load --simulate 10 --table items a.csv");
    let (code, printed) = crate::pseudo_terminal::run(command, "");
    assert_eq!(code, 2, "{printed}");
    let command = folder.command("load --simulate 1000 --table items --key x:N a.csv");
    let (code, also) = crate::pseudo_terminal::run(command, "");
    assert_eq!(code, 1, "{also}");
    for printed in [printed, also] {
        assert!(!printed.contains("0/0"), "{printed:?}");
    }
}

#[test]
fn a_command_that_was_not_built_is_listed_and_says_how_to_get_it() {
    let folder = Folder::new();
    // Without its line breaks.
    let help = |arguments: &str| -> String {
        let help = folder.run(arguments).stdout;
        help.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let listed = folder.run("--help").stdout;
    let commands = [
        ("put", "put --stream s a.txt", cfg!(feature = "put")),
        ("spool", "spool folder", cfg!(feature = "spool")),
    ];
    for (command, arguments, is_built) in commands {
        assert!(listed.contains(&format!("\n  {command} ")), "{listed}");
        let run = folder.run(arguments);
        let said = format!("this program was built without {command}: build it with --features {command}");
        assert_eq!(run.stderr.contains(&said), !is_built, "{}", run.stderr);
        if !is_built {
            run.expect(2, &said);
            let how = format!("(not in this program: build it with --features {command})");
            assert!(help("--help").contains(&how), "{listed}");
            assert!(help(&format!("{command} --help")).contains(&how));
        }
    }
}

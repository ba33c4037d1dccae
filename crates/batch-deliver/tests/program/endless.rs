//! Answers that do not end, and those that come again and again.

use std::io::Write;
use std::net::TcpListener;
use std::process::Stdio;
use std::time::{Duration, Instant};
use std::{fs, thread};

use crate::http::{Request, Response, serve};
use crate::program::{Folder, Run, items};

/// What the program may take in all, while it reads an answer without an end: an answer of 32 MiB, some copies of it, and the program.
const MOST: u64 = 250 << 20;

/// Serves answers with this status and this beginning, none of which ends, and returns the endpoint.
fn without_end(status: u16, begin: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            thread::spawn(move || {
                Request::read(&stream)?;
                let head = format!(
                    "HTTP/1.1 {status} -\r\ncontent-type: application/x-amz-json-1.0\r\ntransfer-encoding: chunked\r\n\r\n"
                );
                let chunk = format!("{:x}\r\n{}\r\n", 1 << 16, "x".repeat(1 << 16));
                let first = format!("{head}{:x}\r\n{begin}\r\n", begin.len());
                stream.write_all(first.as_bytes()).ok()?;
                while stream.write_all(chunk.as_bytes()).is_ok() {}
                Some(())
            });
        }
    });
    format!("http://{address}")
}

#[test]
#[cfg(target_os = "linux")]
fn an_answer_without_an_end_takes_no_more_memory_than_the_largest_of_the_service() {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..3));
    folder.write("a.txt", "a\nb\n");
    for (status, begin) in [
        (200, r#"{"Items":[{"id":{"S":""#),
        (400, r#"{"__type":""#),
        (503, "<html>"),
    ] {
        let endpoint = without_end(status, begin);
        for command in [
            "load --table items --key id:N a.jsonl --deadline 3s".to_owned(),
            "load --table items a.jsonl".to_owned(),
            format!("send --queue {endpoint}/1/q a.txt --deadline 3s"),
            format!("drain --queue {endpoint}/1/q out --max 1"),
            "export --table items -".to_owned(),
            "load --table items --key id:N s3://b/a.jsonl".to_owned(),
        ] {
            let mut run = folder.command(&format!("{command} --endpoint-url {endpoint}"));
            let mut child = run.stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
            // Without a bound, it would have taken gigabytes by then.
            let end = Instant::now() + Duration::from_secs(6);
            let mut most = 0;
            while child.try_wait().unwrap().is_none() && Instant::now() < end {
                most = peak(child.id()).unwrap_or(most);
                thread::sleep(Duration::from_millis(50));
                assert!(most < MOST, "{command}, {status}: {most}");
            }
            let _ = child.kill();
            child.wait().unwrap();
        }
    }
}

#[test]
fn a_lookup_whose_answer_has_no_end_says_so() {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..3));
    let endpoint = without_end(200, r#"{"Table":{"TableName":""#);
    let run = folder.run(&format!("load --table items a.jsonl --endpoint-url {endpoint}"));
    run.expect(
        1,
        "the table items cannot be looked up: answer too long: it is longer than any answer of the service",
    );
}

/// The peak of the memory of a process in bytes, as far as it has come.
#[cfg(target_os = "linux")]
fn peak(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? << 10)
}

/// A table whose pages come again and again, and a queue whose message does.
fn again_and_again(cycle: u64) -> String {
    let page = std::sync::atomic::AtomicU64::new(0);
    let address = serve(move |request| {
        let target = request.header("x-amz-target").unwrap_or_default();
        let body = match target.rsplit('.').next().unwrap_or_default() {
            "DescribeTable" => r#"{"Table":{"TableName":"items","TableStatus":"ACTIVE","ItemCount":1,
                "KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],
                "AttributeDefinitions":[{"AttributeName":"id","AttributeType":"N"}]}}"#
                .to_owned(),
            "Scan" | "Query" => {
                let id = page.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % cycle;
                let key = format!(r#"{{"id":{{"N":"{id}"}}}}"#);
                format!(r#"{{"Items":[{key}],"Count":1,"ScannedCount":1,"LastEvaluatedKey":{key}}}"#)
            }
            "GetQueueUrl" => r#"{"QueueUrl":"http://sqs.test/1/q"}"#.to_owned(),
            "ReceiveMessage" => r#"{"Messages":[{"MessageId":"m","ReceiptHandle":"h","Body":"a","MD5OfBody":"0cc175b9c0f1b6a831c399e269772661"}]}"#
                .to_owned(),
            "DeleteMessageBatch" | "SendMessageBatch" | "ChangeMessageVisibilityBatch" => {
                let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
                let entries = body["Entries"].as_array().unwrap().iter();
                let accepted: Vec<_> = entries
                    .map(|entry| {
                        serde_json::json!({"Id": entry["Id"], "MessageId": "s", "MD5OfMessageBody": "0cc175b9c0f1b6a831c399e269772661"})
                    })
                    .collect();
                serde_json::json!({"Successful": accepted, "Failed": []}).to_string()
            }
            _ => r#"{"UnprocessedItems":{}}"#.to_owned(),
        };
        Some(Response(
            200,
            "content-type: application/x-amz-json-1.0\r\n".to_owned(),
            body.into(),
        ))
    });
    format!("http://{address}")
}

/// Runs the program, which is to end by itself.
fn ended(folder: &Folder, arguments: &str) -> Run {
    let mut child = folder
        .command(arguments)
        .stdout(Stdio::null())
        .stderr(fs::File::create(folder.path("stderr")).unwrap())
        .spawn()
        .unwrap();
    let end = Instant::now() + Duration::from_mins(1);
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if Instant::now() > end => {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("{arguments}: it does not end");
            }
            None => thread::sleep(Duration::from_millis(20)),
        }
    };
    Run {
        code: status.code().unwrap_or(-1),
        stdout: String::new(),
        stderr: folder.read("stderr"),
    }
}

#[test]
fn a_table_whose_pages_come_again_ends_the_command_with_an_error() {
    let folder = Folder::new();
    for cycle in [1, 5] {
        let endpoint = again_and_again(cycle);
        for command in [
            "export --table items out",
            "copy --from items --to other --overwrite",
            "delete --table items --where id>:one --value :one=1 --yes",
            "diff items other",
        ] {
            let run = ended(&folder, &format!("{command} --endpoint-url {endpoint}"));
            run.expect(1, "the key to continue from is that of an earlier page");
        }
    }
}

#[test]
fn a_queue_whose_message_comes_again_although_it_was_deleted_ends_the_command_with_an_error() {
    let folder = Folder::new();
    let endpoint = again_and_again(1);
    for command in ["drain --queue q out", "move --from q --to http://sqs.test/2/other"] {
        let run = ended(&folder, &format!("{command} --endpoint-url {endpoint}"));
        run.expect(1, "a message was received again each time that it was deleted");
    }
    assert!(folder.read("out").lines().count() < 1_000);
}

#[test]
fn expired_credentials_that_cannot_be_renewed_end_the_command_within_seconds() {
    let expired = r#"{"__type": "ExpiredTokenException", "message": "The security token is expired."}"#;
    let address = serve(move |_| {
        let headers = "content-type: application/x-amz-json-1.0\r\n".to_owned();
        Some(Response(400, headers, expired.into()))
    });
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..3));
    folder.write("a.txt", "a\nb\n");
    let keys = "aws_access_key_id = AKIA\naws_secret_access_key = secret\naws_session_token = token";
    folder.write("config", format!("[profile static]\n{keys}\n"));
    let endpoint = format!("http://{address}");
    for command in [
        "load --table items --key id:N a.jsonl".to_owned(),
        "load --table items --key id:N a.jsonl --profile static".to_owned(),
        format!("send --queue {endpoint}/1/q a.txt"),
        format!("drain --queue {endpoint}/1/q out"),
        format!("move --from {endpoint}/1/q --to {endpoint}/1/r"),
    ] {
        let arguments = format!("{command} --endpoint-url {endpoint}");
        let mut child = folder.command(&arguments);
        child.env("AWS_CONFIG_FILE", folder.path("config"));
        child.env("AWS_SESSION_TOKEN", "token");
        let started = Instant::now();
        let run = Run::from(child.output().unwrap());
        run.expect(1, "ExpiredToken")
            .expect(1, "run the command again with new ones");
        assert!(
            started.elapsed() < Duration::from_mins(1),
            "{command}: {:?}",
            started.elapsed()
        );
    }
}

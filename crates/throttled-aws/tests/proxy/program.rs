//! The program itself, as a process.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Until the program ends, or after this many hundredths of a second.
const PATIENCE: u32 = 3_000;

/// A program in front of nothing, and its standard error, of which one byte was read.
fn with_a_line() -> (Child, impl Read) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_throttled-aws"))
        .args(["--to", "http://127.0.0.1:1", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut endpoint = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut endpoint).unwrap();
    // The name of the queue is in the line, which a pipe of 64 KiB does not hold.
    let body = format!("{{\"QueueUrl\": \"http://a/0/{}\"}}", "q".repeat(200_000));
    let mut client = TcpStream::connect(endpoint.trim().strip_prefix("http://").unwrap()).unwrap();
    write!(
        client,
        "POST / HTTP/1.1\r\nhost: a\r\nx-amz-target: AmazonSQS.ReceiveMessage\r\n\
         content-type: application/x-amz-json-1.0\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut errors = child.stderr.take().unwrap();
    errors.read_exact(&mut [0]).unwrap();
    (child, errors)
}

#[test]
fn a_signal_ends_it_even_if_its_lines_are_not_read() {
    for (signal, is_closed) in [("-TERM", false), ("-INT", false), ("-TERM", true)] {
        let (mut child, errors) = with_a_line();
        let errors = (!is_closed).then_some(errors);
        if is_closed {
            // The next line is a second later.
            let is_running = (0..150).all(|_| {
                sleep(Duration::from_millis(10));
                child.try_wait().unwrap().is_none()
            });
            assert!(is_running, "{:?}", child.try_wait());
        }
        let status = Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(status.unwrap().success());
        let ended = (0..PATIENCE).find_map(|_| {
            sleep(Duration::from_millis(10));
            child.try_wait().unwrap()
        });
        if ended.is_none() {
            child.kill().unwrap();
        }
        assert!(ended.is_some_and(|status| status.success()), "{signal}: {ended:?}");
        drop(errors);
    }
}

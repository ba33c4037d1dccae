//! The memory of the proxy does not grow with connections, calls or bodies. It is a process of its own, whose memory is counted.

use peak_alloc::PeakAlloc;
use serde_json::json;
use throttled_aws::{Config, Server};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// Bytes of a body that streams through.
const LARGE: usize = 64 * MIB;
const MIB: usize = 1024 * 1024;
/// Bytes that are sent and received at once.
const PART: usize = 4 * 1024;
/// What may be allocated more than after the first calls.
const MOST: usize = 4 * MIB;

const DESCRIBED: &str = r#"{"Table": {"KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}}"#;

/// An emulator that answers with as many bytes as a GET asks for, and with `{}` otherwise.
async fn emulator() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream));
        }
    });
    url
}

async fn answer(stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    while let Some((head, _)) = message(&mut stream).await? {
        let bytes = head
            .strip_prefix("GET /")
            .and_then(|rest| rest.split(' ').next()?.parse::<usize>().ok());
        let body = if head.contains("DescribeTable") {
            DESCRIBED
        } else {
            "{}"
        };
        let length = bytes.unwrap_or(body.len());
        let start = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
        stream.write_all(start.as_bytes()).await?;
        match bytes {
            None => stream.write_all(body.as_bytes()).await?,
            Some(bytes) => send(&mut stream, bytes).await?,
        }
    }
    Ok(())
}

async fn send(stream: &mut BufReader<TcpStream>, bytes: usize) -> std::io::Result<()> {
    for _ in 0..bytes / PART {
        stream.write_all(&[b'x'; PART]).await?;
    }
    Ok(())
}

/// The head of the next message, and the bytes of its body, which is dropped. `None` at the end of the connection.
async fn message(stream: &mut BufReader<TcpStream>) -> std::io::Result<Option<(String, usize)>> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).await? == 0 {
            return Ok(None);
        }
    }
    let lower = head.to_lowercase();
    let length = lower
        .split("content-length: ")
        .nth(1)
        .and_then(|rest| rest.lines().next());
    let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
    let mut left = length;
    let mut part = [0; PART];
    while left > 0 {
        let most = left.min(part.len());
        left -= stream.read_exact(&mut part[..most]).await?;
    }
    Ok(Some((head, length)))
}

/// A client of the proxy.
struct Client(BufReader<TcpStream>);

impl Client {
    async fn of(server: &Server) -> Self {
        let address = server.endpoint().replace("http://", "");
        Self(BufReader::new(TcpStream::connect(address).await.unwrap()))
    }

    /// Sends a request with a body of this text, or of as many bytes, and returns the bytes of the answer.
    async fn call(&mut self, head: &str, body: &str, bytes: usize) -> usize {
        let length = body.len() + bytes;
        let request = format!("{head}\r\nhost: test\r\ncontent-length: {length}\r\n\r\n{body}");
        self.0.write_all(request.as_bytes()).await.unwrap();
        send(&mut self.0, bytes).await.unwrap();
        let (head, length) = message(&mut self.0).await.unwrap().unwrap();
        assert!(head.contains(" 200 "), "{head}");
        length
    }

    async fn batch(&mut self, first: usize) {
        let writes: Vec<_> = (first..first + 25)
            .map(|id| json!({"PutRequest": {"Item": {"id": {"N": id.to_string()}}}}))
            .collect();
        let body = json!({"RequestItems": {"orders": writes}}).to_string();
        let head = "POST / HTTP/1.1\r\nx-amz-target: DynamoDB_20120810.BatchWriteItem\r\ncontent-type: application/x-amz-json-1.0";
        self.call(head, &body, 0).await;
    }
}

/// Fails if much more is allocated than before, now or at any time since the last check.
fn check(what: &str, before: usize) {
    let (now, peak) = (ALLOCATED.current_usage(), ALLOCATED.peak_usage());
    println!(
        "{what}: {} KiB more, {} KiB at most",
        now.saturating_sub(before) / 1024,
        peak.saturating_sub(before) / 1024
    );
    // The buffers of a connection keep the size that a large body has given them.
    assert!(now < before + MOST / 2, "{what}: {before} bytes before, {now} after");
    assert!(peak < before + MOST, "{what}: {before} bytes before, {peak} at most");
    ALLOCATED.reset_peak_usage();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_does_not_grow_with_connections_calls_and_bodies() {
    let limits = "[tables.orders]\nwrite_units = 1e9\nstarts_full = true\npartitions = 0\n[journal]\nentries = 1000\n";
    let server = Server::to(&emulator().await, Config::parse(limits).unwrap(), "127.0.0.1:0")
        .await
        .unwrap();
    let mut client = Client::of(&server).await;
    // The journal is full after these.
    for number in 0..100 {
        client.batch(25 * number).await;
    }
    let before = ALLOCATED.current_usage();
    ALLOCATED.reset_peak_usage();

    for number in 100..2_000 {
        client.batch(25 * number).await;
    }
    check("47,500 writes, of which the journal keeps 1,000", before);

    assert_eq!(client.call("PUT /key HTTP/1.1", "", LARGE).await, 2);
    check("an upload of 64 MiB", before);
    assert_eq!(client.call(&format!("GET /{LARGE} HTTP/1.1"), "", 0).await, LARGE);
    check("a download of 64 MiB", before);

    for number in 0..10_000 {
        let mut client = Client::of(&server).await;
        // Some close without a word, some within a request.
        match number % 10 {
            0 => {}
            1 => client.0.write_all(b"POST / HTT").await.unwrap(),
            2 => client.batch(number).await,
            _ => _ = client.call("GET /_throttled/faults HTTP/1.1", "", 0).await,
        }
    }
    check("10,000 connections one after another", before);
}

//! What the proxy costs: the time of a call and calls per second, with an emulator that answers at once.
//!
//! ```text
//! cargo bench -p throttled-aws
//! ```

use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use throttled_aws::{Config, Server};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

const FOR: Duration = Duration::from_secs(3);
const CONNECTIONS: usize = 32;
const DESCRIBED: &str = r#"{"Table": {"KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}}"#;

#[tokio::main]
async fn main() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let emulator = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(serve(listener));
    let limits = "[tables.'*']\nwrite_units = 1e9\nstarts_full = true\npartitions = 0\n[journal]\nentries = 1000\n";
    let config = Config::parse(limits).expect("a configuration");
    let proxy = Server::to(&emulator, config, "127.0.0.1:0").await.expect("a free port");
    let writes: Vec<String> = (0..25)
        .map(|id| {
            format!(
                r#"{{"PutRequest": {{"Item": {{"id": {{"S": "{id}"}}, "text": {{"S": "{}"}}}}}}}}"#,
                "x".repeat(200)
            )
        })
        .collect();
    let batch = format!(r#"{{"RequestItems": {{"orders": [{}]}}}}"#, writes.join(","));
    for (what, target, body) in [
        ("a call that passes, 100 bytes", "AWSEvents.PutEvents", "x".repeat(100)),
        (
            "a batch of 25 writes of 230 bytes",
            "DynamoDB_20120810.BatchWriteItem",
            batch,
        ),
    ] {
        for (place, url) in [
            ("the emulator alone", emulator.clone()),
            ("through the proxy", proxy.endpoint()),
        ] {
            let one = measure(&url, target, &body, 1).await;
            let many = measure(&url, target, &body, CONNECTIONS).await;
            println!(
                "{what}, {place}: median {:.0} µs and 99% {:.0} µs with one connection, {:.0} calls/s with {CONNECTIONS}",
                one.quantile(0.5),
                one.quantile(0.99),
                many.per_second()
            );
        }
    }
}

/// The times of calls, in microseconds.
struct Times(Vec<f64>);

impl Times {
    fn quantile(&self, share: f64) -> f64 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a place in a list"
        )]
        let place = (self.0.len() as f64 * share) as usize;
        self.0[place.min(self.0.len() - 1)]
    }

    fn per_second(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a number of calls")]
        let calls = self.0.len() as f64;
        calls / FOR.as_secs_f64()
    }
}

async fn measure(url: &str, target: &str, body: &str, connections: usize) -> Times {
    let address = url.strip_prefix("http://").expect("the scheme").to_owned();
    let request = format!(
        "POST / HTTP/1.1\r\nhost: bench\r\nx-amz-target: {target}\r\ncontent-type: application/x-amz-json-1.0\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let ends = Instant::now() + FOR;
    let tasks: Vec<_> = (0..connections)
        .map(|_| tokio::spawn(calls(address.clone(), request.clone(), ends)))
        .collect();
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await.expect("no panic"));
    }
    times.sort_by(f64::total_cmp);
    Times(times)
}

async fn calls(address: String, request: String, ends: Instant) -> Vec<f64> {
    let stream = TcpStream::connect(address).await.expect("a connection");
    stream.set_nodelay(true).expect("an option");
    let mut stream = BufReader::new(stream);
    let mut times = Vec::new();
    let mut body = Vec::new();
    while Instant::now() < ends {
        let sent = Instant::now();
        stream.write_all(request.as_bytes()).await.expect("it is sent");
        let mut length = 0;
        let mut line = String::new();
        stream.read_line(&mut line).await.expect("an answer");
        assert!(line.contains(" 200 "), "{line}");
        while line != "\r\n" {
            line.clear();
            stream.read_line(&mut line).await.expect("an answer");
            if let Some(value) = line.to_lowercase().strip_prefix("content-length: ") {
                length = value.trim_end().parse().expect("a length");
            }
        }
        body.resize(length, 0);
        stream.read_exact(&mut body).await.expect("a body");
        times.push(sent.elapsed().as_secs_f64() * 1e6);
    }
    times
}

async fn serve(listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        let _ = stream.set_nodelay(true);
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer)));
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let is_description = request
        .headers()
        .get("x-amz-target")
        .is_some_and(|target| target == "DynamoDB_20120810.DescribeTable");
    request.into_body().collect().await?;
    Ok(Response::new(Full::from(if is_description { DESCRIBED } else { "{}" })))
}

//! A client that says exactly what is to be on the wire.

use std::collections::HashMap;
use std::io;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

pub(crate) struct Connection {
    pub(crate) stream: BufReader<TcpStream>,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Connection {
    pub(crate) async fn to(endpoint: &str) -> Self {
        let address = endpoint.strip_prefix("http://").unwrap();
        Self {
            stream: BufReader::new(TcpStream::connect(address).await.unwrap()),
        }
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        // What the other side closes before it has read everything is what the test is about.
        let _ = self.stream.write_all(bytes).await;
    }

    /// A call in the JSON protocol.
    pub(crate) async fn call(&mut self, target: &str, body: &Value) -> io::Result<Answer> {
        self.send_call(target, body).await;
        self.answer().await
    }

    pub(crate) async fn send_call(&mut self, target: &str, body: &Value) {
        let body = body.to_string();
        let head = format!(
            "POST / HTTP/1.1\r\nhost: proxy.test\r\nx-amz-target: {target}\r\ncontent-type: application/x-amz-json-1.0\r\n\
             content-length: {}\r\n\r\n",
            body.len()
        );
        self.send(&[head.as_bytes(), body.as_bytes()].concat()).await;
    }

    /// A call to tables, whose answer is JSON.
    pub(crate) async fn tables(&mut self, operation: &str, body: Value) -> Answer {
        self.call(&format!("DynamoDB_20120810.{operation}"), &body)
            .await
            .unwrap()
    }

    /// What the test asks the proxy itself.
    pub(crate) async fn get(&mut self, path: &str) -> Value {
        self.send(format!("GET /_throttled/{path} HTTP/1.1\r\nhost: proxy.test\r\n\r\n").as_bytes())
            .await;
        self.answer().await.unwrap().json()
    }

    pub(crate) async fn post(&mut self, path: &str, body: &str) -> Answer {
        let length = body.len();
        let head =
            format!("POST /_throttled/{path} HTTP/1.1\r\nhost: proxy.test\r\ncontent-length: {length}\r\n\r\n{body}");
        self.send(head.as_bytes()).await;
        self.answer().await.unwrap()
    }

    pub(crate) async fn answer(&mut self) -> io::Result<Answer> {
        let mut line = String::new();
        if self.stream.read_line(&mut line).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| io::Error::other(format!("{line:?} is no status line")))?;
        let mut headers = HashMap::new();
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).await?;
            let Some((name, value)) = line.trim_end().split_once(": ") else {
                break;
            };
            headers.insert(name.to_lowercase(), value.to_owned());
        }
        let length = headers
            .get("content-length")
            .map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await?;
        Ok(Answer { status, headers, body })
    }
}

/// A write of an item with this key that takes so many units.
pub(crate) fn put(id: usize, units: usize) -> Value {
    let text = "x".repeat(units * 1_024 - 20);
    json!({"PutRequest": {"Item": {"id": {"S": format!("{id:06}")}, "text": {"S": text}}}})
}

/// A batch of such writes to `orders`.
pub(crate) fn batch(ids: std::ops::Range<usize>, units: usize) -> Value {
    let writes: Vec<Value> = ids.map(|id| put(id, units)).collect();
    json!({"RequestItems": {"orders": writes}})
}

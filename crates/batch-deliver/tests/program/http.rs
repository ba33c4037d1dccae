//! A server for a few requests, each with a connection of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// What is asked for.
pub(crate) struct Request {
    pub(crate) method: String,
    /// The path and the query.
    pub(crate) target: String,
    /// Each as `name: value`.
    pub(crate) headers: Vec<String>,
    pub(crate) body: Vec<u8>,
}

/// What is answered: the status, more headers, each with its line end, and the body.
pub(crate) struct Response(pub(crate) u16, pub(crate) String, pub(crate) Vec<u8>);

impl Request {
    pub(crate) fn read(stream: &TcpStream) -> Option<Self> {
        let mut reader = BufReader::new(stream);
        let mut lines = reader.by_ref().lines().map_while(Result::ok);
        let first = lines.next()?;
        let (method, rest) = first.split_once(' ')?;
        let target = rest.split(' ').next()?.to_owned();
        let headers: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
        let mut request = Self {
            method: method.to_owned(),
            target,
            headers,
            body: Vec::new(),
        };
        let length = request
            .header("content-length")
            .map_or(0, |bytes| bytes.parse().unwrap());
        request.body.resize(length, 0);
        reader.read_exact(&mut request.body).ok()?;
        Some(request)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut pairs = self.headers.iter().filter_map(|line| line.split_once(": "));
        pairs.find(|(found, _)| *found == name).map(|(_, value)| value)
    }
}

/// Serves until the test is over, and returns the address. A request that has no answer keeps its connection.
pub(crate) fn serve(answer: impl Fn(&Request) -> Option<Response> + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let answer = Arc::clone(&answer);
            thread::spawn(move || respond(&stream.unwrap(), &*answer));
        }
    });
    address
}

fn respond(mut stream: &TcpStream, answer: &impl Fn(&Request) -> Option<Response>) {
    let Some(request) = Request::read(stream) else { return };
    let Some(Response(status, headers, body)) = answer(&request) else {
        loop {
            thread::park();
        }
    };
    let head = format!(
        "HTTP/1.1 {status} -\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    // A client that has what it wants may have gone.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
}

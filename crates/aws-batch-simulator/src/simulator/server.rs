//! The simulator over HTTP, on the loopback interface.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

use super::Simulator;
use crate::handles::debug_fields;
use crate::wire::{self, CallEnd, Reply};

/// Until the next connection is accepted after one that could not be.
const PAUSE: Duration = Duration::from_millis(10);

impl Simulator {
    /// Serves this simulator over plain HTTP, for clients in other processes and languages.
    ///
    /// With port 0 it listens on any free port. It is served until the [`Server`] is dropped. Sockets do not follow tokio's
    /// paused clock, so use this only while the clock runs.
    ///
    /// # Errors
    /// If the address cannot be bound.
    pub async fn serve(&self, address: impl ToSocketAddrs) -> io::Result<Server> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(accept(self.clone(), listener));
        Ok(Server { address, task })
    }
}

/// A simulator that is served over HTTP. Dropping it stops the server and closes its connections.
pub struct Server {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Server {
    /// The URL to give to an SDK as its endpoint.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

debug_fields!(Server, address);

/// The connections are owned by this future, so that they end with it.
async fn accept(simulator: Simulator, listener: TcpListener) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connect(simulator.clone(), stream));
                }
                // A connection may be reset before it is accepted, or there are too many open files, which lasts.
                Err(_) => sleep(PAUSE).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn connect(simulator: Simulator, stream: TcpStream) {
    // Without this the kernel would delay the answers, which are small.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| respond(&simulator, request));
    // It ends with an error if a fault or the client closes the connection.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn respond(simulator: &Simulator, request: Request<Incoming>) -> io::Result<Response<Full<Bytes>>> {
    let (parts, body) = request.into_parts();
    // It has no limit, because objects have none here: the service that it is for refuses what is too large.
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let headers = parts
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.to_str().unwrap_or_default()));
    let host = parts.headers.get("host").and_then(|host| host.to_str().ok());
    let request = wire::Request {
        method: parts.method.as_str(),
        host: host.unwrap_or_default(),
        path: parts.uri.path(),
        query: parts.uri.query().unwrap_or_default(),
        headers: headers.collect(),
        body: &body,
    };
    match simulator.call(request).await {
        CallEnd::Reply(reply) => answer(reply),
        CallEnd::Dropped => Err(io::ErrorKind::ConnectionReset.into()),
        CallEnd::Hung => {
            let never: Infallible = std::future::pending().await;
            match never {}
        }
    }
}

fn answer(reply: Reply) -> io::Result<Response<Full<Bytes>>> {
    let status = StatusCode::from_u16(reply.status).map_err(io::Error::other)?;
    let mut builder = Response::builder().status(status);
    for (name, value) in reply.headers {
        builder = builder.header(name, value);
    }
    builder
        .body(Full::new(Bytes::from(reply.body)))
        .map_err(io::Error::other)
}

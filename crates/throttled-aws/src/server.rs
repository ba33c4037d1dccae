//! The server: connections, and what answers their requests.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

use crate::alone::Alone;
use crate::config::Config;
use crate::control;
use crate::front::Front;
use crate::shared::End;
use crate::target::Target;
use crate::upstream::Upstream;

/// Until the next connection is accepted after one that could not be.
const PAUSE: Duration = Duration::from_millis(10);

/// A running proxy or emulator. Dropping it stops it and closes its connections.
pub struct Server {
    address: SocketAddr,
    pub(crate) front: Arc<Front>,
    task: JoinHandle<()>,
}

impl Server {
    /// In front of the emulator at this URL, such as `http://127.0.0.1:4566`. With port 0 it listens on any free port.
    ///
    /// # Errors
    /// If the URL is not one of plain HTTP, or the address cannot be bound.
    pub async fn to(url: &str, config: Config, address: impl ToSocketAddrs) -> io::Result<Self> {
        let upstream = Upstream::to(url).map_err(invalid)?;
        Self::start(config, Target::Emulator(upstream), address).await
    }

    /// An emulator by itself, with the tables, queues and streams of the configuration.
    ///
    /// # Errors
    /// If the address cannot be bound.
    pub async fn alone(config: Config, address: impl ToSocketAddrs) -> io::Result<Self> {
        let alone = Alone::start(&config).await.map_err(invalid)?;
        Self::start(config, Target::Alone(alone), address).await
    }

    async fn start(config: Config, target: Target, address: impl ToSocketAddrs) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let front = Arc::new(Front::new(config, target));
        Ok(Self {
            address: listener.local_addr()?,
            front: Arc::clone(&front),
            task: tokio::spawn(accept(front, listener)),
        })
    }

    /// The URL to give to an SDK as its endpoint.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

/// The connections are owned by this future, so that they end with it.
async fn accept(front: Arc<Front>, listener: TcpListener) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connect(Arc::clone(&front), stream));
                }
                // A connection may be reset before it is accepted, or there are too many open files, which lasts.
                Err(_) => sleep(PAUSE).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn connect(front: Arc<Front>, stream: TcpStream) {
    // Without this the kernel would delay the answers, which are small.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let front = Arc::clone(&front);
        async move {
            if request.uri().path().starts_with(control::PREFIX) {
                return Ok(control::respond(&front, request).await);
            }
            match front.answer(request).await {
                End::Answer(answer) => Ok(answer),
                // The connection is closed without an answer.
                End::Closed => Err(io::Error::from(io::ErrorKind::ConnectionReset)),
                End::Hung => std::future::pending().await,
            }
        }
    });
    // It ends with an error if a fault or the client closes the connection. Idle connections may wait for their next request.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

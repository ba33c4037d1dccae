//! A proxy on this machine that loses connections.
//!
//! It passes bytes on, also those of TLS, and closes each connection when the service has begun to answer, so that the caller does not
//! see the answer to what the service has received. It changes nothing, so signatures stay valid.

use std::io;
use std::mem::take;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use anyhow::{Context, Result};
use aws_sdk_dynamodb::config::SharedHttpClient;
use aws_smithy_http_client::proxy::ProxyConfig;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_http_client::{Builder, Connector};
use aws_smithy_runtime_api::client::http::{SharedHttpConnector, http_client_fn};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

/// Answers that pass before a connection is closed: from this many on. With TLS the first two may be part of the handshake.
const FEWEST: u64 = 3;
/// How many different numbers of answers there are.
const NUMBERS: u64 = 10;
/// The numbers come in an order that repeats only after all of them.
const STEP: u64 = 7;
/// Of the head of a request for a connection.
const LARGEST_HEAD: usize = 8 * 1024;
/// Of bytes that are passed on at once.
const BUFFER: usize = 64 * 1024;

/// A running proxy. Dropping it closes its connections.
#[derive(Debug)]
pub(crate) struct Tunnel {
    address: SocketAddr,
    to_tls: bool,
    lost: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

/// Where connections lead.
#[derive(Debug, Clone)]
enum Way {
    /// To this host and port.
    To(Arc<str>),
    /// Where the caller asks by `CONNECT`.
    Asked,
}

impl Tunnel {
    /// In front of an endpoint: of AWS, of another one with TLS, or of one without.
    pub(crate) async fn before(endpoint: Option<&str>) -> Result<Self> {
        let way = match endpoint.and_then(|endpoint| endpoint.strip_prefix("http://")) {
            Some(authority) => {
                let authority = authority.trim_end_matches('/');
                let port = if authority.contains(':') { "" } else { ":80" };
                Way::To(format!("{authority}{port}").into())
            }
            None => Way::Asked,
        };
        let to_tls = matches!(way, Way::Asked);
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let lost = Arc::new(AtomicU64::new(0));
        let task = tokio::spawn(accept(listener, way, Arc::clone(&lost)));
        Ok(Self {
            address,
            to_tls,
            lost,
            task,
        })
    }

    /// The endpoint that clients have, if it is not that of the service.
    pub(crate) fn endpoint(&self) -> Option<String> {
        (!self.to_tls).then(|| self.url())
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What makes the calls of clients go through it.
    pub(crate) fn http_client(&self) -> Result<SharedHttpClient> {
        let provider = Provider::Rustls(CryptoMode::AwsLc);
        if !self.to_tls {
            return Ok(Builder::new().tls_provider(provider).build_https());
        }
        let proxy = ProxyConfig::https(self.url()).context("the proxy of this run")?;
        let connector = Connector::builder().proxy_config(proxy).tls_provider(provider).build();
        let connector = SharedHttpConnector::new(connector);
        Ok(http_client_fn(move |_, _| connector.clone()))
    }

    /// How many connections it has closed in the middle of a call.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Relaxed)
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, way: Way, lost: Arc<AtomicU64>) {
    let mut connections = JoinSet::new();
    for number in 0_u64.. {
        // The next connection may be accepted when this one was reset.
        let Ok((caller, _)) = listener.accept().await else {
            continue;
        };
        let (way, lost) = (way.clone(), Arc::clone(&lost));
        connections.spawn(async move {
            // Both sides see a closed connection, whatever the error was.
            if let Ok(true) = connect(caller, way, FEWEST + number * STEP % NUMBERS).await {
                lost.fetch_add(1, Relaxed);
            }
        });
        while connections.try_join_next().is_some() {}
    }
}

/// Returns whether the connection was lost by this proxy.
async fn connect(mut caller: TcpStream, way: Way, answers: u64) -> io::Result<bool> {
    caller.set_nodelay(true)?;
    let mut service = match way {
        Way::To(authority) => TcpStream::connect(&*authority).await?,
        Way::Asked => {
            let service = TcpStream::connect(asked(&mut caller).await?).await?;
            caller.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
            service
        }
    };
    service.set_nodelay(true)?;
    pass(&mut caller, &mut service, answers).await
}

/// The host and the port that the caller asks for.
async fn asked(caller: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == LARGEST_HEAD {
            return Err(io::ErrorKind::InvalidData.into());
        }
        head.push(caller.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head);
    let mut words = head.split(' ');
    match (words.next(), words.next()) {
        (Some("CONNECT"), Some(authority)) => Ok(authority.to_owned()),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Passes bytes on until one side closes the connection, or until this many answers have begun: the last one does not pass.
async fn pass(caller: &mut TcpStream, service: &mut TcpStream, answers: u64) -> io::Result<bool> {
    let (mut requests, mut answer) = (vec![0; BUFFER], vec![0; BUFFER]);
    let (mut answered, mut is_asked) = (0, false);
    loop {
        tokio::select! {
            read = caller.read(&mut requests) => {
                let Some(bytes) = requests.get(..read?).filter(|bytes| !bytes.is_empty()) else { return Ok(false) };
                service.write_all(bytes).await?;
                is_asked = true;
            }
            read = service.read(&mut answer) => {
                let Some(bytes) = answer.get(..read?).filter(|bytes| !bytes.is_empty()) else { return Ok(false) };
                if take(&mut is_asked) {
                    answered += 1;
                    if answered == answers {
                        return Ok(true);
                    }
                }
                caller.write_all(bytes).await?;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers each byte with the next one, and counts what it has received.
    async fn service() -> (String, Arc<AtomicU64>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let received = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&received);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                while let Ok(byte) = stream.read_u8().await {
                    counted.fetch_add(1, Relaxed);
                    stream.write_u8(byte.wrapping_add(1)).await.unwrap();
                }
            }
        });
        (address, received)
    }

    /// The bytes that are answered on a connection, one after another.
    async fn answered(stream: &mut TcpStream) -> u64 {
        for number in 0_u8.. {
            stream.write_u8(number).await.unwrap();
            let Ok(answer) = stream.read_u8().await else {
                return number.into();
            };
            assert_eq!(answer, number + 1);
        }
        unreachable!("a connection is lost after 12 answers at most")
    }

    #[tokio::test]
    async fn a_connection_is_lost_after_the_service_has_received_the_request() {
        let (address, received) = service().await;
        let tunnel = Tunnel::before(Some(&format!("http://{address}"))).await.unwrap();
        let mut sent = 0;
        for _ in 0..NUMBERS {
            let mut stream = TcpStream::connect(tunnel.address).await.unwrap();
            let answered = answered(&mut stream).await;
            assert!((FEWEST - 1..FEWEST - 1 + NUMBERS).contains(&answered), "{answered}");
            sent += answered + 1;
        }
        assert_eq!(received.load(Relaxed), sent);
    }

    #[tokio::test]
    async fn with_tls_the_caller_says_where_to() {
        let (address, received) = service().await;
        let tunnel = Tunnel::before(None).await.unwrap();
        assert_eq!(tunnel.endpoint(), None);
        let mut stream = TcpStream::connect(tunnel.address).await.unwrap();
        let head = format!("CONNECT {address} HTTP/1.1\r\nhost: {address}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut established = [0; 39];
        stream.read_exact(&mut established).await.unwrap();
        assert_eq!(&established, b"HTTP/1.1 200 Connection established\r\n\r\n");
        let answered = answered(&mut stream).await;
        assert_eq!(answered, FEWEST - 1);
        assert_eq!(received.load(Relaxed), FEWEST);
    }

    #[tokio::test]
    async fn what_is_no_request_for_a_connection_is_closed() {
        let tunnel = Tunnel::before(None).await.unwrap();
        let mut stream = TcpStream::connect(tunnel.address).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        assert!(answer.is_empty());
    }
}

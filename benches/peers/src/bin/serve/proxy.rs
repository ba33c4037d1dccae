//! A proxy in front of the simulator that counts connections, and has TLS if it has a certificate.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use peers::Failure;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

pub struct Proxy {
    pub endpoint: String,
    connections: Arc<AtomicU64>,
}

impl Proxy {
    /// The file has the certificate and its key.
    pub async fn before(service: SocketAddr, identity: Option<&Path>) -> Result<Self, Failure> {
        let acceptor = identity.map(acceptor).transpose()?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let scheme = if acceptor.is_some() { "https" } else { "http" };
        let endpoint = format!("{scheme}://{}", listener.local_addr()?);
        let connections = Arc::new(AtomicU64::new(0));
        tokio::spawn(accept(listener, service, acceptor, Arc::clone(&connections)));
        Ok(Self { endpoint, connections })
    }

    /// How many connections it has accepted.
    pub fn connections(&self) -> u64 {
        self.connections.load(Relaxed)
    }
}

fn acceptor(identity: &Path) -> Result<TlsAcceptor, Failure> {
    let text = fs::read(identity)?;
    let certificates = CertificateDer::pem_slice_iter(&text).collect::<Result<_, _>>()?;
    let key = PrivateKeyDer::from_pem_slice(&text)?;
    let provider = aws_lc_rs::default_provider();
    // The first random number of a process takes tens of milliseconds, which no contestant should wait for.
    let _ = provider.secure_random.fill(&mut [0]);
    let config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(certificates, key)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

async fn accept(
    listener: TcpListener,
    service: SocketAddr,
    acceptor: Option<TlsAcceptor>,
    connections: Arc<AtomicU64>,
) {
    loop {
        // The next connection may be accepted when this one was reset.
        let Ok((caller, _)) = listener.accept().await else {
            continue;
        };
        connections.fetch_add(1, Relaxed);
        // The contestant reports a call that failed because its connection was closed.
        tokio::spawn(pass(caller, service, acceptor.clone()));
    }
}

/// Passes bytes on until a side closes the connection.
async fn pass(mut caller: TcpStream, service: SocketAddr, acceptor: Option<TlsAcceptor>) -> io::Result<()> {
    caller.set_nodelay(true)?;
    let mut service = TcpStream::connect(service).await?;
    service.set_nodelay(true)?;
    match acceptor {
        Some(acceptor) => copy_bidirectional(&mut acceptor.accept(caller).await?, &mut service).await?,
        None => copy_bidirectional(&mut caller, &mut service).await?,
    };
    Ok(())
}

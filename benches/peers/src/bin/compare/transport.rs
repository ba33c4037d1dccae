//! How a contestant reaches the service.

use std::process::Stdio;

use peers::Failure;
use tokio::process::Command;

use crate::contestant::beside_this;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// HTTP.
    Direct,
    /// HTTP, through a proxy that counts connections.
    Http,
    /// TLS, through the same proxy.
    Tls,
}

/// The file with the certificate and the key of the proxy.
const IDENTITY: &str = "identity.pem";

impl Transport {
    pub const COUNTED: [Self; 2] = [Self::Http, Self::Tls];

    pub fn title(self) -> &'static str {
        match self {
            Self::Direct | Self::Http => "HTTP",
            Self::Tls => "TLS",
        }
    }

    /// Adds the arguments of both sides.
    pub fn arguments(self, service: &mut Command, contestant: &mut Command) {
        match self {
            Self::Direct => {}
            Self::Http => {
                service.arg("--proxy");
            }
            Self::Tls => {
                service.arg("--proxy").arg("--identity").arg(beside_this(IDENTITY));
                contestant.arg("--certificate").arg(beside_this(IDENTITY));
            }
        }
    }

    /// Makes the certificate of the proxy. Its key is of the kind that AWS has.
    pub async fn make_identity() -> Result<(), Failure> {
        let mut openssl = Command::new("openssl");
        openssl.args("req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost".split(' '));
        openssl.args("-addext subjectAltName=IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE".split(' '));
        let file = beside_this(IDENTITY);
        openssl.arg("-keyout").arg(&file).arg("-out").arg(&file);
        let made = openssl.stderr(Stdio::null()).status().await?;
        made.success()
            .then_some(())
            .ok_or_else(|| "openssl made no certificate".into())
    }
}

//! The proxy between a client and a scripted emulator, over real sockets.

mod alone;
mod connections;
mod emulator;
mod faults;
mod indexes;
#[cfg(unix)]
mod program;
mod queries;
mod queues_and_streams;
mod refusals;
mod reports;
mod tables;
mod wire;
mod writers;

use throttled_aws::{Config, Server};

use self::emulator::Emulator;
use self::wire::Connection;

/// A proxy in front of an emulator, and a connection to it.
struct Proxy {
    emulator: Emulator,
    server: Server,
}

impl Proxy {
    /// In front of an emulator that knows each table and each stream, with what the file says.
    async fn new(file: &str) -> Self {
        let emulator = Emulator::start().await;
        let config = Config::parse(file).unwrap();
        let server = Server::to(&emulator.url(), config, "127.0.0.1:0").await.unwrap();
        Self { emulator, server }
    }

    async fn connect(&self) -> Connection {
        Connection::to(&self.server.endpoint()).await
    }
}

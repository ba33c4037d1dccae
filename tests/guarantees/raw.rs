//! A service on a socket with scripted answers, down to the byte.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::tcp::ReadHalf;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// What the service does with a request after it was read: it answers with some bytes, and then …
#[derive(Debug, Clone)]
pub(crate) struct Does {
    pub(crate) answers: Vec<u8>,
    pub(crate) then: Then,
}

/// … does this with the connection.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Then {
    Keeps,
    Closes,
    Resets,
    Hangs,
}

/// The service. It accepts every request before it answers.
#[derive(Clone)]
pub(crate) struct Raw {
    pub(crate) url: String,
    taken: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicUsize>,
}

impl Raw {
    /// The function gets the number of the request, from 0, and its body. The service runs in a thread of its own, so that
    /// it outlives the runtimes of its clients.
    pub(crate) fn serving(chosen: impl Fn(usize, &str) -> Does + Send + Sync + 'static) -> Self {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        Self::accepting(listener, chosen)
    }

    fn accepting(
        listener: std::net::TcpListener,
        chosen: impl Fn(usize, &str) -> Does + Send + Sync + 'static,
    ) -> Self {
        let (taken, connections) = (Arc::default(), Arc::default());
        let service = Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            taken: Arc::clone(&taken),
            connections: Arc::clone(&connections),
        };
        let chosen = Arc::new(chosen);
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async move {
                let listener = TcpListener::from_std(listener).unwrap();
                loop {
                    let (connection, _) = listener.accept().await.unwrap();
                    connections.fetch_add(1, Ordering::Relaxed);
                    let (taken, chosen) = (Arc::clone(&taken), Arc::clone(&chosen));
                    tokio::spawn(async move { serve(connection, &taken, &*chosen).await });
                }
            });
        });
        service
    }

    /// The bodies of all requests that it has accepted.
    pub(crate) fn taken(&self) -> Vec<String> {
        self.taken.lock().unwrap().clone()
    }

    /// How many connections it has accepted.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

/// A port without a service: the system refuses each connection at once. It is bound, so that no other socket gets it meanwhile.
pub(crate) struct Refusing {
    pub(crate) url: String,
    socket: TcpSocket,
}

impl Refusing {
    pub(crate) fn new() -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let url = format!("http://{}", socket.local_addr().unwrap());
        Self { url, socket }
    }

    /// A service at this port from now on.
    pub(crate) fn serving(self, chosen: impl Fn(usize, &str) -> Does + Send + Sync + 'static) -> Raw {
        let listener = self.socket.listen(1_024).unwrap();
        Raw::accepting(listener.into_std().unwrap(), chosen)
    }
}

async fn serve<F>(mut connection: TcpStream, taken: &Mutex<Vec<String>>, chosen: &F)
where
    F: Fn(usize, &str) -> Does + Send + Sync + 'static,
{
    let mut resets = false;
    {
        let (reader, mut writer) = connection.split();
        let mut requests = BufReader::new(reader);
        while let Some(body) = request(&mut requests).await {
            let number = {
                let mut taken = taken.lock().unwrap();
                taken.push(body.clone());
                taken.len() - 1
            };
            let Does { answers, then } = chosen(number, &body);
            // The client may have closed the connection.
            _ = writer.write_all(&answers).await;
            _ = writer.flush().await;
            match then {
                Then::Keeps => {}
                Then::Closes => break,
                Then::Resets => {
                    resets = true;
                    break;
                }
                Then::Hangs => std::future::pending().await,
            }
        }
    }
    if resets {
        connection.set_zero_linger().unwrap();
    }
}

/// The body of the next request.
async fn request(requests: &mut BufReader<ReadHalf<'_>>) -> Option<String> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if requests.read_line(&mut line).await.unwrap_or(0) == 0 {
            return None;
        }
        if let Some(("content-length", value)) = line.to_lowercase().split_once(':') {
            length = value.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    requests.read_exact(&mut body).await.ok()?;
    Some(String::from_utf8(body).unwrap())
}

//! The proxy in front of the served simulator: its connections, their faults, and the result of each attempt.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::io::BufReader;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::conditions::Conditions;
use super::fault::Faults;
use super::http::{Head, Message};
use super::strike::serve;

/// The proxy's record of an attempt that arrived.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Arrived {
    /// The number of the batch call in the journal, if the service got it.
    pub(crate) call: Option<u64>,
    /// The answer is the service's own. Whether it arrived is known to the client alone.
    pub(crate) told: bool,
}

/// An order that concerns all connections.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Order {
    /// They end, and new ones are refused for this long.
    Stop(Duration),
    /// They end.
    Drop,
}

/// The connection to the service. It carries one call after another, so that the order of arrival is known and no call arrives
/// after the end of its client's connection was noticed.
struct Upstream {
    service: SocketAddr,
    connection: Option<BufReader<TcpStream>>,
    /// Batch calls that the service received.
    calls: u64,
}

/// The proxy. Clones share the state.
#[derive(Clone)]
pub(crate) struct Proxy {
    pub(crate) faults: Arc<Faults>,
    pub(crate) conditions: Conditions,
    upstream: Arc<tokio::sync::Mutex<Upstream>>,
    attempts: Arc<Mutex<HashMap<u64, Arrived>>>,
    arrivals: watch::Sender<u64>,
    open: Arc<AtomicUsize>,
}

impl Proxy {
    pub(crate) fn new(faults: Faults, conditions: Conditions, service: SocketAddr) -> Self {
        let upstream = Upstream {
            service,
            connection: None,
            calls: 0,
        };
        Self {
            faults: Arc::new(faults),
            conditions,
            upstream: Arc::new(tokio::sync::Mutex::new(upstream)),
            attempts: Arc::default(),
            arrivals: watch::Sender::new(0),
            open: Arc::default(),
        }
    }

    /// Accepts connections until it is dropped.
    pub(crate) async fn run(self, socket: TcpSocket, mut orders: mpsc::Receiver<Order>) {
        let address = socket.local_addr().expect("it is bound");
        let mut listener = listen(socket);
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = listener.accept() => {
                    // A connection may be reset before it is accepted.
                    if let Ok((client, _)) = accepted {
                        let proxy = self.clone();
                        self.open.fetch_add(1, Ordering::Relaxed);
                        let open = Open(Arc::clone(&self.open));
                        connections.spawn(async move {
                            let _open = open;
                            // It ends with an error if the client closes the connection.
                            _ = serve(client, &proxy).await;
                        });
                    }
                }
                Some(order) = orders.recv() => {
                    connections.shutdown().await;
                    self.settle().await;
                    if let Order::Stop(time) = order {
                        // The port stays bound, so that no other program gets it.
                        let reserved = bind(address);
                        drop(listener);
                        sleep(time).await;
                        listener = listen(reserved);
                    }
                }
                Some(_) = connections.join_next() => {}
            }
        }
    }

    /// A call has arrived. Returns its number.
    pub(crate) fn arrive(&self) -> u64 {
        let mut number = 0;
        self.arrivals.send_modify(|arrivals| {
            number = *arrivals;
            *arrivals += 1;
        });
        number
    }

    /// How many calls have arrived.
    pub(crate) fn arrivals(&self) -> watch::Receiver<u64> {
        self.arrivals.subscribe()
    }

    /// The round trip of a call.
    pub(crate) fn latency(&self, number: u64) -> Duration {
        let mut random = SmallRng::seed_from_u64(self.faults.seed.wrapping_add(number));
        Duration::from_micros(random.random_range(2_000..8_000))
    }

    /// Gets the answer of the service. It continues even if the client's connection ends.
    pub(crate) async fn forward(&self, request: Message, attempt: Option<u64>) -> Message {
        let proxy = self.clone();
        let answer = tokio::spawn(async move {
            let mut upstream = proxy.upstream.lock().await;
            let is_batch = request
                .head
                .header("x-amz-target")
                .is_some_and(|target| target.contains("Batch"));
            if is_batch {
                upstream.calls += 1;
                let call = upstream.calls;
                proxy.note(attempt, |arrived| arrived.call = Some(call));
            }
            upstream.answer(&request).await
        });
        answer.await.expect("the service answers")
    }

    /// The service has answered each call that it has received, although the client may be gone.
    pub(crate) async fn settle(&self) {
        drop(self.upstream.lock().await);
    }

    /// The answer of the service is about to be written: a client that has read it to the end may finish before the proxy does.
    pub(crate) fn told(&self, attempt: Option<u64>) {
        self.note(attempt, |arrived| arrived.told = true);
    }

    fn note(&self, attempt: Option<u64>, change: impl FnOnce(&mut Arrived)) {
        if let Some(attempt) = attempt {
            let mut attempts = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
            change(attempts.entry(attempt).or_default());
        }
    }

    /// The records of the attempts that have a number.
    pub(crate) fn attempts(&self) -> HashMap<u64, Arrived> {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Connections that are open.
    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }
}

impl Upstream {
    async fn answer(&mut self, request: &Message) -> Message {
        if self.connection.is_none() {
            let connection = TcpStream::connect(self.service).await.expect("the service listens");
            connection.set_nodelay(true).expect("a connection");
            self.connection = Some(BufReader::new(connection));
        }
        let connection = self.connection.as_mut().expect("it was made");
        request.write(connection).await.expect("the service reads");
        let head = Head::read(connection).await.expect("the service answers");
        let head = head.expect("the service answers");
        Message::after(head, connection).await.expect("the service answers")
    }
}

/// Counts a connection for as long as it is open.
struct Open(Arc<AtomicUsize>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A socket that does not listen yet.
pub(crate) fn bind(address: SocketAddr) -> TcpSocket {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_reuseport(true).expect("an option of sockets");
    socket.bind(address).expect("the address is free");
    socket
}

fn listen(socket: TcpSocket) -> TcpListener {
    socket.listen(1_024).expect("the socket is bound")
}

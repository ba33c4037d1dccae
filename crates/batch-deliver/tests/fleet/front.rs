//! All services of a fleet behind one address.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, LazyLock};
use std::thread::{self, JoinHandle};

use aws_batch_simulator::{Server, Simulator};
use futures::executor::block_on;
use tokio::runtime::Runtime;

use super::clock::Skew;
use super::http::{Request, Response};
use super::shared::{Shared, operation};
use super::worker::KEY;

/// What a heartbeat of a shard is answered that is no longer the worker's.
const LOST: &str = "TaskTimedOut";

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(1).enable_all().build().unwrap()
});

/// The tables and queues of a fleet.
pub(crate) struct Services(Server);

impl Services {
    #[expect(clippy::new_ret_no_self, reason = "fleets in one process make theirs here")]
    pub(crate) fn new() -> Simulator {
        let _within = RUNTIME.enter();
        Simulator::new(7)
    }

    #[expect(clippy::unused_async, reason = "fleets in one process wait for it")]
    pub(crate) async fn serve(simulator: &Simulator) -> Self {
        Self(RUNTIME.block_on(simulator.serve("127.0.0.1:0")).unwrap())
    }
}

pub(crate) struct Front {
    address: SocketAddr,
    pub(crate) shared: Arc<Shared>,
    is_closed: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

impl Front {
    /// Serves until it is dropped.
    pub(crate) fn serve(shared: Shared) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(shared);
        let is_closed = Arc::new(AtomicBool::new(false));
        let (served, closed) = (Arc::clone(&shared), Arc::clone(&is_closed));
        let accepting = thread::spawn(move || {
            thread::scope(|scope| {
                for stream in listener.incoming() {
                    if closed.load(SeqCst) {
                        return;
                    }
                    let (Ok(stream), served) = (stream, &served) else {
                        continue;
                    };
                    scope.spawn(move || serve(&stream, served));
                }
            });
        });
        Self {
            address,
            shared,
            is_closed,
            accepting: Some(accepting),
        }
    }

    /// Starts the program with these arguments, separated by blanks. Returns its number.
    pub(crate) fn start(&self, arguments: &str, skew: Skew) -> usize {
        let arguments = format!("{arguments} --endpoint-url http://{}", self.address);
        self.shared.workers.start(&arguments, skew)
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        self.shared.end.set();
        // No request is left then, and what the workers share is removed when this returns.
        self.shared.workers.kill_all();
        self.is_closed.store(true, SeqCst);
        // The thread that accepts connections looks at the next one.
        let _ = TcpStream::connect(self.address);
        let _ = self.accepting.take().map(JoinHandle::join);
    }
}

fn serve(stream: &TcpStream, shared: &Shared) {
    let Some(request) = Request::read(stream) else { return };
    let Some(worker) = worker(&request) else { return };
    let ended = shared.ledger().ended(worker);
    if let Some(response) = block_on(shared.respond(worker, &request)) {
        let is_written = write(stream, &response).is_ok();
        let is_beat = operation(&request) == "SendTaskHeartbeat";
        let says_lost = is_beat && String::from_utf8_lossy(&response.2).contains(LOST);
        if is_written && says_lost && is_read(stream) {
            shared.ledger().knows_loss(worker, ended, shared.clock.now());
        }
    }
}

/// Whether the program closes the connection by itself, which it does when it has read the answer.
fn is_read(mut stream: &TcpStream) -> bool {
    stream.shutdown(Shutdown::Write).is_ok() && matches!(stream.read(&mut [0]), Ok(0))
}

/// The worker that has signed the request.
fn worker(request: &Request) -> Option<usize> {
    let signed = request
        .header("authorization")?
        .split_once(&format!("Credential={KEY}"))?
        .1;
    signed.split('/').next()?.parse().ok()
}

fn write(mut stream: &TcpStream, Response(status, headers, body): &Response) -> io::Result<()> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status} -\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)
}

/// Sends a call to the simulator, and returns its answer.
pub(crate) async fn exchanged(Services(server): &Services, target: &str, body: &[u8]) -> io::Result<Response> {
    let address = server.address();
    let mut stream = TcpStream::connect(address)?;
    let length = body.len();
    let head = format!(
        "POST / HTTP/1.1\r\nhost: {address}\r\nx-amz-target: {target}\r\ncontent-type: application/x-amz-json-1.0\r\n\
         content-length: {length}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let cut_off = || io::Error::from(io::ErrorKind::UnexpectedEof);
    let end = answer
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .ok_or_else(cut_off)?;
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let (first, headers) = head.split_once("\r\n").unwrap_or((&head, ""));
    let status = first
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .ok_or_else(cut_off)?;
    let headers = headers.lines().filter(|line| {
        let name = line.split(':').next().unwrap_or_default();
        !["content-length", "connection", "transfer-encoding"].contains(&name)
    });
    let headers = headers.flat_map(|line| [line, "\r\n"]).collect();
    Ok(Response(status, headers, answer[end + 4..].to_vec()))
}

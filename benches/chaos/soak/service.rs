//! The service in a process of its own, and the commands that start its outages.

use std::env;
use std::io::{BufRead, BufReader, Write, stdin};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use aws_batch_simulator::{KeyType, QueueOptions, Simulator, TableOptions};
use tokio::runtime::Builder;
use tokio::sync;

use crate::chaos::conditions::Conditions;
use crate::chaos::fault::{CallFault, Faults, Outage};
use crate::chaos::served::{NAME, Resource, begin, front};

/// The faults that are active all the time.
fn faults(seed: u64) -> Faults {
    Faults {
        seed,
        calls: vec![
            (0.01, CallFault::ResetWithinRequest),
            (0.01, CallFault::Reset { applied: false }),
            (0.01, CallFault::Reset { applied: true }),
            (0.01, CallFault::HalfAnswer),
            (0.02, CallFault::SlowAnswer(Duration::from_millis(80))),
            (0.003, CallFault::Hang { applied: false }),
            (0.003, CallFault::Hang { applied: true }),
            (0.01, CallFault::Garbage { applied: true }),
            (0.01, CallFault::Noise { applied: false }),
            (0.01, CallFault::Error { applied: false }),
            (0.01, CallFault::Error { applied: true }),
            (0.01, CallFault::Unavailable { applied: false }),
        ],
        rejected: 0.02,
        throttled: 0.02,
        capacity: None,
        outages: Vec::new(),
    }
}

/// The service, as the client sees it.
pub(crate) struct Remote {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
    pub(crate) port: u16,
    /// The table, the queue, and the FIFO queue.
    pub(crate) destinations: [String; 3],
}

impl Remote {
    /// Starts this program once more, as the service.
    pub(crate) fn start(seed: u64) -> Self {
        let program = env::current_exe().expect("the path of this program");
        let mut child = Command::new(program)
            .args(["--serve", &seed.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the service starts");
        let orders = child.stdin.take().expect("it is piped");
        let mut answers = BufReader::new(child.stdout.take().expect("it is piped"));
        let port = line(&mut answers).parse().expect("a port");
        let destinations = [0; 3].map(|_| line(&mut answers));
        Self {
            child,
            orders,
            answers,
            port,
            destinations,
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn begin(&mut self, outage: Outage, lasting: Duration) {
        let place = Outage::ALL
            .iter()
            .position(|other| *other == outage)
            .expect("one of all");
        writeln!(self.orders, "{place} {}", lasting.as_millis()).expect("the service runs");
    }

    /// How many connections are open.
    pub(crate) fn open(&mut self) -> usize {
        writeln!(self.orders, "open").expect("the service runs");
        line(&mut self.answers).parse().expect("a number")
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn line(answers: &mut BufReader<ChildStdout>) -> String {
    let mut line = String::new();
    answers.read_line(&mut line).expect("the service answers");
    line.trim().to_owned()
}

/// Runs the service until the standard input ends.
pub(crate) fn serve(seed: u64) {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let simulator = Simulator::new(seed);
        let queue = |name: &str| Resource::Queue(simulator.queue(name, QueueOptions::default().counts_only()));
        let resources = [
            Resource::Table(simulator.table(NAME, TableOptions::key("id", KeyType::S))),
            queue(NAME),
            queue(&format!("{NAME}.fifo")),
        ];
        let conditions = Conditions::default();
        let server = simulator.serve("127.0.0.1:0").await.expect("a free port");
        let (proxy, port, orders) = front(server.address(), Some(server), faults(seed), conditions);
        for resource in &resources {
            resource.set_faults(&proxy.faults, proxy.faults.rejected, proxy.faults.throttled);
        }
        println!("{port}");
        for resource in &resources {
            println!("{}", resource.destination());
        }
        let mut lines = lines();
        while let Some(line) = lines.recv().await {
            if line == "open" {
                println!("{}", proxy.open());
                continue;
            }
            let (place, millis) = line.split_once(' ').expect("an outage and its time");
            let outage = Outage::ALL[place.parse::<usize>().expect("a place")];
            let lasting = Duration::from_millis(millis.parse().expect("milliseconds"));
            // Not waited for, so that outages may overlap.
            let (proxy, resources, orders) = (proxy.clone(), resources.clone(), orders.clone());
            tokio::spawn(async move { begin(&proxy, &resources, &orders, outage, lasting).await });
        }
    });
}

/// The lines of the standard input, which can only be read by a thread that blocks.
fn lines() -> sync::mpsc::UnboundedReceiver<String> {
    let (sender, lines) = sync::mpsc::unbounded_channel();
    thread::spawn(move || {
        for line in stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

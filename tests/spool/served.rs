//! A FIFO queue over HTTP, in a thread of its own.

use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use aws_batch_simulator::{Capacity, Faults, Queue, QueueOptions, Simulator};
use tokio::sync::oneshot;

/// A FIFO queue over HTTP. It ends when this is dropped.
pub(crate) struct Served {
    pub(crate) queue: Queue,
    pub(crate) endpoint: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    pub(crate) fn start(capacity: f64, faults: Faults) -> Self {
        let (stop, stopped) = oneshot::channel();
        let (sender, receiver) = mpsc::channel();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                let simulator = Simulator::new(7);
                let options = QueueOptions::default().capacity(Capacity::per_second(capacity).burst(capacity / 10.0));
                let queue = simulator.queue("orders.fifo", options);
                queue.set_faults(faults);
                let server = simulator.serve("127.0.0.1:0").await.unwrap();
                sender.send((queue, server.endpoint())).unwrap();
                let _ = stopped.await;
            });
        });
        let (queue, endpoint) = receiver.recv().unwrap();
        Self {
            queue,
            endpoint,
            stop: Some(stop),
            thread: Some(thread),
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.stop.take());
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(thread::panicking() || matches!(ended, Some(Ok(()))));
    }
}

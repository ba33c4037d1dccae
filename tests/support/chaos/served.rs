//! The simulator and the proxy in front of it, in a thread of their own.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use aws_batch_simulator::{
    Capacity, InjectedFault, KeyType, Queue, QueueOptions, Record, Server, Simulator, Table, TableOptions, Value,
};
use tokio::runtime;
use tokio::sync;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::check::Entered;
use super::conditions::Conditions;
use super::fault::{Faults, Outage, Scheduled};
use super::limited::Limited;
use super::load::Load;
use super::mix::Service;
use super::proxy::{Arrived, Order, Proxy, bind};
use super::witness::Attempt;

/// The name of the table, and of the queue but for its suffix.
pub(crate) const NAME: &str = "orders";

/// The name of the other table of transactions.
pub(crate) const STOCK: &str = "stock";

const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// The table or queue of a mix.
#[derive(Clone)]
pub(crate) enum Resource {
    Table(Table),
    /// The table of single writes, and the other one of transactions.
    Tables([Table; 2]),
    Queue(Queue),
    /// In an emulator behind `throttled-aws`.
    Limited(Limited),
}

impl Resource {
    pub(crate) fn of(simulator: &Simulator, service: Service, capacity: Option<f64>) -> Self {
        let capacity = capacity.map_or_else(Capacity::unlimited, |rate| {
            Capacity::per_second(rate).burst(rate / 10.0)
        });
        match service {
            Service::Table => {
                let options = TableOptions::key("id", KeyType::S).capacity(capacity);
                Self::Table(simulator.table(NAME, options))
            }
            Service::Writes => Self::Tables([NAME, STOCK].map(|name| {
                let options = TableOptions::key("id", KeyType::S).capacity(capacity);
                simulator.table(name, options)
            })),
            Service::Queue => Self::Queue(simulator.queue(NAME, QueueOptions::default().capacity(capacity))),
            Service::Fifo => {
                let name = format!("{NAME}.fifo");
                Self::Queue(simulator.queue(&name, QueueOptions::default().capacity(capacity)))
            }
        }
    }

    /// Sets the shares of entries that are rejected and of calls that are throttled, whatever the pace.
    pub(crate) fn set_faults(&self, faults: &Faults, rejected: f64, throttled: f64) {
        let is_internal = faults.rejections_are_internal();
        if let Self::Limited(limited) = self {
            return limited.set_faults(is_internal, rejected, throttled);
        }
        let code = match self {
            _ if is_internal => "InternalError",
            Self::Tables(_) => "TransactionConflict",
            _ => "RequestThrottled",
        };
        let faults = aws_batch_simulator::Faults::none()
            .failed(rejected, code, !is_internal)
            .calls(throttled, InjectedFault::Throttle);
        match self {
            Self::Table(table) => table.set_faults(faults),
            Self::Tables(tables) => tables.iter().for_each(|table| table.set_faults(faults.clone())),
            Self::Queue(queue) => queue.set_faults(faults),
            Self::Limited(_) => unreachable!("it has its own"),
        }
    }

    fn keep_journal(&self) {
        match self {
            Self::Table(table) => table.keep_journal(),
            Self::Tables(tables) => tables.iter().for_each(Table::keep_journal),
            Self::Queue(queue) => queue.keep_journal(),
            Self::Limited(_) => {}
        }
    }

    /// What became of each entry of each call of a batch.
    pub(crate) fn entered(&self, load: &Load, attempts: &[Attempt], arrived: &HashMap<u64, Arrived>) -> Vec<Entered> {
        match self {
            Self::Limited(limited) => limited.entered(load, attempts, arrived),
            // Their calls have one entry each, of which the journal has more.
            Self::Tables(_) => Vec::new(),
            Self::Table(_) | Self::Queue(_) => {
                let entered = |record: Record| Entered {
                    call: record.call,
                    number: load.number_on_wire(&record.entry()),
                    applied: record.acknowledgement().is_applied(),
                };
                self.journal().into_iter().map(entered).collect()
            }
        }
    }

    pub(crate) fn journal(&self) -> Vec<Record> {
        match self {
            Self::Table(table) => table.journal(),
            // No key is in both.
            Self::Tables(tables) => tables.iter().flat_map(Table::journal).collect(),
            Self::Queue(queue) => queue.journal(),
            Self::Limited(_) => Vec::new(),
        }
    }

    /// Calls that were refused because of their contents.
    pub(crate) fn refused_calls(&self) -> u64 {
        match self {
            Self::Table(table) => table.statistics().refused_calls,
            Self::Tables(tables) => tables.iter().map(|table| table.statistics().refused_calls).sum(),
            Self::Queue(queue) => queue.statistics().refused_calls,
            Self::Limited(limited) => limited.refused(),
        }
    }

    /// The items of a table in any order, or the messages of a queue in order.
    pub(crate) fn stored(&self) -> Vec<Value> {
        match self {
            Self::Table(table) => table.items(),
            Self::Tables(tables) => tables.iter().flat_map(Table::items).collect(),
            Self::Queue(queue) => {
                let body = |body: String| aws_batch_simulator::json!({ "MessageBody": body });
                queue.messages().into_iter().map(|message| body(message.body)).collect()
            }
            Self::Limited(limited) => limited.stored(),
        }
    }

    /// The name to write to, or the URL to send to.
    pub(crate) fn destination(&self) -> String {
        match self {
            Self::Table(table) | Self::Tables([table, _]) => table.name().to_owned(),
            Self::Queue(queue) => queue.url(),
            Self::Limited(limited) => limited.destination.clone(),
        }
    }
}

/// The service behind its proxy. It ends when this is dropped.
pub(crate) struct Served {
    pub(crate) resource: Resource,
    pub(crate) proxy: Proxy,
    pub(crate) conditions: Conditions,
    pub(crate) port: u16,
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    /// Serves one table or queue of the simulator with these faults, and keeps a journal.
    pub(crate) fn start(service: Service, faults: &Faults) -> Self {
        let seed = faults.seed;
        let capacity = faults.capacity;
        Self::of(faults, async move || {
            let simulator = Simulator::new(seed);
            let resource = Resource::of(&simulator, service, capacity);
            resource.keep_journal();
            let server = simulator.serve(LOOPBACK).await.expect("a free port");
            (resource, server.address(), Some(server))
        })
    }

    /// Serves one table or queue of an emulator behind `throttled-aws`, which listens here.
    pub(crate) fn behind(throttled_aws: SocketAddr, service: Service, faults: &Faults) -> Self {
        let limited = Limited::create(throttled_aws, service, faults);
        Self::of(faults, async move || (Resource::Limited(limited), throttled_aws, None))
    }

    fn of<S>(faults: &Faults, serve: S) -> Self
    where
        S: AsyncFnOnce() -> (Resource, SocketAddr, Option<Server>) + Send + 'static,
    {
        let (stop, conditions) = (CancellationToken::new(), Conditions::default());
        let (sender, receiver) = mpsc::channel();
        let thread = {
            let (stop, conditions, faults) = (stop.clone(), conditions.clone(), faults.clone());
            thread::spawn(move || {
                let runtime = runtime::Builder::new_current_thread().enable_all().build();
                runtime.expect("a runtime").block_on(async {
                    let (resource, service, server) = serve().await;
                    let (proxy, port, orders) = front(service, server, faults, conditions);
                    let outages = begin_each(proxy.clone(), resource.clone(), orders);
                    sender.send((resource, proxy.clone(), port)).expect("it is waited for");
                    tokio::select! {
                        () = stop.cancelled() => {}
                        () = outages => unreachable!("it waits when all have begun"),
                    }
                });
            })
        };
        let (resource, proxy, port) = receiver.recv().expect("the service starts");
        Self {
            resource,
            proxy,
            conditions,
            port,
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join)
            && !thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

/// A proxy in front of a service, as tasks of the current runtime. Returns the port of the proxy, and a channel for its orders. The
/// server is dropped with the proxy.
pub(crate) fn front(
    service: SocketAddr,
    server: Option<Server>,
    faults: Faults,
    conditions: Conditions,
) -> (Proxy, u16, sync::mpsc::Sender<Order>) {
    let proxy = Proxy::new(faults, conditions, service);
    let socket = bind(LOOPBACK);
    let port = socket.local_addr().expect("it is bound").port();
    let (orders, given) = sync::mpsc::channel(1);
    let running = proxy.clone();
    tokio::spawn(async move {
        let _server = server;
        running.run(socket, given).await;
    });
    (proxy, port, orders)
}

/// Begins each outage when it is due. Never returns.
async fn begin_each(proxy: Proxy, resource: Resource, orders: sync::mpsc::Sender<Order>) {
    let faults = std::sync::Arc::clone(&proxy.faults);
    resource.set_faults(&faults, faults.rejected, faults.throttled);
    let mut arrivals = proxy.arrivals();
    for Scheduled {
        outage,
        after_calls,
        lasting,
    } in &faults.outages
    {
        let due = arrivals.wait_for(|arrivals| arrivals >= after_calls).await;
        due.expect("the proxy is there");
        begin(&proxy, std::slice::from_ref(&resource), &orders, *outage, *lasting).await;
    }
    std::future::pending::<()>().await;
}

/// Begins an outage. An outage that uses the simulator's faults is over when this returns.
pub(crate) async fn begin(
    proxy: &Proxy,
    resources: &[Resource],
    orders: &sync::mpsc::Sender<Order>,
    outage: Outage,
    lasting: Duration,
) {
    let faults = &proxy.faults;
    proxy.conditions.begin(outage, lasting);
    let order = match outage {
        Outage::Stopped => Some(Order::Stop(lasting)),
        Outage::Unresolved => Some(Order::Drop),
        _ => None,
    };
    if let Some(order) = order {
        orders.send(order).await.expect("the proxy runs");
    }
    let (rejected, throttled) = match outage {
        Outage::Rejections => (0.9, faults.throttled),
        Outage::Throttles => (faults.rejected, 1.0),
        _ => return,
    };
    let set = |rejected, throttled| {
        let each = |resource: &Resource| resource.set_faults(faults, rejected, throttled);
        resources.iter().for_each(each);
    };
    set(rejected, throttled);
    sleep(lasting).await;
    set(faults.rejected, faults.throttled);
}

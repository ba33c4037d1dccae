//! All services of a fleet, in the place of the SDK's HTTP client.

use std::fmt;
use std::future::pending;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_batch_simulator::Simulator;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider};
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::time::{sleep, timeout};

use super::clock::{Skew, TimeOfDay};
use super::faults::Service;
use super::http::{Request, Response};
use super::shared::{Shared, operation, service};
use super::trace;

/// What a heartbeat of a shard is answered that is no longer the worker's.
const LOST: &str = "TaskTimedOut";

/// How often it is looked whether a worker is still frozen.
const LOOK: Duration = Duration::from_millis(50);

/// The tables and queues of a fleet.
pub(crate) struct Services(SharedHttpConnector);

impl Services {
    #[expect(clippy::new_ret_no_self, reason = "fleets of processes make theirs here")]
    pub(crate) fn new() -> Simulator {
        Simulator::new(7)
    }

    /// The connector of a client of the simulator.
    pub(crate) async fn serve(simulator: &Simulator) -> Self {
        let taken = Taken {
            client: simulator.http_client(),
            connector: Arc::default(),
        };
        let config = simulator
            .dynamo_client()
            .config()
            .to_builder()
            .http_client(taken.clone());
        let client = aws_sdk_dynamodb::Client::from_conf(config.build());
        // Whatever it answers: the first call makes the connector.
        let _ = client.describe_table().table_name("none").send().await;
        let connector = taken.connector.lock().unwrap().take();
        Self(connector.expect("a call makes a connector"))
    }
}

/// A client that keeps the connector that it makes.
#[derive(Debug, Clone)]
struct Taken {
    client: SharedHttpClient,
    connector: Arc<Mutex<Option<SharedHttpConnector>>>,
}

impl HttpClient for Taken {
    fn http_connector(&self, settings: &HttpConnectorSettings, components: &RuntimeComponents) -> SharedHttpConnector {
        let connector = self.client.http_connector(settings, components);
        *self.connector.lock().unwrap() = Some(connector.clone());
        connector
    }
}

pub(crate) struct Front {
    pub(crate) shared: Arc<Shared>,
    latency: Arc<Mutex<SmallRng>>,
}

impl Front {
    pub(crate) fn serve(shared: Shared) -> Self {
        Self {
            shared: Arc::new(shared),
            // It is the fleet's own: the seed decides the random numbers of its thread.
            latency: Arc::new(Mutex::new(SmallRng::seed_from_u64(rand::random()))),
        }
    }

    /// Starts the program with these arguments, separated by blanks. Returns its number.
    pub(crate) fn start(&self, arguments: &str, skew: Skew) -> usize {
        let config = |worker| {
            let client = WorkerClient {
                worker,
                shared: Arc::clone(&self.shared),
                latency: Arc::clone(&self.latency),
            };
            let credentials = Credentials::new("fleet", "fleet", None, None, "fleet");
            SdkConfig::builder()
                .behavior_version(BehaviorVersion::latest())
                .region(Region::from_static("us-east-1"))
                .credentials_provider(SharedCredentialsProvider::new(credentials))
                .endpoint_url("http://fleet.test")
                .time_source(TimeOfDay::new(self.shared.clock, skew))
                .http_client(client)
                .build()
        };
        self.shared.workers.start(arguments, config)
    }
}

/// The HTTP client of a worker.
#[derive(Clone)]
struct WorkerClient {
    worker: usize,
    shared: Arc<Shared>,
    latency: Arc<Mutex<SmallRng>>,
}

impl fmt::Debug for WorkerClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerClient")
            .field("worker", &self.worker)
            .finish_non_exhaustive()
    }
}

impl HttpClient for WorkerClient {
    fn http_connector(&self, settings: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(WorkerConnector {
            client: self.clone(),
            read_timeout: settings.read_timeout(),
        })
    }
}

#[derive(Debug)]
struct WorkerConnector {
    client: WorkerClient,
    /// The SDK leaves this timeout to the connector.
    read_timeout: Option<Duration>,
}

impl HttpConnector for WorkerConnector {
    fn call(&self, mut request: HttpRequest) -> HttpConnectorFuture {
        let client = self.client.clone();
        let read_timeout = self.read_timeout.unwrap_or(Duration::MAX);
        HttpConnectorFuture::new(async move {
            // As a connection does: the SDK ends a call whose body is not read for five seconds.
            let body = ByteStream::new(request.take_body()).collect().await;
            let body = body.map_err(|error| ConnectorError::other(error.into(), None))?;
            *request.body_mut() = SdkBody::from(body.into_bytes());
            let answered = timeout(read_timeout, client.answer(&request)).await;
            answered.unwrap_or_else(|elapsed| Err(ConnectorError::timeout(elapsed.into())))
        })
    }
}

impl WorkerClient {
    /// Half of the time that a request takes: mostly tens of milliseconds.
    fn half_latency(&self) -> Duration {
        let mut random = self.latency.lock().unwrap();
        let most = if random.random_bool(0.03) { 400 } else { 20 };
        Duration::from_millis(random.random_range(1..most))
    }

    async fn answer(&self, request: &HttpRequest) -> Result<HttpResponse, ConnectorError> {
        let (worker, shared) = (self.worker, &self.shared);
        let request = received(request);
        self.runs().await;
        sleep(self.half_latency()).await;
        let ended = shared.ledger().ended(worker);
        let is_beat = operation(&request) == "SendTaskHeartbeat";
        let unheard = Unheard {
            worker,
            shared,
            is_of_destination: service(&request) == Service::Destination,
        };
        // A service goes on when the worker no longer waits.
        let answer = tokio::spawn(respond(Arc::clone(shared), worker, request));
        let answer = answer
            .await
            .map_err(|error| ConnectorError::other(error.into(), None))?;
        sleep(self.half_latency()).await;
        self.runs().await;
        unheard.heard();
        let Some(Response(status, headers, body)) = answer else {
            let reset = io::Error::new(io::ErrorKind::ConnectionReset, "the connection is reset");
            return Err(ConnectorError::io(reset.into()));
        };
        if is_beat && String::from_utf8_lossy(&body).contains(LOST) {
            shared.ledger().knows_loss(worker, ended, shared.clock.now());
        }
        let status = StatusCode::try_from(status).map_err(|error| ConnectorError::other(error.into(), None))?;
        let mut response = HttpResponse::new(status, SdkBody::from(body));
        for (name, value) in headers.lines().filter_map(|line| line.split_once(": ")) {
            response.headers_mut().insert(name.to_owned(), value.to_owned());
        }
        Ok(response)
    }

    /// Waits while the worker is frozen, and for ever when it was killed.
    async fn runs(&self) {
        let workers = &self.shared.workers;
        while workers.all()[self.worker].freezes > 0 {
            sleep(LOOK).await;
        }
        if workers.was_killed(self.worker) {
            pending::<()>().await;
        }
    }
}

/// A request for whose answer its worker may not wait long enough. Then it does not know what it has delivered.
struct Unheard<'a> {
    worker: usize,
    shared: &'a Shared,
    is_of_destination: bool,
}

impl Unheard<'_> {
    fn heard(mut self) {
        self.is_of_destination = false;
    }
}

impl Drop for Unheard<'_> {
    fn drop(&mut self) {
        if self.is_of_destination && !self.shared.workers.was_killed(self.worker) {
            *self.shared.in_doubt.lock().unwrap() += 1;
            self.shared.ledger().is_in_doubt = true;
        }
    }
}

/// The answer of the services.
async fn respond(shared: Arc<Shared>, worker: usize, request: Request) -> Option<Response> {
    let name = named(&request);
    trace::note(|| format!("worker {worker} asks {name} {:08x}", crc32fast::hash(body_of(&request))));
    let answer = shared.respond(worker, &request).await;
    trace::note(|| match &answer {
        Some(Response(status, _, body)) => {
            format!(
                "worker {worker} {name} is answered {status} {:08x}",
                crc32fast::hash(body)
            )
        }
        None => format!("worker {worker} {name} has no answer"),
    });
    answer
}

fn received(request: &HttpRequest) -> Request {
    let uri = request.uri();
    let target = uri.split_once("://").map_or(uri, |(_, rest)| rest);
    let target = target.find('/').map_or("/", |path| &target[path..]);
    let headers = request.headers().iter().map(|(name, value)| format!("{name}: {value}"));
    Request {
        method: request.method().to_owned(),
        target: target.to_owned(),
        headers: headers.collect(),
        body: request.body().bytes().unwrap_or_default().to_vec(),
    }
}

/// What a request asks for.
fn named(request: &Request) -> String {
    match operation(request) {
        "" => {
            let condition = ["if-match", "if-none-match", "range"].map(|name| request.header(name).unwrap_or_default());
            format!("{} {} {}", request.method, request.target, condition.join(" "))
        }
        operation => operation.to_owned(),
    }
}

/// The body without what identifies the process.
fn body_of(request: &Request) -> &[u8] {
    if operation(request) == "GetActivityTask" {
        &[]
    } else {
        &request.body
    }
}

/// Sends a call to the simulator, and returns its answer.
pub(crate) async fn exchanged(Services(connector): &Services, target: &str, body: &[u8]) -> io::Result<Response> {
    let mut request = HttpRequest::new(SdkBody::from(body));
    request.set_method("POST").map_err(io::Error::other)?;
    request.set_uri("http://simulator.test/").map_err(io::Error::other)?;
    request.headers_mut().insert("x-amz-target", target.to_owned());
    let answer = connector.call(request).await.map_err(io::Error::other)?;
    let headers = answer
        .headers()
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"));
    let body = answer.body().bytes().unwrap_or_default().to_vec();
    Ok(Response(answer.status().as_u16(), headers.collect(), body))
}

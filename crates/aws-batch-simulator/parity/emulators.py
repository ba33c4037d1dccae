"""Starts the simulator and the emulators that its queues and streams are compared with, and calls them over HTTP.

The emulators come from npm, Maven and PyPI into the cache, once, and listen until they are closed.
"""

import argparse
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "aws-batch-delivery")

ELASTICMQ, FAUXQS, KINESALITE, KINESIS_LOCAL = "1.6.14", "2.4.1", "3.3.3", "0.6.2"
POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>parity</groupId><artifactId>elasticmq</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.elasticmq</groupId><artifactId>elasticmq-server_2.13</artifactId><version>{ELASTICMQ}</version>
    </dependency>
  </dependencies>
</project>
"""


def close_when_told():
    """SIGTERM ends the program as an error does, so that what it has started is closed."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("told to end"))


class Missing(Exception):
    """An emulator cannot be had on this machine."""


def arguments(cases):
    """What both comparisons are given: the simulator, a seed, and how many cases."""
    parser = argparse.ArgumentParser()
    parser.add_argument("simulator")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=cases)
    return parser.parse_args()


def started(stack, simulator, kinds):
    """The simulator, and those emulators that can be had on this machine, until the stack is closed."""
    systems = [stack.enter_context(Simulator(simulator))]
    for start in kinds:
        try:
            systems.append(stack.enter_context(start()))
        except Missing as reason:
            print(f"skipped: {start.__name__}: {reason}")
    return systems


def fetched(name, fill):
    """The folder of this name in the cache. `fill` puts the emulator into it, unless an earlier run has."""
    folder = CACHE / name
    if not folder.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f"{name}.", dir=CACHE))
        try:
            fill(partial)
            partial.rename(folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return folder


def run(program, *arguments):
    if shutil.which(program) is None:
        raise Missing(f"{program} is missing")
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Missing(f"{program} has failed: {(done.stderr or done.stdout).strip()[-300:]}")


def from_npm(name, version):
    def fill(folder):
        # Without the install scripts: they build a store on disk, and these live in memory.
        options = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts"]
        run("npm", "install", "--prefix", folder, *options, f"{name}@{version}")

    if shutil.which("node") is None:
        raise Missing("node is missing")
    return fetched(f"{name}-{version}", fill)


def elasticmq_jars(folder):
    (folder / "pom.xml").write_text(POM)
    goal = "org.apache.maven.plugins:maven-dependency-plugin:3.7.1:copy-dependencies"
    options = ["--batch-mode", "--no-transfer-progress", "--file", folder / "pom.xml"]
    run("mvn", *options, goal, "-DincludeScope=runtime", f"-DoutputDirectory={folder}")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Server:
    """An emulator, or the simulator. Closes its process at the end of a `with`."""

    def __init__(self, name, port, command, environment=None, folder=None):
        self.name, self.port, self.connection = name, port, None
        # What it writes into its temporary folder goes with it.
        self.folder = tempfile.mkdtemp(prefix=f"{name}.", dir=CACHE)
        command = [str(part).replace("{folder}", self.folder) for part in command]
        environment = {**os.environ, "TMPDIR": self.folder, **(environment or {})}
        log = Path(self.folder, "log").open("w")
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT
        )
        log.close()
        self.wait()

    def wait(self):
        deadline = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                if self.process.poll() is None and time.monotonic() < deadline:
                    time.sleep(0.1)
                    continue
                log = Path(self.folder, "log").read_text()
                self.close()
                raise Missing(f"{self.name} does not start: {log[-300:]}") from None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def call(self, target, request, connection=None):
        """The status and the answer of a call in the JSON protocol. `target` is the service and the operation."""
        service = "sqs" if target.startswith("AmazonSQS") else "kinesis"
        scope = f"test/20260101/us-east-1/{service}/aws4_request"
        headers = {
            "Content-Type": f"application/x-amz-json-{'1.0' if service == 'sqs' else '1.1'}",
            "X-Amz-Target": target,
            "X-Amz-Date": "20260101T000000Z",
            "Authorization": f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=00",
        }
        own = connection is None
        if own:
            self.connection = connection = self.connection or self.connect()
        # A server may have closed a connection after an earlier answer.
        for is_last in (False, True):
            try:
                connection.request("POST", "/", json.dumps(request).encode(), headers)
                response = connection.getresponse()
                status, text = response.status, response.read()
                break
            except (http.client.HTTPException, OSError):
                connection.close()
                if is_last or not own:
                    # So it refuses a request that is too large.
                    return 0, {"__type": "ConnectionClosed"}
        try:
            return status, json.loads(text or b"{}")
        except ValueError:
            return status, {"__type": "NoJson"}


class Simulator(Server):
    """The program `parity` of this folder."""

    def __init__(self, program):
        self.name, self.connection = "simulator", None
        self.folder = None
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().strip().rpartition(":")[2])

    def ask(self, line):
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def create(self, **request):
        if (answer := self.ask(request)) != "created":
            raise ValueError(f"the simulator has {answer}: {request}")

    def records(self, stream):
        return json.loads(self.ask({"RecordsOf": stream}))

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=10)


def elasticmq():
    jars, port = fetched(f"elasticmq-{ELASTICMQ}", elasticmq_jars), free_port()
    if shutil.which("java") is None:
        raise Missing("java is missing")
    settings = {
        "java.io.tmpdir": "{folder}",
        "node-address.host": "127.0.0.1",
        "node-address.port": port,
        "rest-sqs.bind-hostname": "127.0.0.1",
        "rest-sqs.bind-port": port,
        "rest-stats.enabled": "false",
    }
    options = [f"-D{name}={value}" for name, value in settings.items()]
    return Server("elasticmq", port, ["java", *options, "-cp", f"{jars}/*", "org.elasticmq.server.Main"])


def served(name, version):
    folder, port = from_npm(name, version), free_port()
    return Server(name, port, ["node", HERE / "serve.mjs", folder, name, port])


def fauxqs():
    return served("fauxqs", FAUXQS)


def kinesalite():
    return served("kinesalite", KINESALITE)


def kinesis_local():
    folder = from_npm("kinesis-local", KINESIS_LOCAL) / "node_modules" / "kinesis-local"
    port = free_port()
    settings = {
        "KINESIS_MOCK_PLAIN_PORT": str(port),
        "KINESIS_MOCK_TLS_PORT": str(free_port()),
        "CREATE_STREAM_DURATION": "1ms",
        "DELETE_STREAM_DURATION": "1ms",
        "SHARD_LIMIT": "1000000",
        "LOG_LEVEL": "ERROR",
    }
    return Server("kinesis-local", port, ["node", "main.js"], settings, folder)


def localstack():
    """The one that `localstack/up` installs: its tests of SQS were recorded on the service."""
    python = next(CACHE.glob("localstack-*-python*/bin/python"), None)
    if python is None:
        raise Missing("localstack/up has not installed LocalStack")
    port = free_port()
    settings = {
        "SERVICES": "sqs",
        "GATEWAY_LISTEN": f"127.0.0.1:{port}",
        "LOCALSTACK_HOST": f"127.0.0.1:{port}",
        "SQS_ENDPOINT_STRATEGY": "path",
        "OVERRIDE_IN_DOCKER": "0",
        "DNS_ADDRESS": "0",
        "DISABLE_EVENTS": "1",
        "SKIP_SSL_CERT_DOWNLOAD": "1",
    }
    serve = HERE.parents[2] / "localstack" / "serve.py"
    command = ["sh", "-c", f'FILESYSTEM_ROOT="{{folder}}" exec "{python}" "{serve}"']
    return Server("localstack", port, command, settings)

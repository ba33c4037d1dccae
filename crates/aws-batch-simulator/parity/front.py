"""The simulator over HTTP, with the tables that a client creates.

The simulator has no operation that creates a table: its tables are made by the program it runs in. For a suite that creates its own,
this front answers CreateTable, DeleteTable and ListTables, and hands every other call to the simulator unchanged.
"""

import http.client
import json
import re
import subprocess
import threading
import urllib.parse
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NOT_FOUND = {
    "__type": "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException",
    "message": "Requested resource not found",
}
IN_USE = {
    "__type": "com.amazonaws.dynamodb.v20120810#ResourceInUseException",
    "message": "Table already exists",
}
INVALID = {
    "__type": "com.amazon.coral.validate#ValidationException",
    "message": "The simulator cannot have such a table",
}
# Tables of the simulator may have other names, those of the service not.
NAME = re.compile("[a-zA-Z0-9_.-]{3,255}")
# Headers that belong to one connection.
HOP_BY_HOP = {"connection", "content-length", "date", "keep-alive", "transfer-encoding"}


class Front:
    """Starts the simulator, and serves it until `close`."""

    def __init__(self, program):
        self.simulator = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.address = urllib.parse.urlsplit(self.simulator.stdout.readline().strip()).netloc
        self.tables = set()
        self.lock = threading.Lock()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler(self))
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def close(self):
        self.server.shutdown()
        self.simulator.stdin.close()
        self.simulator.wait(timeout=10)

    def answer(self, operation, body):
        """The status and the answer of a call that the front answers itself, or None."""
        name = body.get("TableName", "")
        with self.lock:
            if operation == "CreateTable":
                if name in self.tables:
                    return 400, IN_USE
                if not NAME.fullmatch(name):
                    return 400, INVALID
                self.simulator.stdin.write(json.dumps(body) + "\n")
                self.simulator.stdin.flush()
                if self.simulator.stdout.readline().strip() != "created":
                    return 400, INVALID
                self.tables.add(name)
                return 200, {"TableDescription": {"TableName": name, "TableStatus": "ACTIVE"}}
            if operation == "ListTables":
                return 200, {"TableNames": sorted(self.tables)}
            if operation == "DeleteTable":
                if name not in self.tables:
                    return 400, NOT_FOUND
                self.tables.remove(name)
                return 200, {"TableDescription": {"TableName": name, "TableStatus": "DELETING"}}
            # The simulator does not forget a table. Names are used once.
            if operation == "DescribeTable" and name not in self.tables:
                return 400, NOT_FOUND
        return None


def handler(front):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            operation = self.headers.get("X-Amz-Target", "").rpartition(".")[2]
            own = front.answer(operation, json.loads(body)) if operation.endswith(("Table", "Tables")) else None
            if own is None:
                self.forward(body)
            else:
                status, answer = own
                answer = json.dumps(answer).encode()
                headers = [("Content-Type", "application/x-amz-json-1.0"), ("X-Amz-Crc32", str(zlib.crc32(answer)))]
                self.respond(status, headers, answer)

        def forward(self, body):
            connection = http.client.HTTPConnection(front.address)
            headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
            try:
                connection.request("POST", self.path, body, headers)
                answer = connection.getresponse()
                self.respond(answer.status, answer.getheaders(), answer.read())
            finally:
                connection.close()

        def respond(self, status, headers, body):
            self.send_response_only(status)
            for name, value in headers:
                if name.lower() not in HOP_BY_HOP:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    return Handler

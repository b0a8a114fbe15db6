"""A loopback proxy between the functions and MiniStack's Lambda endpoint that remembers every invocation.

The API function calls it (`AWS_ENDPOINT_URL_LAMBDA`), so the payload it keeps is the descriptor on its way.
"""

import http.client
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import unquote, urlsplit

_PER_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length"}
_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Invocation:
    """One call of Lambda's Invoke, as it left the caller."""

    function_name: str
    invocation_type: str
    payload: bytes
    status: int


class LambdaRecorder:
    """Forwards everything unchanged to `upstream` (set once the emulator's address is known)."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._invocations: list[Invocation] = []
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self.upstream = ""
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def reset(self) -> None:
        """Forget what was recorded."""
        with self._lock:
            self._invocations.clear()

    @property
    def invocations(self) -> list[Invocation]:
        """What was invoked since the last reset, oldest first."""
        with self._lock:
            return list(self._invocations)

    def record(self, invocation: Invocation) -> None:
        with self._lock:
            self._invocations.append(invocation)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, recorder: LambdaRecorder) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.recorder = recorder

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A worker that was ended in the middle of a call."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        payload = self.rfile.read(int(self.headers.get("content-length", 0)))
        status, headers, body = self._ask_upstream(payload)
        if self.path.split("?")[0].endswith("/invocations"):
            name = unquote(self.path.split("/functions/")[1].split("/")[0])
            kind = self.headers.get("x-amz-invocation-type", "RequestResponse")
            self.server.recorder.record(Invocation(name, kind, payload, status))
        self.send_response_only(status)
        for pair in headers:
            if pair[0].lower() not in _PER_HOP:
                self.send_header(*pair)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _ask_upstream(self, payload: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = http.client.HTTPConnection(urlsplit(self.server.recorder.upstream).netloc, timeout=_TIMEOUT_S)
        try:
            connection.request(self.command, self.path, payload, dict(self.headers.items()))
            response = connection.getresponse()
            return response.status, response.getheaders(), response.read()
        finally:
            connection.close()

    def log_message(self, *_: Any) -> None:
        """Silence: what passed is in `invocations`."""

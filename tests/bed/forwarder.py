"""Loopback proxies between a client and the emulator: what passes can be seen, changed, or cut off."""

import http.client
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import urlsplit

_PER_HOP = {"connection", "content-length", "expect", "keep-alive", "transfer-encoding"}
_TIMEOUT_S = 60.0

Headers = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Passing:
    """A request on its way."""

    method: str
    path: str
    headers: Headers
    body: bytes

    def header(self, name: str) -> str | None:
        """The value of a header, whatever the case of its name."""
        return next((value for known, value in self.headers if known.lower() == name), None)


@dataclass(frozen=True)
class Passed:
    """The answer that a request got."""

    status: int
    headers: Headers
    body: bytes


Way = Callable[[Callable[[], Passed | None]], Passed | None]
"""Another way to an answer: it is given the usual one. `None` is no answer: the connection is cut."""


class Forwarder:
    """Forwards everything to `upstream`, which is set once that address is known; subclasses see what passes.

    `detour` may choose another way for a request (`None`: the usual one).
    """

    def __init__(self, detour: Callable[[Passing], Way | None] = lambda _: None) -> None:
        self.detour = detour
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self.lock = threading.Lock()
        self.upstream = ""
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def on_request(self, request: Passing) -> Passing:
        """What is sent on in the place of a request."""
        return request

    def on_answer(self, request: Passing, answer: Passed) -> Passed | None:
        """What the client gets; `None` cuts the connection instead."""
        return answer

    def on_cut(self, connection: socket.socket) -> None:
        """A connection is about to be closed without an answer."""


class TlsEnd(Forwarder):
    """Stands where TLS would end: what passes counts as encrypted, as behind any load balancer that says so."""

    def on_request(self, request: Passing) -> Passing:
        return replace(request, headers=[*request.headers, ("x-forwarded-proto", "https")])


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, forwarder: Forwarder) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.forwarder = forwarder

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A worker that was ended in the middle of a call."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # headers and body leave together
    server: _Server

    def _forward(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        request = Passing(self.command, self.path, self.headers.items(), body)
        way = self.server.forwarder.detour(request)
        answer = way(lambda: self._usual(request)) if way else self._usual(request)
        if answer is None:
            self.server.forwarder.on_cut(self.connection)
            self.close_connection = True
            return
        self.send_response_only(answer.status)
        for name, value in answer.headers:
            if name.lower() not in _PER_HOP:
                self.send_header(name, value)
        self.send_header("content-length", self._length(answer))
        self.end_headers()
        self.wfile.write(answer.body)
        self.wfile.flush()

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _forward  # noqa: N815 - named by the base class

    def _usual(self, request: Passing) -> Passed | None:
        return self.server.forwarder.on_answer(request, self._ask_upstream(request))

    def _length(self, answer: Passed) -> str:
        """That of the body, or of the one that a HEAD asks about."""
        lengths = [value for name, value in answer.headers if name.lower() == "content-length"]
        return lengths[0] if self.command == "HEAD" and lengths else str(len(answer.body))

    def _ask_upstream(self, request: Passing) -> Passed:
        sent = self.server.forwarder.on_request(request)
        headers = {name: value for name, value in sent.headers if name.lower() not in _PER_HOP}
        connection = http.client.HTTPConnection(urlsplit(self.server.forwarder.upstream).netloc, timeout=_TIMEOUT_S)
        try:
            connection.request(sent.method, sent.path, sent.body, headers)
            response = connection.getresponse()
            return Passed(response.status, response.getheaders(), response.read())
        finally:
            connection.close()

    def log_message(self, *_: Any) -> None:
        """Silence: what passed is on the record."""

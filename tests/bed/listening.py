"""The API of a test at an address of this machine, for programs that make their own connections."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx

from tests.bed.served import Served


class _Handler(BaseHTTPRequestHandler):
    """One request at a time, since the store of a test may not be for more."""

    server: "_Server"

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        url = f"http://{self.headers['host']}{self.path}"
        request = httpx.Request(self.command, url, headers=dict(self.headers), content=body)
        answer = self.server.served.handle_request(request)
        self.send_response(answer.status_code)
        for name, value in answer.headers.items():
            if name not in ("content-length", "transfer-encoding"):
                self.send_header(name, value)
        self.send_header("content-length", str(len(answer.content)))
        self.end_headers()
        self.wfile.write(answer.content)

    do_GET = do_POST = do_PATCH = do_DELETE = _handle  # noqa: N815 - names of http.server

    def log_message(self, *_: object) -> None:
        """Silence: what was asked is in `Served.requests`."""


class _Server(HTTPServer):
    def __init__(self, served: Served) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.served = served


@contextmanager
def listening(served: Served) -> Iterator[str]:
    """The address at which it answers."""
    with _Server(served) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join(5)

"""An engine's answers given again without asking it, by a process of its own, so that only a client's work is measured.

A read is answered as the same read was before. A write is carried out the first time; after that, any write by the
same operation is answered as that one was, and changes nothing: so appending can be repeated at the same length.

It answers within some ten microseconds, from bytes that are ready. A client that has to wait finds the caches of the
processor filled by others when it goes on, which would cost it more than what is compared here.
"""

import http.client
import socket
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from infra.local import sockets
from tests.bed.dynamodb_meter import WRITES

_ROOT = Path(__file__).parents[2]
_TIMEOUT_S = 60
# As DynamoDB answers. It sends a checksum with every answer, and botocore checks it.
_HEAD = (
    "HTTP/1.1 200 OK\r\nServer: Server\r\nDate: Mon, 30 Nov 2026 15:00:00 GMT\r\n"
    "Content-Type: application/x-amz-json-1.0\r\nConnection: keep-alive\r\n"
    "x-amzn-RequestId: ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789ABCDEFGHIJKLMNOP\r\n"
    "x-amz-crc32: {checksum}\r\nContent-Length: {length}\r\n\r\n"
)


class Canned:
    """Remembers every answer."""

    def __init__(self, upstream: str) -> None:
        self._upstream = urlsplit(upstream).netloc
        self._answers: dict[tuple[str, bytes], bytes] = {}
        self._asking = threading.Lock()

    def serve(self, listening: socket.socket) -> None:
        while True:
            connection, _ = listening.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as reader, suppress(OSError):
            while reader.readline():
                headers = _headers(reader)
                body = reader.read(int(headers["content-length"]))
                operation = headers["x-amz-target"].rpartition(".")[2]
                key = (operation, b"" if operation in WRITES else body)
                connection.sendall(self._answers.get(key) or self._ask(key, headers, body))

    def _ask(self, key: tuple[str, bytes], headers: dict[str, str], body: bytes) -> bytes:
        with self._asking:
            engine = http.client.HTTPConnection(self._upstream, timeout=_TIMEOUT_S)
            engine.request("POST", "/", body, {name: headers[name] for name in headers if name != "host"})
            answer = engine.getresponse()
            content = answer.read()
            engine.close()
            if answer.status != 200:
                raise OSError(f"{key[0]}: {answer.status} {content!r}")
            head = _HEAD.format(checksum=zlib.crc32(content), length=len(content))
            self._answers[key] = head.encode() + content
            return self._answers[key]


def _headers(reader: IO[bytes]) -> dict[str, str]:
    lines = iter(lambda: reader.readline().strip().decode(), "")
    return {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}


@contextmanager
def canned(endpoint_url: str) -> Iterator[str]:
    """The address that gives the answers of the engine at ``endpoint_url``, and gives them again."""
    command = [sys.executable, "-m", "tests.bench.canned", endpoint_url]
    with subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()  # which ends it


def _main() -> None:
    listening = sockets.listening()
    threading.Thread(target=Canned(sys.argv[1]).serve, args=(listening,), daemon=True).start()
    print(f"http://{sockets.HOST}:{sockets.port_of(listening)}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    _main()

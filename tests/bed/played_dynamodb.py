"""DynamoDB at an address of this machine, whose answers, connections and certificate are as a test wants them."""

import json
import socket
import ssl
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, Any, Self
from zlib import crc32

_TIMEOUT_S = 20


@dataclass(frozen=True)
class Asked:
    """A request as it came."""

    connection: int
    """The number of the connection by which it came."""
    target: str
    """What stands after the method: a path, or a whole address if it came to a proxy."""
    headers: Mapping[str, str]
    body: bytes

    @property
    def operation(self) -> str:
        return self.headers["x-amz-target"].rpartition(".")[2]

    @property
    def by_client(self) -> bool:
        """By botocore's client, which numbers its tries."""
        return "amz-sdk-request" in self.headers


Way = Callable[[Asked], bytes]
"""What is sent for a request. The connection is closed after it if that says so, or if it is not a whole answer."""


def echo(asked: Asked) -> bytes:
    """An answer that shows what was asked for."""
    request = json.loads(asked.body)
    if asked.operation == "GetItem":
        return answer({"Item": request["Key"]})
    return answer({"Items": [request["ExpressionAttributeValues"]], "Count": 1})


def answer(document: object, status: int = 200, *more_headers: str, checksum: int | None = None) -> bytes:
    """As DynamoDB answers, with the checksum of the body unless it is another."""
    body = json.dumps(document).encode()
    headers = [
        f"HTTP/1.1 {status} As I Say",
        "Content-Type: application/x-amz-json-1.0",
        f"x-amz-crc32: {crc32(body) if checksum is None else checksum}",
        *more_headers,
    ]
    if "Transfer-Encoding: chunked" in headers:
        body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    else:
        headers.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*headers, "", ""]).encode() + body


class PlayedDynamoDB:
    """Answers by the ways that it was given, and then with an echo."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.asked: list[Asked] = []
        self.ways: deque[Way] = deque()
        self.connections = 0
        self._tls = tls
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self._listening.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(5)
        self.hang_up()

    @property
    def by(self) -> list[str]:
        """Who made the requests."""
        return ["client" if one.by_client else "reads" for one in self.asked]

    def hang_up(self) -> None:
        """Close all connections."""
        with self._lock:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:  # it was closed
                return
            self.connections += 1
            threading.Thread(target=self._talk, args=(connection, self.connections), daemon=True).start()

    def _talk(self, raw: socket.socket, number: int) -> None:
        raw.settimeout(_TIMEOUT_S)
        with suppress(OSError), self._opened(raw) as connection, connection.makefile("rb") as reader:
            while asked := _request(reader, number):
                with self._lock:
                    self.asked.append(asked)
                    way = self.ways.popleft() if self.ways else echo
                said = way(asked)
                connection.sendall(said)
                if not _is_whole(said) or b"Connection: close" in said:
                    return

    @contextmanager
    def _opened(self, raw: socket.socket) -> Iterator[socket.socket]:
        with raw, self._tls.wrap_socket(raw, server_side=True) if self._tls else raw as connection:
            with self._lock:
                self._open.add(connection)
            try:
                yield connection
            finally:
                with self._lock:
                    self._open.discard(connection)


def _request(reader: IO[bytes], connection: int) -> Asked | None:
    line = reader.readline().decode()
    if not line:
        return None
    lines = iter(lambda: reader.readline().strip().decode(), "")
    headers = {name.lower(): value for name, value in (header.split(": ", 1) for header in lines)}
    return Asked(connection, line.split()[1], headers, reader.read(int(headers["content-length"])))


def _is_whole(said: bytes) -> bool:
    head, _, body = said.partition(b"\r\n\r\n")
    length = head.rpartition(b"Content-Length: ")[2]
    if b"chunked" in head:
        return body.endswith(b"0\r\n\r\n")
    return length.isdigit() and int(length) == len(body)


def arguments(value: str) -> dict[str, Any]:
    """Those of a Query whose echo shows the value."""
    return {
        "TableName": "t",
        "KeyConditionExpression": "id = :id",
        "ExpressionAttributeValues": {":id": {"S": value}},
    }

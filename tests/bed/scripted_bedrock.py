"""A loopback server that plays Bedrock's ConverseStream, and remembers what it was asked.

The deployed turn function calls it (`AWS_ENDPOINT_URL_BEDROCK_RUNTIME`), so what it records is what left the function.
It speaks real event-stream frames over HTTP/1.1: botocore's own parser is between it and the code under test.
"""

import binascii
import json
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import unquote

from tests.bed.replies import (
    Answer,
    Break,
    EndWithoutStop,
    Event,
    Failure,
    Hold,
    Pause,
    Raw,
    Reply,
    StreamError,
    events_of,
    text,
)

_HOLD_AT_MOST_S = 30.0
_STRING = 7  # the type of a header value in an event-stream frame


@dataclass(frozen=True)
class ModelRequest:
    """One call of the model, as it arrived."""

    model_id: str
    body: dict[str, Any]
    headers: dict[str, str]
    raw: bytes


def echo(request: ModelRequest) -> Answer:
    """The default answer: it names the last text it was asked with, so that answers can be told apart."""
    texts = [block["text"] for block in request.body["messages"][-1]["content"] if "text" in block]
    return text("You said: ", texts[-1] if texts else "(no text)")


class ScriptedBedrock:
    """Answers with the scripts in the order they were given, then with `otherwise`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._scripts: deque[Answer] = deque()
        self._requests: list[ModelRequest] = []
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self.otherwise: Callable[[ModelRequest], Answer] = echo
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def script(self, *answers: Answer) -> None:
        """Queue these answers for the next requests."""
        with self._lock:
            self._scripts.extend(answers)

    def reset(self) -> None:
        """Forget scripts and requests."""
        with self._lock:
            self._scripts.clear()
            self._requests.clear()
            self.otherwise = echo

    @property
    def requests(self) -> list[ModelRequest]:
        """What was asked since the last reset, oldest first."""
        with self._lock:
            return list(self._requests)

    def answer(self, request: ModelRequest) -> Answer:
        """Record a request and say what it gets."""
        with self._lock:
            self._requests.append(request)
            scripted = self._scripts.popleft() if self._scripts else None
            otherwise = self.otherwise
        return scripted or otherwise(request)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, bedrock: ScriptedBedrock) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bedrock = bedrock

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up in the middle of an answer is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["content-length"]))
        parts = self.path.split("/")
        if len(parts) != 4 or parts[1] != "model" or parts[3] != "converse-stream":
            self._fail(Failure(404, "UnknownOperationException", f"not played here: {self.path}"))
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.server.bedrock.answer(ModelRequest(unquote(parts[2]), json.loads(raw), headers, raw))
        if isinstance(answer, Failure):
            self._fail(answer)
        else:
            self._stream(answer)

    def _fail(self, failure: Failure) -> None:
        body = json.dumps({"message": failure.message}).encode()
        self.send_response(failure.status)
        self.send_header("content-type", "application/json")
        self.send_header("x-amzn-errortype", failure.code)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, reply: Reply) -> None:
        self.send_response(200)
        self.send_header("content-type", "application/vnd.amazon.eventstream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        try:
            for frame in frames(reply):
                self.wfile.write(b"%x\r\n" % len(frame) + frame + b"\r\n")
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
        except _BrokenError:
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True

    def log_message(self, *_: Any) -> None:
        """Silence: what was asked is in `requests`."""


class _BrokenError(Exception):
    """The script breaks the connection here."""


def frames(reply: Reply) -> Iterator[bytes]:
    yield _event("messageStart", {"role": "assistant"})
    block = 0
    for step in reply.steps:
        match step:
            case Raw(kind, payload):
                yield _event(kind, payload)
            case Pause(seconds):
                time.sleep(seconds)
            case Hold(released, reached):
                reached.set()
                released.wait(_HOLD_AT_MOST_S)
            case StreamError(code, message):
                yield _exception(code, message)
                return
            case EndWithoutStop():
                return
            case Break():
                raise _BrokenError
            case _:
                yield from (_event(*event) for event in events_of(block, step))
                block += 1
    yield from (_event(*event) for event in _ending(reply))


def _ending(reply: Reply) -> Iterator[Event]:
    yield "messageStop", {"stopReason": reply.stop_reason}
    usage = {
        "inputTokens": reply.input_tokens,
        "outputTokens": reply.output_tokens,
        "totalTokens": reply.input_tokens + reply.output_tokens,
    }
    yield "metadata", {"usage": usage, "metrics": {"latencyMs": 1}}


def _event(kind: str, payload: dict[str, Any]) -> bytes:
    return _frame({":message-type": "event", ":event-type": kind}, payload)


def _exception(code: str, message: str) -> bytes:
    return _frame({":message-type": "exception", ":exception-type": code}, {"message": message})


def _frame(headers: dict[str, str], payload: dict[str, Any]) -> bytes:
    """One message of `application/vnd.amazon.eventstream`: prelude, its sum, headers, payload, the sum of all."""
    head = b"".join(_header(*pair) for pair in (headers | {":content-type": "application/json"}).items())
    body = json.dumps(payload).encode()
    prelude = struct.pack(">II", 16 + len(head) + len(body), len(head))
    message = prelude + struct.pack(">I", binascii.crc32(prelude)) + head + body
    return message + struct.pack(">I", binascii.crc32(message))


def _header(name: str, value: str) -> bytes:
    return struct.pack(">B", len(name)) + name.encode() + struct.pack(">BH", _STRING, len(value)) + value.encode()

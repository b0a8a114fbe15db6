"""The scripted Bedrock over cleartext HTTP/2, which the SDK for Node.js speaks to it; botocore speaks HTTP/1.1.

That SDK says goodbye (GOAWAY) as soon as an answer begins, and goes on reading it. Servers and libraries take that for
the end of the connection, so what says it does not reach the protocol here.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Any, Self
from urllib.parse import unquote

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, RequestReceived, StreamEnded

from tests.bed.replies import Failure
from tests.bed.scripted_bedrock import ModelRequest, ScriptedBedrock, frames

_PREFACE_BYTES = 24
_FRAME_HEADER_BYTES = 9
_GOAWAY = 7
_READ_BYTES = 65_536
_TIMEOUT_S = 60.0


class OverHttp2:
    """Serves what a scripted Bedrock answers; what was asked stands in its `requests`."""

    def __init__(self, bedrock: ScriptedBedrock) -> None:
        self._server = _Server(bedrock)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


class _Server(ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, bedrock: ScriptedBedrock) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bedrock = bedrock

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up in the middle of an answer is what some tests are about."""


class _Handler(BaseRequestHandler):
    """One connection, which answers one request after the other."""

    server: _Server

    def setup(self) -> None:
        self.request.settimeout(_TIMEOUT_S)
        self._h2 = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        self._frames = _Frames()
        self._headers: dict[int, dict[str, str]] = {}
        self._bodies: dict[int, bytes] = {}
        self._ended: list[int] = []
        self._h2.initiate_connection()
        self._flush()

    def handle(self) -> None:
        while self._receive():
            for stream in self._ended[:]:
                self._ended.remove(stream)
                self._answer(stream)

    def _receive(self) -> bool:
        """Take in what the client sends next; whether it is still there."""
        received = self.request.recv(_READ_BYTES)
        for frame in self._frames.but_for_goodbyes(received):
            for event in self._h2.receive_data(frame):
                if isinstance(event, RequestReceived):
                    self._headers[event.stream_id] = dict(event.headers)  # type: ignore[arg-type]
                elif isinstance(event, DataReceived):
                    self._bodies[event.stream_id] = self._bodies.get(event.stream_id, b"") + event.data
                    self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                elif isinstance(event, StreamEnded):
                    self._ended.append(event.stream_id)
        self._flush()
        return bool(received)

    def _answer(self, stream: int) -> None:
        headers, raw = self._headers[stream], self._bodies[stream]
        model_id = unquote(headers[":path"].split("/")[2])
        answer = self.server.bedrock.answer(ModelRequest(model_id, json.loads(raw), headers, raw))
        if isinstance(answer, Failure):
            told = [(":status", str(answer.status)), ("x-amzn-errortype", answer.code)]
            self._h2.send_headers(stream, [*told, ("content-type", "application/json")])
            self._send(stream, json.dumps({"message": answer.message}).encode())
        else:
            self._h2.send_headers(stream, [(":status", "200"), ("content-type", "application/vnd.amazon.eventstream")])
            self._flush()
            for frame in frames(answer):
                self._send(stream, frame)
        self._h2.end_stream(stream)
        self._flush()

    def _send(self, stream: int, data: bytes) -> None:
        while data:
            room = min(self._h2.local_flow_control_window(stream), self._h2.max_outbound_frame_size)
            if room:
                self._h2.send_data(stream, data[:room])
                self._flush()
                data = data[room:]
            elif not self._receive():
                raise ConnectionError("the client has gone")

    def _flush(self) -> None:
        with suppress(OSError):  # it may have gone
            self.request.sendall(self._h2.data_to_send())


class _Frames:
    """Takes what a client sends apart, after its preface."""

    def __init__(self) -> None:
        self._left = b""
        self._has_begun = False

    def but_for_goodbyes(self, received: bytes) -> Iterator[bytes]:
        """The frames that are whole now, but for those that end the connection."""
        self._left += received
        if not self._has_begun and len(self._left) >= _PREFACE_BYTES:
            yield self._taken(_PREFACE_BYTES)
            self._has_begun = True
        while self._has_begun and len(self._left) >= _FRAME_HEADER_BYTES:
            length = _FRAME_HEADER_BYTES + int.from_bytes(self._left[:3], "big")
            if len(self._left) < length:
                return
            frame = self._taken(length)
            if frame[3] != _GOAWAY:
                yield frame

    def _taken(self, length: int) -> bytes:
        taken, self._left = self._left[:length], self._left[length:]
        return taken

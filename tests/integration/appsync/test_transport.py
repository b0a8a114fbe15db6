"""The connection to AppSync: who it is with, and how long it may take."""

import datetime
import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.bed.appsync import AppSync
from tests.integration.appsync.conftest import Turns

pytestmark = pytest.mark.slow

_NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])


def _certificate_of_its_own(folder: Path) -> Path:
    """A certificate that nobody else has signed, and its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(_NAME)
        .issuer_name(_NAME)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    file = folder / "server.pem"
    file.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    return file


class _Listener:
    """Takes one connection after the other, and remembers what it was sent on them."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self._context = context
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self.received = b""
        self.connections = 0
        self.closing = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.closing.set()
        self._server.close()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._server.accept()
                self.connections += 1
                with suppress(OSError), connection:
                    self._take(connection)

    def _take(self, connection: socket.socket) -> None:
        if self._context is not None:
            with self._context.wrap_socket(connection, server_side=True) as secured:
                self.received += secured.recv(65_536)
            return
        while not self.received.endswith(b"}"):  # headers and body come apart
            self.received += connection.recv(65_536)
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")
        while not self.closing.wait(0.05):
            connection.sendall(b" ")


@pytest.fixture
def untrusted(tmp_path: Path) -> Iterator[_Listener]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(_certificate_of_its_own(tmp_path))
    listener = _Listener(context)
    yield listener
    listener.close()


@pytest.fixture
def dripping() -> Iterator[_Listener]:
    """Answers at once, and never comes to an end."""
    listener = _Listener()
    yield listener
    listener.close()


def test_the_token_is_sent_to_nobody_whose_certificate_is_not_trusted(
    untrusted: _Listener, appsync: AppSync, turns: Turns
) -> None:
    endpoint = f"https://127.0.0.1:{untrusted.port}/graphql"

    assert turns.answer(within_s=0.5, graphqlApiEndpoint=endpoint) == "failed"

    assert untrusted.connections > 0
    assert untrusted.received == b""


def test_an_answer_that_never_ends_does_not_outlast_the_turn(
    dripping: _Listener, appsync: AppSync, turns: Turns
) -> None:
    endpoint = f"http://127.0.0.1:{dripping.port}/graphql"
    started_ns = turns.clock.now_ns()

    assert turns.answer(within_s=0.5, graphqlApiEndpoint=endpoint) == "failed"

    assert b"ListMessages" in dripping.received
    assert turns.clock.now_ns() - started_ns < 20_000_000_000

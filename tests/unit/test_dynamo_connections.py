"""How reads travel: connections that are kept and that break, time-outs, signatures, proxies and certificates."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import ClientError, ConnectionClosedError, EndpointConnectionError, SSLError
from botocore.session import Session, get_session

from conversations import clients
from conversations.dynamo_reads import Reads
from tests.bed.certificates import self_made
from tests.bed.played_dynamodb import Asked, PlayedDynamoDB, Way, answer, arguments, echo

REGION = "eu-west-1"
READ_S = 1  # long enough for a machine that is busy
TWICE = Config(connect_timeout=5, read_timeout=READ_S, retries={"mode": "standard", "total_max_attempts": 2})
CONFIG = clients.DATA.merge(TWICE)
GONE = {"__type": "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException", "message": "no such table"}

Client = Callable[..., Any]


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the client's tries."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)


@pytest.fixture(autouse=True)
def _no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "REQUESTS_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def session() -> Session:
    made = get_session()
    made.set_credentials("first", "secret", "token")
    return made


@pytest.fixture
def server() -> Iterator[PlayedDynamoDB]:
    with PlayedDynamoDB() as server:
        yield server


@pytest.fixture
def client(session: Session, server: PlayedDynamoDB) -> Any:
    return session.create_client("dynamodb", REGION, endpoint_url=server.url, config=CONFIG)


def _read(reads: Any, value: str = "x") -> str:
    return str(reads.query(**arguments(value))["Items"][0][":id"]["S"])


# Connections


def test_a_connection_is_kept(server: PlayedDynamoDB, client: Any) -> None:
    reads = Reads(client)

    assert [_read(reads, str(number)) for number in range(50)] == [str(number) for number in range(50)]
    assert reads.get_item(TableName="t", Key={"id": {"S": "k"}}) == {"Item": {"id": {"S": "k"}}}

    assert server.by == ["reads"] * 51
    assert server.connections == 1


def test_a_connection_that_was_closed_while_it_was_idle_costs_no_try(server: PlayedDynamoDB, client: Any) -> None:
    reads = Reads(client)
    for _ in range(3):
        assert _read(reads) == "x"
        server.hang_up()
        time.sleep(0.05)  # until this side has heard of it

    assert server.by == ["reads"] * 3
    assert server.connections == 3


def test_many_connections_that_were_closed_are_all_dropped(server: PlayedDynamoDB, client: Any) -> None:
    reads, together = Reads(client), threading.Barrier(4)

    def meet(asked: Asked) -> bytes:
        together.wait(10)
        return echo(asked)

    server.ways.extend([meet] * 4)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: _read(reads), range(4))) == ["x"] * 4
    server.hang_up()
    time.sleep(0.05)

    assert _read(reads) == _read(reads) == "x"
    assert server.by == ["reads"] * 6
    assert server.connections == 5


def test_a_connection_is_closed_if_the_answer_says_so(server: PlayedDynamoDB, client: Any) -> None:
    reads = Reads(client)
    server.ways.append(lambda _: answer({"Items": []}, 200, "Connection: close"))

    assert reads.query(**arguments("x")) == {"Items": []}
    assert _read(reads) == "x"

    assert [one.connection for one in server.asked] == [1, 2]
    assert server.by == ["reads"] * 2


def test_an_answer_may_come_in_chunks(server: PlayedDynamoDB, client: Any) -> None:
    reads = Reads(client)
    server.ways.append(lambda _: answer({"Items": []}, 200, "Transfer-Encoding: chunked"))

    assert reads.query(**arguments("x")) == {"Items": []}
    assert _read(reads) == "x"

    assert [(one.connection, one.by_client) for one in server.asked] == [(1, False)] * 2


def test_threads_get_their_own_answers(server: PlayedDynamoDB, client: Any) -> None:
    reads = Reads(client)

    def read_many(thread: int) -> bool:
        values = [f"{thread}-{number}" for number in range(40)]
        return [_read(reads, value) for value in values] == values

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(read_many, range(8)))

    assert server.by == ["reads"] * 320
    assert server.connections <= 8


# What goes wrong


def _slow(asked: Asked) -> bytes:
    threading.Event().wait(READ_S * 1.5)
    return echo(asked)


def _not_all(asked: Asked) -> bytes:
    return echo(asked)[:-5]


WRONG: dict[str, Way] = {
    "no answer": lambda _: b"",
    "half of a head": lambda _: b"HTTP/1.1 200 OK\r\nContent-Le",
    "not all of the body": _not_all,
    "chunks without an end": lambda _: answer({"Items": []}, 200, "Transfer-Encoding: chunked")[:-5],
    "no HTTP": lambda _: b"220 mail.example.com ESMTP\r\n\r\n",
    "a line without an end": lambda _: b"x" * 100_000,
    "too late": _slow,
    "damaged": lambda _: answer({"Items": [{":id": {"S": "another"}}]}, checksum=1),
    "no JSON": lambda _: answer({}).replace(b"{}", b"{]").replace(b"x-amz-crc32", b"x-other"),
    "no object": lambda _: answer([]),
    "failed": lambda _: answer({"__type": "x#InternalServerError"}, 500),
    "throttled": lambda _: answer({"__type": "x#ThrottlingException"}, 400),
    "of a load balancer": lambda _: answer("<html>", 503),
    "redirected": lambda _: answer({}, 307, "Location: /elsewhere"),
    "no content": lambda _: answer({}, 204),
}


REFUSALS = [WRONG[name] for name in ("failed", "throttled", "of a load balancer")]


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_what_goes_wrong_once_is_asked_of_the_client(server: PlayedDynamoDB, client: Any, wrong: Way) -> None:
    reads = Reads(client)
    assert _read(reads, "before") == "before"
    server.ways.append(wrong)

    assert _read(reads, "meanwhile") == "meanwhile"
    assert _read(reads, "after") == "after"

    assert server.by == ["reads", "reads", "client", "reads"]
    first, failed, _, last = (one.connection for one in server.asked)
    assert first == failed
    assert (last == failed) == (wrong in REFUSALS)


def test_an_error_costs_no_connection(server: PlayedDynamoDB, client: Any) -> None:
    """A service that is too busy need not shake hands as well."""
    reads = Reads(client)
    for _ in range(20):
        server.ways.append(lambda _: answer({"__type": "x#ThrottlingException"}, 400))
        assert _read(reads) == "x"

    assert server.by == ["reads", "client"] * 20
    assert server.connections == 2


def test_reads_that_succeed_give_back_what_failures_took_of_the_quota_of_retries(
    server: PlayedDynamoDB, client: Any
) -> None:
    """As calls of the client do (botocore's standard mode: 500, less 5 for a retry, and one more for each success)."""
    reads = Reads(client)
    for _ in range(100):
        server.ways.extend([WRONG["failed"]] * 3)
        with pytest.raises(ClientError, match="InternalServerError"):
            _read(reads)
    server.ways.clear()
    server.ways.extend([WRONG["failed"]] * 2)
    with pytest.raises(ClientError):
        _read(reads)  # nothing is left for a retry
    before = len(server.by)

    for _ in range(5):
        _read(reads)
    server.ways.extend([WRONG["failed"]] * 2)
    assert _read(reads) == "x"
    assert server.by[before + 5 :] == ["reads", "client", "client"]


def test_what_stays_wrong_is_what_the_client_says(server: PlayedDynamoDB, client: Any) -> None:
    reads = Reads(client)
    server.ways.extend([lambda _: answer(GONE, 400)] * 2)

    with pytest.raises(client.exceptions.ResourceNotFoundException) as caught:
        _read(reads)

    assert caught.value.response["Error"] == {"Code": "ResourceNotFoundException", "Message": "no such table"}
    assert server.by == ["reads", "client"]

    server.ways.extend([lambda _: answer({"__type": "x#InternalServerError"}, 500)] * 3)
    with pytest.raises(ClientError, match="InternalServerError"):
        _read(reads)
    assert server.by[2:] == ["reads", "client", "client"]

    server.ways.extend([lambda _: b""] * 3)
    with pytest.raises(ConnectionClosedError):
        _read(reads)
    assert server.by[5:] == ["reads", "client", "client"]


def test_a_silent_server_is_given_up_after_the_time_out_of_the_client(server: PlayedDynamoDB, client: Any) -> None:
    reads = Reads(client)
    assert _read(reads) == "x"
    server.ways.append(_slow)
    began = time.monotonic()

    assert _read(reads, "y") == "y"

    assert READ_S <= time.monotonic() - began < 2 * READ_S
    assert server.by == ["reads", "reads", "client"]


def test_nobody_there_is_what_the_client_says(session: Session) -> None:
    with PlayedDynamoDB() as server:
        client = session.create_client("dynamodb", REGION, endpoint_url=server.url, config=CONFIG)
    with pytest.raises(EndpointConnectionError):
        _read(Reads(client))


# Requests


def _signed(asked: Asked, server: PlayedDynamoDB, credentials: Credentials) -> str:
    """The header by which the service would know a request for what it is."""
    names = asked.headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0].split(";")
    headers = {name: asked.headers[name] for name in names}
    request = AWSRequest("POST", f"{server.url}{asked.target}", headers=headers, data=asked.body)
    request.context["timestamp"] = asked.headers["x-amz-date"]
    signer = SigV4Auth(credentials, "dynamodb", REGION)
    signature = signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request)
    return (
        f"AWS4-HMAC-SHA256 Credential={signer.scope(request)}, SignedHeaders={';'.join(names)}, Signature={signature}"
    )


def test_requests_are_signed_and_say_what_those_of_the_client_say(server: PlayedDynamoDB, client: Any) -> None:
    Reads(client).query(**arguments("ключ"))
    client.query(**arguments("ключ"))

    ours, its = server.asked
    for one in (ours, its):
        assert one.headers["authorization"] == _signed(one, server, Credentials("first", "secret", "token"))
    varying = {"authorization", "amz-sdk-invocation-id", "amz-sdk-request", "content-length", "x-amz-date"}
    assert {name: ours.headers[name] for name in ours.headers.keys() - varying} == {
        name: its.headers[name] for name in its.headers.keys() - varying
    }
    assert ours.target == its.target == "/"
    assert ours.headers["user-agent"].startswith("conversation-memory/")


def test_credentials_that_change_are_used_at_once(server: PlayedDynamoDB, session: Session, client: Any) -> None:
    reads, credentials = Reads(client), session.get_credentials()
    _read(reads)
    credentials.access_key, credentials.secret_key, credentials.token = "second", "other", None
    _read(reads)

    first, second = server.asked
    assert (first.headers["x-amz-security-token"], "x-amz-security-token" in second.headers) == ("token", False)
    assert second.headers["authorization"] == _signed(second, server, Credentials("second", "other"))
    assert first.connection == second.connection


def test_hooks_see_requests_before_they_are_sent_and_may_add_to_them(server: PlayedDynamoDB, client: Any) -> None:
    seen: list[str] = []

    def trace(request: Any, event_name: str, **_: Any) -> None:
        seen.append(event_name)
        request.headers["X-Trace"] = "id"

    client.meta.events.register("before-send.dynamodb", trace)
    Reads(client).get_item(TableName="t", Key={"id": {"S": "k"}})

    assert seen == ["before-send.dynamodb.GetItem"]
    assert server.asked[0].headers["x-trace"] == "id"


# Ways that are the client's


def test_through_a_proxy_of_the_environment_the_client_goes_alone(
    server: PlayedDynamoDB, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", server.url)
    client = session.create_client("dynamodb", REGION, endpoint_url="http://dynamodb.test", config=CONFIG)

    assert _read(Reads(client)) == "x"

    assert [(one.by_client, one.target) for one in server.asked] == [(True, "http://dynamodb.test/")]


def test_through_a_proxy_of_the_configuration_the_client_goes_alone(server: PlayedDynamoDB, session: Session) -> None:
    config = CONFIG.merge(Config(proxies={"http": server.url}))
    client = session.create_client("dynamodb", REGION, endpoint_url="http://dynamodb.test", config=config)

    assert _read(Reads(client)) == "x"

    assert [(one.by_client, one.target) for one in server.asked] == [(True, "http://dynamodb.test/")]


def test_no_proxy_in_the_configuration_is_none_whatever_the_environment_says(
    server: PlayedDynamoDB, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    config = CONFIG.merge(Config(proxies={}))

    assert _read(Reads(session.create_client("dynamodb", REGION, endpoint_url=server.url, config=config))) == "x"

    assert server.by == ["reads"]


def test_with_a_certificate_of_its_own_the_client_goes_alone(
    server: PlayedDynamoDB, session: Session, tmp_path: Path
) -> None:
    config = CONFIG.merge(Config(client_cert=str(tmp_path / "none.pem")))

    assert _read(Reads(session.create_client("dynamodb", REGION, endpoint_url=server.url, config=config))) == "x"

    assert server.by == ["client"]


# TLS


@pytest.mark.parametrize("variable", ["AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"])
def test_the_authorities_are_those_of_the_client(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    tls, authority = self_made(tmp_path)
    monkeypatch.setenv(variable, str(authority))
    with PlayedDynamoDB(tls) as server:
        client = session.create_client("dynamodb", REGION, endpoint_url=server.url, config=CONFIG)
        reads = Reads(client)

        assert [_read(reads, str(number)) for number in range(5)] == ["0", "1", "2", "3", "4"]
        assert server.by == ["reads"] * 5
        assert server.connections == 1
        server.hang_up()
        time.sleep(0.05)
        assert _read(reads) == "x"
        assert server.by == ["reads"] * 6


def test_an_authority_that_nobody_knows_is_tried_once(session: Session, tmp_path: Path) -> None:
    tls, _ = self_made(tmp_path)
    with PlayedDynamoDB(tls) as server:
        client = session.create_client("dynamodb", REGION, endpoint_url=server.url, config=CONFIG)
        reads = Reads(client)

        for connections in (1 + 2, 1 + 2 + 2):
            with pytest.raises(SSLError, match="certificate verify failed"):
                _read(reads)
            assert server.connections == connections
        assert not server.asked


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
def test_a_client_that_verifies_nothing_goes_alone(session: Session, tmp_path: Path) -> None:
    tls, _ = self_made(tmp_path)
    with PlayedDynamoDB(tls) as server:
        client = session.create_client("dynamodb", REGION, endpoint_url=server.url, config=CONFIG, verify=False)

        assert _read(Reads(client)) == "x"

        assert server.by == ["client"]
        assert server.connections == 1

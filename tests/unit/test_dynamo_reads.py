"""What is read by the short way is what botocore's own parser makes of it, and what is no answer stays botocore's."""

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any
from zlib import crc32

import pytest
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    EndpointConnectionError,
    NoCredentialsError,
    ReadTimeoutError,
)
from botocore.parsers import ResponseParserError
from botocore.session import get_session
from hypothesis import given, settings
from hypothesis import strategies as st

from conversations.dynamo_reads import Reads

Asked = Mapping[str, Any]

QUERY: Asked = {"TableName": "messages", "KeyConditionExpression": "id = :id"}
GET: Asked = {"TableName": "messages", "Key": {"id": {"S": "x"}}}
BATCH: Asked = {"RequestItems": {"messages": {"Keys": [{"id": {"S": "x"}}]}}}

_NAMES = st.sampled_from(["id", "body", "B", "BS", "S", "M", "NULL", "ключ"]) | st.text(min_size=1, max_size=5)
_BYTES = st.binary(max_size=20).map(lambda value: b64encode(value).decode())
_NUMBERS = st.integers().map(str) | st.decimals(allow_nan=False, allow_infinity=False).map(str)
_TEXTS = st.text(max_size=20) | st.sampled_from(['"B":"x"', '{"B":"AA=="}', "\\u0000", "😀", '"BS"'])
_LEAVES = st.one_of(
    st.fixed_dictionaries({"S": _TEXTS}),
    st.fixed_dictionaries({"N": _NUMBERS}),
    st.fixed_dictionaries({"B": _BYTES}),
    st.fixed_dictionaries({"SS": st.lists(_TEXTS, min_size=1, max_size=3)}),
    st.fixed_dictionaries({"NS": st.lists(_NUMBERS, min_size=1, max_size=3)}),
    st.fixed_dictionaries({"BS": st.lists(_BYTES, min_size=1, max_size=3)}),
    st.fixed_dictionaries({"NULL": st.just(True)}),
    st.fixed_dictionaries({"BOOL": st.booleans()}),
)
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: (
        st.fixed_dictionaries({"L": st.lists(inner, max_size=3)})
        | st.fixed_dictionaries({"M": st.dictionaries(_NAMES, inner, max_size=3)})
    ),
    max_leaves=6,
)
_ITEMS = st.dictionaries(_NAMES, _VALUES, max_size=4)
_CONSUMED = {
    "TableName": "messages",
    "CapacityUnits": 1.5,
    "ReadCapacityUnits": 1,
    "Table": {"CapacityUnits": 0.5},
    "GlobalSecondaryIndexes": {"index": {"CapacityUnits": 1.0}},
}


class _Raw:
    def __init__(self, body: bytes) -> None:
        self._body = body

    def stream(self) -> list[bytes]:
        return [self._body]


class Played:
    """A client whose requests are answered as a test says, and counted, whoever makes them."""

    def __init__(self) -> None:
        config = Config(retries={"mode": "standard", "total_max_attempts": 2})
        self.client = get_session().create_client("dynamodb", region_name="us-east-1", config=config)
        self.client.meta.events.register("before-send.dynamodb", self._send)
        self.answers: list[tuple[int, bytes]] = []
        self.asked = 0

    def _send(self, request: Any, **_: Any) -> AWSResponse:
        self.asked += 1
        status, body = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        checksum = crc32(body.replace(b" damaged", b""))
        headers = {"x-amzn-RequestId": "R", "x-amz-crc32": str(checksum), "content-type": "application/x-amz-json-1.0"}
        return AWSResponse(request.url, status, headers, _Raw(body))


class Both:
    """A client and the reads of another, which are answered the same."""

    def __init__(self) -> None:
        self.plain, self.ours = Played(), Played()
        self._readers = [(self.plain, self.plain.client), (self.ours, Reads(self.ours.client))]

    def read(self, operation: str, asked: Asked, *answers: tuple[int, bytes]) -> tuple[Any, Any]:
        """What either makes of the answers to its tries."""
        said = []
        for played, reader in self._readers:
            played.answers, played.asked = list(answers), 0
            try:
                answer = getattr(reader, operation)(**asked)
                answer.pop("ResponseMetadata", None)
                said.append(answer)
            except (AttributeError, ClientError, ResponseParserError) as error:
                said.append((type(error).__name__, str(error), getattr(error, "response", None)))
        return said[0], said[1]


@pytest.fixture(scope="module")
def both() -> Iterator[Both]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)
        yield Both()


def _body(document: object) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def _with_base64(value: Any) -> Any:
    """As DynamoDB sends it, and botocore does not leave it."""
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, dict):
        return {name: _with_base64(member) for name, member in value.items()}
    return [_with_base64(member) for member in value] if isinstance(value, list) else value


@settings(max_examples=60, deadline=None)
@given(st.lists(_ITEMS, max_size=4), st.booleans())
def test_pages_and_items_are_the_same(both: Both, items: list[dict[str, Any]], is_last: bool) -> None:
    page = {"Items": items, "Count": len(items), "ScannedCount": len(items), "ConsumedCapacity": _CONSUMED}
    page |= {} if is_last else {"LastEvaluatedKey": {"id": {"S": "x"}, "B": {"B": "AAE="}}}
    batch = {"Responses": {"messages": items}, "UnprocessedKeys": {"messages": {"Keys": items, "ConsistentRead": True}}}
    answers = [
        ("query", QUERY, page),
        ("batch_get_item", BATCH, batch),
        ("get_item", GET, {"Item": (items or [{}])[0]}),
    ]
    for operation, asked, document in answers:
        expected, read = both.read(operation, asked, (200, _body(document)))

        assert read == _with_base64(expected)
        assert both.ours.asked == 1


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, _body({"__type": "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException", "message": "none"})),
        (400, _body({"__type": "x#ValidationException", "message": '{"B":"AA=="}'})),
        (500, _body({"__type": "x#InternalServerError"})),
        (503, b"<html>"),
        (200, b"no JSON"),
        (200, b"[]"),
    ],
)
def test_errors_and_what_is_no_answer_are_asked_of_the_client(both: Both, status: int, body: bytes) -> None:
    """With all of its tries."""
    expected, read = both.read("get_item", GET, (status, body))

    assert read == expected
    assert both.ours.asked == 1 + both.plain.asked


def test_an_item_that_is_not_there_is_an_answer(both: Both) -> None:
    assert both.read("get_item", GET, (200, b"{}")) == ({}, {})
    assert both.ours.asked == 1


@pytest.mark.parametrize("times", [1, 2])
def test_a_damaged_answer_is_asked_for_again(both: Both, times: int) -> None:
    """By the client, which may ask once more."""
    good = _body({"Item": {"id": {"S": "x"}}})
    damaged = (200, good.replace(b'"x"', b'"x damaged"'))

    _, read = both.read("get_item", GET, *[damaged] * times, (200, good))

    assert read == {"Item": {"id": {"S": "x"}}}
    assert both.ours.asked == times + 1


@pytest.mark.parametrize("error", [ConnectionClosedError, EndpointConnectionError, ReadTimeoutError])
def test_what_a_hook_raises_for_a_broken_connection_is_made_up_for(error: Any) -> None:
    played = Played()
    played.answers = [(200, _body({"Item": {"id": {"S": "x"}}}))]
    raised: list[str] = []

    def fail_once(request: Any, **_: Any) -> None:
        if not raised:
            raised.append(request.url)
            raise error(endpoint_url=request.url)

    played.client.meta.events.register_first("before-send.dynamodb.GetItem", fail_once)

    assert Reads(played.client).get_item(**GET)["Item"] == {"id": {"S": "x"}}
    assert (len(raised), played.asked) == (1, 1)


def test_no_credentials_are_what_they_are_to_the_client() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("botocore.session.Session.get_credentials", lambda *_: None)
        client = get_session().create_client("dynamodb", region_name="us-east-1")

    with pytest.raises(NoCredentialsError):
        Reads(client).get_item(**GET)

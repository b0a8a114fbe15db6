"""Answers of DynamoDB read as JSON are what botocore's own parser makes of them."""

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any
from zlib import crc32

import pytest
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.parsers import ResponseParserError
from botocore.session import get_session
from hypothesis import given, settings
from hypothesis import strategies as st

from conversations.dynamo_answers import read_as_json

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
    """A client that is answered what a test says, and counts how often it asks."""

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
    """Two clients that are answered the same: one reads by the shapes, one as we do."""

    def __init__(self) -> None:
        self.plain, self.ours = Played(), Played()
        read_as_json(self.ours.client)

    def read(self, operation: str, asked: Asked, *answers: tuple[int, bytes]) -> tuple[Any, Any]:
        """What either makes of the answers to its tries."""
        said = []
        for played in (self.plain, self.ours):
            played.answers, played.asked = list(answers), 0
            try:
                said.append(getattr(played.client, operation)(**asked))
            except (AttributeError, ClientError, ResponseParserError) as error:
                said.append((type(error).__name__, str(error), getattr(error, "response", None)))
        return said[0], said[1]


@pytest.fixture(scope="module")
def both() -> Iterator[Both]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("botocore.endpoint.time.sleep", lambda _: None)  # between tries
        yield Both()


def _body(document: object) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


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

        assert read == expected
        assert read["ResponseMetadata"] == {
            "RequestId": "R",
            "HTTPStatusCode": 200,
            "HTTPHeaders": expected["ResponseMetadata"]["HTTPHeaders"],
            "RetryAttempts": 0,
        }


def test_bytes_are_bytes_and_what_is_said_of_them_is_text(both: Both) -> None:
    item = {"body": {"B": "eJw="}, "B": {"S": '"B"'}, "BS": {"BS": ["AA==", "AQ=="]}, "l": {"L": [{"B": "AA=="}]}}

    _, read = both.read("get_item", GET, (200, _body({"Item": item})))

    assert read["Item"] == {
        "body": {"B": b"x\x9c"},
        "B": {"S": '"B"'},
        "BS": {"BS": [b"\0", b"\1"]},
        "l": {"L": [{"B": b"\0"}]},
    }


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, _body({"__type": "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException", "message": "none"})),
        (400, _body({"__type": "x#ValidationException", "message": '{"B":"AA=="}'})),
        (500, _body({"__type": "x#InternalServerError"})),
        (503, b"<html>"),
        (200, b"no JSON"),
        (200, b"[]"),
        (200, b"{}"),
    ],
)
def test_errors_and_what_is_no_answer_stay_what_they_were(both: Both, status: int, body: bytes) -> None:
    expected, read = both.read("get_item", GET, (status, body))

    assert read == expected
    assert both.ours.asked == both.plain.asked


def test_a_damaged_answer_is_asked_for_again(both: Both) -> None:
    good = _body({"Item": {"id": {"S": "x"}}})
    expected, read = both.read("get_item", GET, (200, good.replace(b'"x"', b'"x damaged"')), (200, good))

    assert read["Item"] == expected["Item"] == {"id": {"S": "x"}}
    assert (both.ours.asked, read["ResponseMetadata"]["RetryAttempts"]) == (2, 1)

"""Where the local engine is kinder than DynamoDB, a client is made to feel it.

A read that does not ask for consistency may miss what was just written: here it always does. And a reserved word is no
name in an expression, though the engine takes it for one in queries and projections.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from botocore.awsrequest import AWSResponse

from tests.bed.faults import answering

_JSON = "application/x-amz-json-1.0"
_EXPRESSIONS = re.compile(r"(KeyCondition|Filter|Projection|Condition|Update)Expression")
_NAME = re.compile(r"(?<![#:.\w])[A-Za-z_]\w*(?!\w*\s*\()")
_OPERATORS = frozenset(("ADD", "AND", "BETWEEN", "DELETE", "IN", "NOT", "OR", "REMOVE", "SET"))


def be_strict(client: Any) -> None:
    """Let all calls of a client be as DynamoDB has them."""
    events = client.meta.events
    events.register("before-send.dynamodb", _refuse_reserved_words)
    events.register("before-send.dynamodb.GetItem", _miss_an_item)
    events.register("before-send.dynamodb.BatchGetItem", _miss_items)


def _miss_an_item(request: Any, **_: Any) -> AWSResponse | None:
    return None if json.loads(request.body).get("ConsistentRead") else answering(200, _JSON, "{}")(request)


def _miss_items(request: Any, **_: Any) -> AWSResponse | None:
    wanted = json.loads(request.body)["RequestItems"]
    if all(of_table.get("ConsistentRead") for of_table in wanted.values()):
        return None
    missed: dict[str, Any] = {"Responses": {table: [] for table in wanted}, "UnprocessedKeys": {}}
    return answering(200, _JSON, json.dumps(missed))(request)


def _refuse_reserved_words(request: Any, **_: Any) -> None:
    for expression in _expressions(json.loads(request.body)):
        names = {name for name in _NAME.findall(expression) if name not in _OPERATORS}
        reserved = {name for name in names if name.upper() in _reserved()}
        assert not reserved, f"{reserved} must have another name in {expression!r}"


def _expressions(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, member in value.items():
            if isinstance(member, str) and _EXPRESSIONS.fullmatch(name):
                yield member
            else:
                yield from _expressions(member)
    elif isinstance(value, list):
        for member in value:
            yield from _expressions(member)


@cache
def _reserved() -> frozenset[str]:
    """DynamoDB's list, as moto keeps it."""
    words = files("moto").joinpath("dynamodb", "parsing", "reserved_keywords.txt").read_text()
    return frozenset(words.upper().split())

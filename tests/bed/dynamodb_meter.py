"""A loopback proxy between the functions and DynamoDB (`AWS_ENDPOINT_URL_DYNAMODB`) that counts what they ask for.

It asks DynamoDB in their place what each write consumed (`ReturnConsumedCapacity`), which changes nothing else. What a
read consumes it works out by itself where that is wanted, for the price of reading again what a projection left out.
"""

import http.client
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from tests.bed.forwarder import Forwarder, Passed, Passing, Way
from tests.bed.request_units import READS, ByTable, read_units

_SIGNED = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/dynamodb/aws4_request"  # the engine takes the region
WRITES = frozenset({"BatchWriteItem", "DeleteItem", "PutItem", "TransactWriteItems", "UpdateItem"})


@dataclass(frozen=True)
class Call:
    """One call of DynamoDB: what it was asked for, how large that and the answer were, and the units by table and
    index (of a read only if the meter is told to count reads).
    """

    operation: str
    request: Mapping[str, Any]
    status: int
    request_bytes: int
    answer_bytes: int
    units: Mapping[tuple[str, str], float] = field(default_factory=dict)  # (table, index or "")

    @property
    def is_write(self) -> bool:
        return self.operation in WRITES

    def item_ids(self, table: str) -> list[str]:
        """The ids of the items of a table that it writes."""
        actions = [next(iter(action.values())) for action in self.request.get("TransactItems", ())]
        written = [action for action in actions or [self.request] if action.get("TableName") == table]
        batch = self.request.get("RequestItems", {}).get(table, ())
        written += [next(iter(action.values())) for action in batch]
        return [(action.get("Key") or action["Item"])["id"]["S"] for action in written]


class DynamoDBMeter(Forwarder):
    """Remembers every call since the last reset."""

    def __init__(self, detour: Callable[[Passing], Way | None] = lambda _: None, *, counts_reads: bool = False) -> None:
        super().__init__(detour)
        self._calls: list[Call] = []
        self._counts_reads = counts_reads

    def reset(self) -> None:
        with self.lock:
            self._calls.clear()

    @property
    def calls(self) -> list[Call]:
        """The calls since the last reset, in the order of their ends."""
        with self.lock:
            return list(self._calls)

    def on_request(self, request: Passing) -> Passing:
        return replace(
            request, body=json.dumps(json.loads(request.body) | {"ReturnConsumedCapacity": "INDEXES"}).encode()
        )

    def on_answer(self, request: Passing, answer: Passed) -> Passed:
        asked, document = json.loads(request.body), json.loads(answer.body or b"{}")
        operation = (request.header("x-amz-target") or "").rpartition(".")[2]
        units: dict[tuple[str, str], float] = defaultdict(float)
        consumed = _write_units(document.pop("ConsumedCapacity", ())) if operation not in READS else ()
        if operation in READS and self._counts_reads and answer.status == 200:
            consumed = read_units(operation, asked, self._whole(request, asked) or document)
        for key, number in consumed:
            units[key] += number
        size = len(json.dumps(document))
        with self.lock:
            self._calls.append(Call(operation, asked, answer.status, len(request.body), size, units))
        return answer

    def _whole(self, request: Passing, asked: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The answer of a read without its projection; `None` if it has none."""
        if "ProjectionExpression" not in json.dumps(asked):
            return None
        headers = {"x-amz-target": str(request.header("x-amz-target")), "authorization": _SIGNED}
        connection = http.client.HTTPConnection(urlsplit(self.upstream).netloc, timeout=60)
        try:
            connection.request("POST", "/", json.dumps(_without_projection(asked)), headers)
            response = connection.getresponse()
            whole: Mapping[str, Any] = json.loads(response.read())
        finally:
            connection.close()
        assert response.status == 200, whole
        return whole


def _without_projection(asked: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same question for all attributes; names that only the projection used are refused when they stay."""
    left = {name: value for name, value in asked.items() if name != "ProjectionExpression"}
    expressions = " ".join(value for name, value in left.items() if name.endswith("Expression"))
    if names := {k: v for k, v in left.pop("ExpressionAttributeNames", {}).items() if k in expressions}:
        left["ExpressionAttributeNames"] = names
    if "RequestItems" in left:
        left["RequestItems"] = {table: _without_projection(keys) for table, keys in left["RequestItems"].items()}
    return left


def _write_units(consumed: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> Iterator[ByTable]:
    for table in [consumed] if isinstance(consumed, Mapping) else consumed:
        indexes = {name: index["CapacityUnits"] for name, index in table.get("GlobalSecondaryIndexes", {}).items()}
        yield (table["TableName"], ""), table["CapacityUnits"] - sum(indexes.values())
        for name, number in indexes.items():
            yield (table["TableName"], name), number

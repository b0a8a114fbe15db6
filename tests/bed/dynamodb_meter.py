"""A loopback proxy between the functions and DynamoDB (`AWS_ENDPOINT_URL_DYNAMODB`) that counts what they ask for.

It asks DynamoDB in their place what each call consumed (`ReturnConsumedCapacity`), which changes nothing else.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tests.bed.forwarder import Forwarder, Passed, Passing, Way

WRITES = frozenset({"DeleteItem", "PutItem", "TransactWriteItems", "UpdateItem"})


@dataclass(frozen=True)
class Call:
    """One call of DynamoDB: what it was asked for, how large the answer was, and the units by table and index."""

    operation: str
    request: Mapping[str, Any]
    status: int
    answer_bytes: int
    units: Mapping[tuple[str, str], float] = field(default_factory=dict)  # (table, index or "")

    @property
    def is_write(self) -> bool:
        return self.operation in WRITES

    def item_ids(self, table: str) -> list[str]:
        """The ids of the items of a table that it writes."""
        actions = [next(iter(action.values())) for action in self.request.get("TransactItems", ())] or [self.request]
        keys = (action.get("Key") or action["Item"] for action in actions if action["TableName"] == table)
        return [key["id"]["S"] for key in keys]


class DynamoDBMeter(Forwarder):
    """Remembers every call since the last reset."""

    def __init__(self, detour: Callable[[Passing], Way | None] = lambda _: None) -> None:
        super().__init__(detour)
        self._calls: list[Call] = []

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
        document = json.loads(answer.body or b"{}")
        operation = (request.header("x-amz-target") or "").rpartition(".")[2]
        units: dict[tuple[str, str], float] = defaultdict(float)
        for key, number in _units(document.pop("ConsumedCapacity", ())):
            units[key] += number
        size = len(json.dumps(document))
        with self.lock:
            self._calls.append(Call(operation, json.loads(request.body), answer.status, size, units))
        return answer


def _units(consumed: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> Iterator[tuple[tuple[str, str], float]]:
    for table in [consumed] if isinstance(consumed, Mapping) else consumed:
        indexes = {name: index["CapacityUnits"] for name, index in table.get("GlobalSecondaryIndexes", {}).items()}
        yield (table["TableName"], ""), table["CapacityUnits"] - sum(indexes.values())
        for name, number in indexes.items():
            yield (table["TableName"], name), number

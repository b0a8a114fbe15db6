"""Calls of DynamoDB: one call, or one repeated until all of its answer is there."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from conversations import dynamo_requests as requests
from conversations import schema
from conversations.aws_errors import reading, writing
from conversations.clock import Clock
from conversations.codec import Item
from conversations.dynamo_reads import Reads
from conversations.errors import BusyError, ContendedError, LostPinError

_BATCH_GET_KEYS = 100  # BatchGetItem's limit
_BATCH_TRIES = 8


@dataclass(frozen=True, slots=True)
class Tables:
    """The names of the two tables."""

    messages: str
    conversations: str


class Calls:
    """A client with the names of the tables. The client is shared and thread-safe."""

    def __init__(self, client: Any, tables: Tables, clock: Clock) -> None:
        self.client = client  # for writes
        self.reads = Reads(client)
        self.tables = tables
        self._clock = clock
        self._lost_pins = 0

    def take_lost_pins(self) -> int:
        """How many writes met others since this was last asked. They are tried again; many are a sign of a hot item."""
        lost, self._lost_pins = self._lost_pins, 0
        return lost

    @contextmanager
    def writing(self, puts: Sequence[str] = ()) -> Iterator[None]:
        """Raises a signal for what a new read and another try may mend; see ``aws_errors.writing``."""
        try:
            with writing(puts):
                yield
        except (LostPinError, ContendedError):
            self._lost_pins += 1
            raise

    def transact(self, actions: Sequence[Mapping[str, Any]], *, puts: Sequence[str] = ()) -> None:
        """Carry out all actions or none; ``puts`` are the ids of the new items, which come last."""
        with self.writing(puts):
            self.client.transact_write_items(TransactItems=actions)

    def query(self, query: dict[str, Any], limit: int) -> list[Item]:
        """The first items of a query; fewer than ``limit`` only when there are no more."""
        items: list[Item] = []
        while True:
            with reading():
                answer = self.reads.query(**query, Limit=limit - len(items))
            items.extend(answer["Items"])
            if len(items) >= limit or "LastEvaluatedKey" not in answer:
                return items
            query = query | {"ExclusiveStartKey": answer["LastEvaluatedKey"]}

    def batch_get(
        self,
        conversation_keys: Sequence[str],
        message_keys: Sequence[str] = (),
        *,
        attributes: Sequence[str] = (),
    ) -> dict[str, Item]:
        """All items of these keys that exist, consistently read, by id: no id stands in both tables.

        ``attributes``: only these, of items of the table of conversations.
        """
        keys = [(self.tables.conversations, key) for key in conversation_keys]
        keys += [(self.tables.messages, key) for key in message_keys]
        keys = list(dict.fromkeys(keys))  # BatchGetItem refuses a key that is named twice
        if len(keys) == 1 and not attributes:
            return self._get(*keys[0])
        items: dict[str, Item] = {}
        for first in range(0, len(keys), _BATCH_GET_KEYS):
            items |= self._batch_get_once(keys[first : first + _BATCH_GET_KEYS], attributes)
        return items

    def _get(self, table: str, key: str) -> dict[str, Item]:
        with reading():
            answer = self.reads.get_item(TableName=table, Key=requests.key(key), ConsistentRead=True)
        return {key: answer["Item"]} if "Item" in answer else {}

    def _batch_get_once(self, keys: Sequence[tuple[str, str]], attributes: Sequence[str]) -> dict[str, Item]:
        request: dict[str, Any] = {}
        for table, key in keys:
            request.setdefault(table, _wanted(attributes))["Keys"].append(requests.key(key))
        items: dict[str, Item] = {}
        for tries in range(_BATCH_TRIES):
            with reading():
                answer = self.reads.batch_get_item(RequestItems=request)
            for found in answer["Responses"].values():
                items |= {item[schema.ID]["S"]: item for item in found}
            request = answer.get("UnprocessedKeys") or {}
            if not request:
                return items
            self._clock.sleep(min(1.0, 0.02 * 2**tries))
        raise BusyError("The store is busy; try again.")


def _wanted(attributes: Sequence[str]) -> dict[str, Any]:
    wanted: dict[str, Any] = {"Keys": [], "ConsistentRead": True}
    if attributes:
        wanted["ProjectionExpression"] = ", ".join(f"#{name}" for name in attributes)
        wanted["ExpressionAttributeNames"] = requests.names(attributes)
    return wanted

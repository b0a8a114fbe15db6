"""Reading a history, from the store to the list for the model and to the HTTP answer, beside a bare Query."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from conversations.access import read_head
from conversations.history import read_history
from conversations.history_query import HistoryQuery
from conversations.model import Conversation
from conversations.store import Store
from conversations.windows import Limits
from tests.bed.in_process import Api
from tests.bench import plain
from tests.bench.bed import Bed, bed, engine
from tests.bench.canned import canned
from tests.bench.measuring import Row, cpu_us
from tests.bench.plain import READ_LENGTHS, SIZE, YARDSTICK_READ, reads_at_once
from tests.bench.titles import OURS, READ

_PLENTY = 1_000_000  # tokens: more than the longest of these conversations holds
Read = Sequence[Any] | Mapping[str, Any]
"""Messages, or the function's answer to the gateway, whose body holds them."""


@contextmanager
def rows(folder: Path) -> Iterator[list[Row]]:
    with engine(folder) as url, canned(url) as again, bed(url) as direct:
        plain.make_table(direct.dynamodb)
        yield [row for length in READ_LENGTHS for row in _rows(direct, again, length)]


def _rows(direct: Bed, again: str, length: int) -> Iterator[Row]:
    conversation_id = direct.fill(length, SIZE)
    plain.fill(direct.dynamodb, conversation_id, length, SIZE)
    bare = plain.bare(again)
    reads = Reads(direct, direct.store_through(again), conversation_id)
    works: dict[str, Callable[[], Read]] = {
        YARDSTICK_READ: lambda: plain.read(bare, conversation_id),
        f"{OURS}: Query to the list for the model": partial(reads.history, reads.head()),
        f"{OURS}: ... with the conversation's consistent read": lambda: reads.history(reads.head()),
        f"{OURS}: ... to the HTTP answer of /history": lambda: reads.answer("history"),
        f"{OURS}: the HTTP answer of /messages": lambda: reads.answer("messages", limit=str(length)),
    }
    for name, work in works.items():
        assert _messages_in(work()) in (length, length - 1), name  # a history ends with the last question
        yardstick = None if name == YARDSTICK_READ else YARDSTICK_READ
        yield Row(READ, name, partial(cpu_us, work, reads_at_once(length)), yardstick, at=length)


def _messages_in(read: Read) -> int:
    return len(json.loads(read["body"])["messages"] if isinstance(read, Mapping) else read)


class Reads:
    """One conversation read by the real store and the real API, without the limit of tokens."""

    def __init__(self, direct: Bed, store: Store, conversation_id: str) -> None:
        self._store = store
        self._clock = direct.clock
        self._id = conversation_id
        self._api = Api(store, direct.clock, history_tokens=_PLENTY)

    def head(self) -> Conversation:
        return read_head(self._store, self._clock, owner=None, conversation_id=self._id)

    def history(self, head: Conversation) -> Read:
        return read_history(self._store, head, HistoryQuery(limits=Limits(_PLENTY))).prompt.messages

    def answer(self, route: str, **query: str) -> Read:
        """What the function answers to the gateway, its body a text."""
        return self._api.send("GET", f"/conversations/{self._id}/{route}", None, query, {})

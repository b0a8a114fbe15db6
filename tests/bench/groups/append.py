"""Appending one message of 500 B at different lengths, beside one bare PutItem."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from conversations import ids
from conversations.appending import Appending, append
from conversations.model import Draft
from tests.bed.in_process import Api
from tests.bench import plain
from tests.bench.bed import OWNER, Bed, bed, engine, text
from tests.bench.canned import canned
from tests.bench.measuring import Row, cpu_us
from tests.bench.plain import APPEND_LENGTHS, APPENDS_AT_ONCE, SIZE, YARDSTICK_APPEND
from tests.bench.titles import APPEND, OURS


@contextmanager
def rows(folder: Path) -> Iterator[list[Row]]:
    with engine(folder) as url, canned(url) as again, bed(url) as direct:
        plain.make_table(direct.dynamodb)
        yield [row for length in APPEND_LENGTHS for row in _rows(direct, again, length)]


def _rows(direct: Bed, again: str, length: int) -> Iterator[Row]:
    conversation_id = direct.fill(length, SIZE)
    bare, store = plain.bare(again), direct.store_through(again)
    api = Api(store, direct.clock)
    said = [{"text": text(length, SIZE)}]
    body = json.dumps({"role": "user", "content": said})

    def ours() -> None:
        draft = Draft(ids.new_local(), "user", said)
        append(store, direct.clock, Appending(OWNER, conversation_id, [draft], "bench"))

    def posted() -> None:
        answer = api.send("POST", f"/conversations/{conversation_id}/messages", body, {}, {})
        assert answer["statusCode"] == 201, answer

    works: dict[str, Callable[[], None]] = {
        YARDSTICK_APPEND: partial(plain.append, bare, conversation_id, length, SIZE),
        f"{OURS}: conversation and message in one transaction": ours,
        f"{OURS}: the HTTP answer of POST /messages": posted,
    }
    for name, work in works.items():
        yardstick = None if name == YARDSTICK_APPEND else YARDSTICK_APPEND
        yield Row(APPEND, name, partial(cpu_us, work, APPENDS_AT_ONCE), yardstick, at=length)

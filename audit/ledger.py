"""Facts, sorted by conversation in a temporary file, since a scan of a table meets them in no order."""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from itertools import groupby
from types import TracebackType
from typing import Self

from audit.facts import Fact


class Ledger:
    """Takes facts in any order and gives them back a conversation at a time; memory holds one conversation only."""

    def __init__(self) -> None:
        self._rows = sqlite3.connect("")  # a file without a name, which the system removes with this process
        self._rows.execute("CREATE TABLE fact (conversation TEXT, kind TEXT, id TEXT, content TEXT)")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._rows.close()

    def add(self, facts: Iterable[Fact]) -> None:
        rows = ((fact.conversation, fact.kind, fact.id, json.dumps(dict(fact.values))) for fact in facts)
        self._rows.executemany("INSERT INTO fact VALUES (?, ?, ?, ?)", rows)

    def conversations(self) -> Iterator[tuple[str, list[Fact]]]:
        """The facts of each conversation."""
        rows = self._rows.execute("SELECT conversation, kind, id, content FROM fact ORDER BY conversation, kind, id")
        for conversation, found in groupby(rows, key=lambda row: str(row[0])):
            yield conversation, [Fact(row[0], row[1], row[2], json.loads(row[3])) for row in found]

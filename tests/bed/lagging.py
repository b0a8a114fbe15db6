"""The real store behind an index that lags: what a test withholds is missing from index queries, or shown there as it
was before a change, and only there.
"""

from collections.abc import Callable, Iterable
from typing import Any

from conversations.dynamo import DynamoStore
from conversations.model import Message, Trace
from conversations.store import Listed, Span


class LaggingStore:
    """Passes everything on to the real adapter, but for what it withholds; counts index queries and reads by id."""

    def __init__(self, store: DynamoStore) -> None:
        self._store = store
        self._withheld: Callable[[Message], bool] = lambda _: False
        self._withheld_conversations: set[str] = set()
        self._withheld_traces: set[str] = set()
        self._as_they_were: dict[str, Message] = {}
        self._traces_as_they_were: dict[str, Trace] = {}
        self._listings: dict[str, list[Listed]] = {}
        self.trace_reads = 0
        self.index_queries = 0
        self.reads_by_id = 0
        self.catches_up_after: int | None = None

    def withhold(self, message_ids: Iterable[str]) -> None:
        """Withhold these messages from now on, and count from zero."""
        ids = set(message_ids)
        self._withheld = lambda message: message.id in ids
        self.index_queries = self.reads_by_id = 0

    def withhold_conversations(self, conversation_ids: Iterable[str]) -> None:
        self._withheld_conversations = set(conversation_ids)

    def stop_at_present(self, message_ids: Iterable[str] = (), trace_ids: Iterable[str] = ()) -> None:
        """Show these in index queries as they are now from then on, whatever becomes of them."""
        self._as_they_were = self._store.messages(message_ids)
        self._traces_as_they_were = self._store.traces(trace_ids)

    def withhold_traces(self, trace_ids: Iterable[str]) -> None:
        self._withheld_traces = set(trace_ids)

    def indexed_traces(self, parent_id: str, *, limit: int) -> list[Trace]:
        found = self._store.indexed_traces(parent_id, limit=limit + 50)
        shown = [self._traces_as_they_were.get(trace.id, trace) for trace in found]
        return [trace for trace in shown if trace.id not in self._withheld_traces][:limit]

    def traces(self, trace_ids: Iterable[str]) -> dict[str, Trace]:
        self.trace_reads += 1
        return self._store.traces(trace_ids)

    def indexed(self, span: Span, *, newest_first: bool, limit: int) -> list[Message]:
        self.index_queries += 1
        if self.catches_up_after is not None and self.index_queries > self.catches_up_after:
            return self._store.indexed(span, newest_first=newest_first, limit=limit)
        found = self._store.indexed(span, newest_first=newest_first, limit=limit + 200)
        shown = [self._as_they_were.get(message.id, message) for message in found]
        return [message for message in shown if not self._withheld(message)][:limit]

    def stop_listing_at_present(self, owner: str, month: str) -> None:
        """List an owner's conversations, and all of a month, as the indexes have them now, from then on."""
        self._listings = {
            owner: self._store.owned(owner, after=None, limit=1000),
            month: self._store.active(month, after=None, limit=1000),
        }

    def active(self, month: str, *, after: Listed | None, limit: int) -> list[Listed]:
        if month in self._listings:
            return [] if after else self._listings[month]
        return self._store.active(month, after=after, limit=limit)

    def owned(self, owner: str, *, after: Listed | None, limit: int) -> list[Listed]:
        if owner in self._listings:
            return [] if after else self._listings[owner]
        found = self._store.owned(owner, after=after, limit=limit + 50)
        return [line for line in found if line.conversation_id not in self._withheld_conversations][:limit]

    def message(self, message_id: str) -> Message | None:
        self.reads_by_id += 1
        return self._store.message(message_id)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

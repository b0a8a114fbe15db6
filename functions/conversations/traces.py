"""Traces: the steps on the way to an answer, beside the chain of messages.

A trace is numbered by the conversation's head in the transaction that writes it, and its id tells the number. So what
the index has not got yet is known and read by id, as are those that were changed lately.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from conversations import ids
from conversations.access import snapshot_of, standing
from conversations.clock import NANOSECONDS, Clock, to_timestamp
from conversations.content import visible
from conversations.creating import expires_at
from conversations.errors import AlreadyStoredError, BusyError, InvalidRequestError, LostPinError
from conversations.interactions import leads
from conversations.model import Conversation, Trace
from conversations.retrying import until_written
from conversations.store import Store

LOWEST_NUMBER, HIGHEST_NUMBER = -(2**31), 2**31 - 1
_LOADED_AT_ONCE = 8  # traces are up to 5 MB each


@dataclass(frozen=True, slots=True)
class NewTrace:
    """What a trace is to hold; blank texts count as none. ``number`` has 32 bits with a sign."""

    parent_id: str
    number: int
    input: str | None = None
    prompt_template: str | None = None
    response: str | None = None
    origin: str | None = None
    additional_info: Mapping[str, Any] | None = None


def add_trace(store: Store, clock: Clock, *, owner: str | None, conversation_id: str, new: NewTrace) -> str:
    """The id of a new trace: one read and one transaction, which counts as activity.

    Raises:
        NotFoundError: the conversation is not there for this owner; ``ForeignError`` if it is somebody else's.
        InvalidRequestError: the parent leads no interaction of this conversation, or the number has more than 32 bits.
        BusyError: too many write the same conversation.
    """
    if not LOWEST_NUMBER <= new.number <= HIGHEST_NUMBER:
        raise InvalidRequestError("A trace's number must have 32 bits at most.", field="number")
    return _Adding(store, clock, owner, conversation_id, new).trace_id()


class _Adding:
    """One request to add a trace, which may be tried several times."""

    def __init__(self, store: Store, clock: Clock, owner: str | None, conversation_id: str, new: NewTrace) -> None:
        self._store = store
        self._clock = clock
        self._owner = owner
        self._conversation_id = conversation_id
        self._new = new
        self._nonce = ids.new_local()
        self._tried: list[Trace] = []

    def trace_id(self) -> str:
        try:
            written = until_written(self._once, self._clock)
        except BusyError:
            raise  # it may have been written after all
        except Exception:
            self._discard(None)
            raise
        self._discard(written)
        return written.id

    def _once(self) -> Trace:
        if written := self._written_before():
            return written
        snapshot = snapshot_of(self._store, self._conversation_id, messages=[self._new.parent_id])
        head = standing(snapshot, self._owner, self._clock.now_ns())
        parent = snapshot.messages.get(self._new.parent_id)
        if parent is None or not leads(parent) or parent.conversation_id != head.chain_id:
            raise InvalidRequestError("A trace's parent must be a message of its conversation.", field="parent")
        trace = self._placed(head)
        self._tried.append(trace)
        try:
            self._store.add_trace(head, _moved(head, trace, self._clock.now_ns()), trace)
        except AlreadyStoredError as signal:
            raise LostPinError from signal  # by an earlier try of this request, or by one that came in between
        return trace

    def _placed(self, head: Conversation) -> Trace:
        now, ordinal = to_timestamp(self._clock.now_ns()), head.notes.traces + 1
        trace = _trace(self._new, head.chain_id, ordinal, now, self._nonce)
        before = self._tried[-1] if self._tried else None
        if before is not None and before.chain_id == trace.chain_id:
            return replace(trace, large_key=before.large_key)
        return self._store.shelve_trace(trace)

    def _written_before(self) -> Trace | None:
        """What an earlier try wrote, if its answer was lost."""
        found = self._store.traces(trace.id for trace in self._tried) if self._tried else {}
        return next((trace for trace in found.values() if trace.nonce == self._nonce), None)

    def _discard(self, written: Trace | None) -> None:
        """Remove the objects of the tries that came to nothing."""
        keys = {trace.large_key for trace in self._tried if trace.large_key}
        self._store.remove_objects(sorted(keys - {written.large_key if written else None}))


def traces(store: Store, head: Conversation, parent_id: str, *, offset: int, limit: int) -> Iterator[Trace]:
    """A message's traces by number, then in the order of their writing. Their bulky parts are read by and by."""
    if ids.chain_of(parent_id) != head.chain_id:
        return
    known = {trace.id: trace for trace in store.indexed_traces(parent_id, limit=offset + limit)}
    known |= {trace.id: trace for trace in _lately(store, head, known) if trace.parent_id == parent_id}
    ordered = sorted(known.values(), key=lambda trace: (trace.number, trace.ordinal))
    page = ordered[offset : offset + limit]
    for first in range(0, len(page), _LOADED_AT_ONCE):
        yield from store.load_traces(page[first : first + _LOADED_AT_ONCE])


def _lately(store: Store, head: Conversation, known: Mapping[str, Trace]) -> list[Trace]:
    """The traces that the index may lack, or have as they were."""
    numbers = set(range(head.settled.traces + 1, head.notes.traces + 1))
    changed = head.changed_lately
    numbers |= {-place for place in changed or () if place < 0}
    doubtful = {ids.trace_id(head.chain_id, number) for number in numbers}
    if changed is None:
        doubtful |= known.keys()
    return list(store.traces(doubtful).values()) if doubtful else []


def _trace(new: NewTrace, chain_id: str, ordinal: int, now: str, nonce: str) -> Trace:
    return Trace(
        id=ids.trace_id(chain_id, ordinal),
        chain_id=chain_id,
        ordinal=ordinal,
        parent_id=new.parent_id,
        number=new.number,
        created_at=now,
        updated_at=now,
        input=visible(new.input),
        response=visible(new.response),
        prompt_template=visible(new.prompt_template),
        origin=visible(new.origin),
        additional_info=new.additional_info or {},
        nonce=nonce,
    )


def _moved(head: Conversation, trace: Trace, now_ns: int) -> Conversation:
    return replace(
        head,
        version=head.version + 1,
        notes=head.notes.with_trace(now_ns // NANOSECONDS),
        updated_at=max(trace.created_at, head.updated_at),
        expires_at=expires_at(head.ttl_days, now_ns),
        cleared_at=None,
    )

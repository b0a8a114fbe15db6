"""Removing what a deleted or expired conversation leaves behind, and the older chains of one that stands.

It may be cut off at any point, be repeated, and run several times at once. What is found by a message alone (its turn,
its receipt, its object) goes before it, and a message goes after the one that it names, so that whatever is still
there is found again. It runs once more when the tombstone itself has expired, for what came too late to be seen.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from conversations import ids
from conversations.clock import Clock, to_timestamp
from conversations.deleting import tombstone_of
from conversations.errors import BusyError
from conversations.model import ASKING_ROLES, About, Conversation, Message, Trace
from conversations.retrying import until_written
from conversations.store import Store

_WIDEST_GAP = 1000
_TRACES_AT_ONCE = 100


class Remains(Protocol):
    """What cleanup needs of the tables and the bucket beyond what a ``Store`` does.

    No page is empty, so that a round which ends after a page has removed something. To remove what is gone already does
    nothing. Any call may raise ``BusyError``.
    """

    def messages(self, chain_id: str) -> Iterator[Sequence[Message]]:
        """Pages of the messages of a chain, oldest first, as the index has them."""

    def traces(self, chain_id: str) -> Iterator[Sequence[Trace]]:
        """Pages of the traces of a chain, as the index has them."""

    def objects(self, conversation_id: str) -> Iterator[Sequence[str]]:
        """Pages of the keys of the objects of all chains."""

    def about(self, conversation_id: str) -> About | None:
        """A consistent read of what is said of a conversation in an item of its own."""

    def remove_items(self, item_ids: Sequence[str]) -> None:
        """Remove items of the table of messages."""

    def remove_objects(self, keys: Sequence[str]) -> None:
        """Remove objects."""

    def remove_about(self, conversation_id: str) -> None:
        """Remove what is said of a conversation in an item of its own."""

    def remove_references(self, tombstone: Conversation) -> None:
        """Remove the record of its session id, if that still stands for it, and its id among its owner's new ones."""


@dataclass(frozen=True, slots=True)
class End:
    """How a chain ended: its last message, and how many traces it has had. The indexes may not have them yet."""

    last_message_id: str | None = None
    traces: int = 0


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be cleaned. ``tombstone`` is what the table held before that expired, too.

    ``end`` is how the first of the chains ended, if that is known.
    """

    conversation_id: str
    first_chain: int = 0
    tombstone: Conversation | None = None
    end: End = field(default_factory=End)

    def from_chain(self, chain: int) -> "Task":
        """What is left of it when the chains before that one are clean."""
        return replace(self, first_chain=chain, end=self.end if chain == self.first_chain else End())


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What was found and removed, and the chain to go on with (``None``: nothing is left)."""

    items: int
    objects: int
    next_chain: int | None


def clean(store: Store, remains: Remains, clock: Clock, task: Task, *, give_up_at_ns: int) -> Cleaned:
    """Remove what a conversation leaves behind, until then at the latest; every round gets somewhat further.

    A conversation that stands keeps its present chain. One that has expired gets a tombstone first, so that nobody can
    make it anew from its key while its parts are being removed.

    Raises:
        BusyError: try again later.
    """
    found = until_written(lambda: _found(store, clock, task.conversation_id), clock)
    sweep = _Sweep(store, remains, clock, give_up_at_ns)
    sweep.know(task.first_chain, task.end)
    if found is not None and found.deleted_at is None:
        next_chain = sweep.chains(found.id, range(task.first_chain, found.chain))
    else:
        next_chain = sweep.everything(task, found or task.tombstone)
    return Cleaned(sweep.items, sweep.objects, next_chain)


def _found(store: Store, clock: Clock, conversation_id: str) -> Conversation | None:
    """The conversation if it stands, its tombstone if it does not, ``None`` if there is neither."""
    found = store.snapshot(conversation_id, about=True).conversation
    if found is None or found.deleted_at is not None or found.stands(clock.now_ns()):
        return found
    tombstone = tombstone_of(found, to_timestamp(clock.now_ns()))
    store.bury(tombstone, expects=found)
    return tombstone


def bury_removed(store: Store, remains: Remains, clock: Clock, removed: Conversation) -> None:
    """Leave a tombstone in the place of a conversation whose item is gone without one.

    Raises:
        BusyError: try again later.
    """
    until_written(lambda: _bury_removed_once(store, remains, clock, removed), clock)


def _bury_removed_once(store: Store, remains: Remains, clock: Clock, removed: Conversation) -> None:
    if store.snapshot(removed.id).conversation is not None:
        return  # by an earlier delivery of the same news
    known = replace(removed, about=removed.about or remains.about(removed.id))
    store.bury(tombstone_of(known, to_timestamp(clock.now_ns())), expects=None)


class _Sweep:
    """One round of removing, and what it has removed so far."""

    def __init__(self, store: Store, remains: Remains, clock: Clock, give_up_at_ns: int) -> None:
        self._store = store
        self._remains = remains
        self._clock = clock
        self._give_up_at_ns = give_up_at_ns
        self._ends: dict[int, End] = {}
        self.items = 0
        self.objects = 0

    def know(self, chain: int, end: End) -> None:
        """Take into account how a chain ended."""
        self._ends[chain] = end

    def everything(self, task: Task, tombstone: Conversation | None) -> int | None:
        """Remove all of a conversation; the chain to go on with, if time is over."""
        last_chain = task.first_chain
        if tombstone is not None:
            last_chain = tombstone.chain
            self.know(last_chain, End(tombstone.last_message_id, tombstone.notes.traces))
        self._remains.remove_about(task.conversation_id)
        if tombstone is not None:
            self._remains.remove_references(tombstone)
        next_chain = self.chains(task.conversation_id, range(task.first_chain, last_chain + 1))
        if next_chain is not None:
            return next_chain
        return None if self._all_objects(task.conversation_id) else last_chain + 1

    def chains(self, conversation_id: str, numbers: Iterable[int]) -> int | None:
        """Remove these chains; the one to go on with, if time is over."""
        for number in numbers:
            is_gone = self._chain(ids.chain_id(conversation_id, number), self._ends.get(number, End()))
            if self._is_over():
                return number + 1 if is_gone else number
        return None

    def _chain(self, chain_id: str, end: End) -> bool:
        """Whether all of it is gone."""
        if not self._traces_of(chain_id, end):
            return False
        known: set[str] = set()
        for page in self._remains.messages(chain_id):
            known.update(message.id for message in page)
            self._remove_messages([*self._unindexed(chain_id, _named(page), known), *page])
            if self._is_over():
                return False
        newest = {end.last_message_id} if end.last_message_id else set()
        self._remove_messages(self._unindexed(chain_id, newest, known))
        return True

    def _traces_of(self, chain_id: str, end: End) -> bool:
        """Whether all traces are gone, those too that the index has not got yet: they are numbered."""
        known: set[str] = set()
        for page in self._remains.traces(chain_id):
            known.update(trace.id for trace in page)
            self._remove_traces(page)
            if self._is_over():
                return False
        named = (ids.trace_id(chain_id, number) for number in range(1, end.traces + 1))
        missing = [trace_id for trace_id in named if trace_id not in known]
        for first in range(0, len(missing), _TRACES_AT_ONCE):
            found = list(self._store.traces(missing[first : first + _TRACES_AT_ONCE]).values())
            self._remove_traces(found)
            if found and self._is_over():
                return False
        return True

    def _remove_traces(self, traces: Sequence[Trace]) -> None:
        self._remove_objects([trace.large_key for trace in traces if trace.large_key])
        self._remove([trace.id for trace in traces])

    def _unindexed(self, chain_id: str, named: set[str], known: set[str]) -> list[Message]:
        """The messages that are named but were not found in the index, oldest first, as the table has them."""
        missing: list[Message] = []
        while named := {name for name in named - known if ids.belongs_to(name, chain_id)}:
            known |= named
            found = self._store.messages(named).values()
            missing.extend(found)
            named = _named(found)
            if len(missing) > _WIDEST_GAP:
                raise BusyError("The index of messages is too far behind; try again.")
        return sorted(missing, key=lambda message: message.created_at)

    def _remove_messages(self, messages: Sequence[Message]) -> None:
        self._remove_objects([message.large_key for message in messages if message.large_key])
        self._remains.remove_items(list(dict.fromkeys(beside for message in messages for beside in _beside(message))))
        self._remove([message.id for message in messages])

    def _all_objects(self, conversation_id: str) -> bool:
        """Remove the objects that are left, those too that no message names; whether all are gone."""
        for keys in self._remains.objects(conversation_id):
            self._remove_objects(keys)
            if self._is_over():
                return False
        return True

    def _remove(self, item_ids: Sequence[str]) -> None:
        self._remains.remove_items(item_ids)
        self.items += len(item_ids)

    def _remove_objects(self, keys: Sequence[str]) -> None:
        self._remains.remove_objects(keys)
        self.objects += len(keys)

    def _is_over(self) -> bool:
        return self._clock.now_ns() >= self._give_up_at_ns


def _named(messages: Iterable[Message]) -> set[str]:
    """The ids of the messages that stand before these in their chain."""
    return {message.previous_message_id for message in messages if message.previous_message_id}


def _beside(message: Message) -> Iterator[str]:
    """The ids of the items that exist for a message, and that nothing else names."""
    if message.role in ASKING_ROLES:
        yield ids.turn_id(message.id)
    if message.receipt:
        yield ids.message_id(message.conversation_id, message.receipt)

"""Pages of messages and of conversations."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from conversations import cursor as cursors
from conversations.chain import BEGINNING, Place, Walk, end_of, just_before, walk_back, walk_forward
from conversations.clock import NANOSECONDS, Clock, to_timestamp
from conversations.model import Conversation, Message, Page
from conversations.store import Listed, Store

Order = Literal["asc", "desc"]
Line = tuple[Listed, Conversation]
_READ_AT_ONCE = 100
_LOADED_AT_ONCE = 8
_MINUTE_NS = 60 * NANOSECONDS
_MOST_EMPTY_MONTHS = 24  # after two years without a conversation there is none before
EVERYBODY = "*"
"""Stands for all owners in a listing; nobody's ``sub`` is that."""


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Room(Generic[T]):
    """How much an answer may hold: ``most`` in the unit in which ``measure`` tells what one item takes."""

    measure: Callable[[T], int]
    most: int


class _Space(Generic[T]):
    """What is left of the room of an answer that holds one item at least."""

    def __init__(self, room: Room[T]) -> None:
        self._room = room
        self._left = room.most
        self._is_empty = True

    def takes(self, item: T) -> bool:
        """Whether there is room for one more; then it is taken."""
        self._left -= self._room.measure(item)
        takes = self._left >= 0 or self._is_empty
        self._is_empty = False
        return takes


def read_page(
    store: Store, head: Conversation, *, order: Order, limit: int, cursor: str | None, room: Room[Message]
) -> Page:
    """A page of messages without holes, cut to the room there is but never empty while there are more.

    It is read by and by, so that no more is read than a part beyond what there is room for.

    Raises:
        InvalidCursorError: the cursor is not of this query.
    """
    beginning = end_of(head) if order == "desc" else BEGINNING
    place: Place | None = cursors.to_messages(cursor, head, order) if cursor else beginning
    page: list[Message] = []
    repairs, is_full, space = 0, False, _Space(room)
    while place is not None and len(page) < limit and not is_full:
        due = min(limit - len(page), _READ_AT_ONCE)
        back = order == "desc"
        walk = walk_back(store, head, place, due) if back else walk_forward(store, head, place, due)
        repairs += walk.repairs
        fitting = _fitting(store, walk.messages, space)
        is_full = len(fitting) < len(walk.messages)
        if fitting or not is_full:
            place = _next_back(walk, len(fitting)) if back else _next_forward(head, fitting)
        page += fitting
    return Page(page, cursors.of_messages(head, order, place) if place else None, repairs)


def _fitting(store: Store, messages: Sequence[Message], space: _Space[Message]) -> list[Message]:
    """As many of the first messages, loaded, as there is room for."""
    fitting: list[Message] = []
    for first in range(0, len(messages), _LOADED_AT_ONCE):
        for message in store.load(messages[first : first + _LOADED_AT_ONCE]):
            if not space.takes(message):
                return fitting
            fitting.append(message)
    return fitting


def _next_back(walk: Walk, taken: int) -> Place | None:
    if not taken:
        return None
    last = walk.messages[taken - 1]
    expected = walk.messages[taken].id if taken < len(walk.messages) else walk.following
    return Place(expected, just_before(last.created_at), max(0, last.position - 1)) if expected else None


def _next_forward(head: Conversation, taken: Sequence[Message]) -> Place | None:
    if not taken or taken[-1].id == head.last_message_id:
        return None
    return Place(taken[-1].id, taken[-1].created_at, taken[-1].position)


def list_conversations(
    store: Store, clock: Clock, *, owner: str, limit: int, cursor: str | None, room: Room[Conversation]
) -> tuple[list[Conversation], str | None]:
    """An owner's conversations, last activity first, as they are now; deleted and expired ones are left out.

    A new one is never missing: it stands where its own time puts it, whether or not the index has it. Others stand
    where the index has them, so their order may lag behind by the index's delay.

    Raises:
        InvalidCursorError: the cursor is not of this query.
    """
    after = cursors.to_conversations(cursor, owner) if cursor else None
    lines = _owned(store, clock, owner, after, at_once=min(limit, _READ_AT_ONCE) + 1)
    return _listed(lines, owner, limit, room)


def list_all(
    store: Store, clock: Clock, *, limit: int, cursor: str | None, room: Room[Conversation]
) -> tuple[list[Conversation], str | None]:
    """All owners' conversations, those of the last active hour first; deleted and expired ones are left out.

    Raises:
        InvalidCursorError: the cursor is not of this query.
    """
    after = cursors.to_conversations(cursor, EVERYBODY, by_hour=True) if cursor else None
    lines = _active(store, clock, after, at_once=min(limit, _READ_AT_ONCE) + 1)
    return _listed(lines, EVERYBODY, limit, room)


def _listed(
    lines: Iterable[Line], owner: str, limit: int, room: Room[Conversation]
) -> tuple[list[Conversation], str | None]:
    """The first lines, as many as are asked for and as there is room for, and the cursor if there are more."""
    page: list[Line] = []
    space = _Space(room)
    following = None
    for line in lines:
        if len(page) == limit or not space.takes(line[1]):
            following = cursors.of_conversations(owner, page[-1][0])
            break
        page.append(line)
    return [conversation for _, conversation in page], following


def _owned(store: Store, clock: Clock, owner: str, after: Listed | None, *, at_once: int) -> Iterator[Line]:
    """The lines of an owner's listing, which are read by and by."""
    recent = store.conversations(recent_ids(store, clock, owner))
    is_last = False
    while not is_last:
        found = store.owned(owner, after=after, limit=at_once)
        is_last = len(found) < at_once
        yield from _merged(store, clock, found, recent, after=after, to_the_end=is_last)
        after = found[-1] if found else None


def recent_ids(store: Store, clock: Clock, owner: str) -> set[str]:
    """The ids of the conversations that an owner created just now, which an index may not have."""
    minute = clock.now_ns() // _MINUTE_NS
    return store.recent(owner, range(minute - 2, minute + 2))


def active_lines(store: Store, clock: Clock, *, at_once: int) -> Iterator[Listed]:
    """Everybody's conversations by the hour of their last activity, as the index has them, read by and by."""
    return (line for found in _active_pages(store, clock, None, at_once=at_once) for line in found)


def _active(store: Store, clock: Clock, after: Listed | None, *, at_once: int) -> Iterator[Line]:
    """The lines of everybody's listing, which are read by and by."""
    for found in _active_pages(store, clock, after, at_once=at_once):
        yield from _standing(store, clock, found)


def _active_pages(store: Store, clock: Clock, after: Listed | None, *, at_once: int) -> Iterator[list[Listed]]:
    month = after.sort_key[:7] if after else to_timestamp(clock.now_ns())[:7]
    empty_months = 0
    while empty_months < _MOST_EMPTY_MONTHS:
        found = store.active(month, after=after, limit=at_once)
        yield found
        empty_months = 0 if found else empty_months + 1
        is_last = len(found) < at_once
        month, after = (_month_before(month), None) if is_last else (month, found[-1])


def _standing(store: Store, clock: Clock, found: Sequence[Listed]) -> list[Line]:
    read = store.conversations(line.conversation_id for line in found)
    lines = [(line, read[line.conversation_id]) for line in found if line.conversation_id in read]
    now_ns = clock.now_ns()
    return [(line, conversation) for line, conversation in lines if conversation.stands(now_ns)]


def _month_before(month: str) -> str:
    year, number = int(month[:4]), int(month[5:])
    return f"{year - 1:04d}-12" if number == 1 else f"{year:04d}-{number - 1:02d}"


def _merged(
    store: Store,
    clock: Clock,
    found: Sequence[Listed],
    recent: dict[str, Conversation],
    *,
    after: Listed | None,
    to_the_end: bool,
) -> list[Line]:
    """The stretch of the index after ``after``, with the new conversations that belong into it, newest first."""
    indexed = store.conversations(line.conversation_id for line in found if line.conversation_id not in recent)
    lines = [(line, indexed[line.conversation_id]) for line in found if line.conversation_id in indexed]
    for conversation in recent.values():
        line = Listed(conversation.updated_at, conversation.id)
        if _is_between(line, after, None if to_the_end else found[-1]):
            lines.append((line, conversation))
    now_ns = clock.now_ns()
    standing = [(line, conversation) for line, conversation in lines if conversation.stands(now_ns)]
    return sorted(standing, key=lambda pair: _rank(pair[0]), reverse=True)


def _is_between(line: Listed, after: Listed | None, to: Listed | None) -> bool:
    is_after = after is None or _rank(line) < _rank(after)
    return is_after and (to is None or _rank(line) >= _rank(to))


def _rank(line: Listed) -> tuple[str, str]:
    return line.sort_key, line.conversation_id

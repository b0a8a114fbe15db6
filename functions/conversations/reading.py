"""Pages of messages and of conversations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from conversations import cursor as cursors
from conversations.chain import BEGINNING, Place, Walk, end_of, just_before, walk_back, walk_forward
from conversations.clock import NANOSECONDS, Clock, to_timestamp
from conversations.model import Conversation, Message, Page
from conversations.store import Listed, Store

Order = Literal["asc", "desc"]
_LOADED_AT_ONCE = 8
_MINUTE_NS = 60 * NANOSECONDS
_MOST_EMPTY_MONTHS = 24  # after two years without a conversation there is none before
EVERYBODY = "*"
"""Stands for all owners in a listing; nobody's ``sub`` is that."""


@dataclass(frozen=True, slots=True)
class Room:
    """How much an answer may hold: ``most`` in the unit in which ``measure`` tells what one message takes."""

    measure: Callable[[Message], int]
    most: int


def read_page(store: Store, head: Conversation, *, order: Order, limit: int, cursor: str | None, room: Room) -> Page:
    """A page of messages without holes, cut to the room there is but never empty while there are more.

    Raises:
        InvalidCursorError: the cursor is not of this query.
    """
    if order == "desc":
        start = cursors.to_messages(cursor, head, order) if cursor else end_of(head)
        walk = walk_back(store, head.chain_id, start, limit)
    else:
        after = cursors.to_messages(cursor, head, order) if cursor else BEGINNING
        walk = walk_forward(store, head, after, limit)
    fitting = _fitting(store, walk.messages, room)
    place = _next_back(walk, len(fitting)) if order == "desc" else _next_forward(head, fitting)
    following = cursors.of_messages(head, order, place) if place else None
    return Page(fitting, following, walk.repairs)


def _fitting(store: Store, messages: Sequence[Message], room: Room) -> list[Message]:
    """As many of the first messages, loaded, as there is room for, and one at least."""
    fitting: list[Message] = []
    left = room.most
    for first in range(0, len(messages), _LOADED_AT_ONCE):
        for message in store.load(messages[first : first + _LOADED_AT_ONCE]):
            left -= room.measure(message)
            if left < 0 and fitting:
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
    store: Store, clock: Clock, *, owner: str, limit: int, cursor: str | None
) -> tuple[list[Conversation], str | None]:
    """An owner's conversations, last activity first, as they are now; deleted and expired ones are left out.

    A new one is never missing: it stands where its own time puts it, whether or not the index has it. Others stand
    where the index has them, so their order may lag behind by the index's delay.

    Raises:
        InvalidCursorError: the cursor is not of this query.
    """
    after = cursors.to_conversations(cursor, owner) if cursor else None
    minute = clock.now_ns() // _MINUTE_NS
    recent = store.conversations(store.recent(owner, range(minute - 2, minute + 2)))
    listed: list[tuple[Listed, Conversation]] = []
    while True:
        found = store.owned(owner, after=after, limit=limit + 1)
        is_last = len(found) <= limit
        listed += _merged(store, clock, found, recent, after=after, to_the_end=is_last)
        if is_last or len(listed) > limit:
            break
        after = found[-1]
    page = listed[:limit]
    more = len(listed) > limit
    following = cursors.of_conversations(owner, page[-1][0]) if more else None
    return [conversation for _, conversation in page], following


def list_all(store: Store, clock: Clock, *, limit: int, cursor: str | None) -> tuple[list[Conversation], str | None]:
    """All owners' conversations, those of the last active hour first; deleted and expired ones are left out.

    Raises:
        InvalidCursorError: the cursor is not of this query.
    """
    after = cursors.to_conversations(cursor, EVERYBODY) if cursor else None
    month = after.sort_key[:7] if after else to_timestamp(clock.now_ns())[:7]
    page: list[tuple[Listed, Conversation]] = []
    empty_months = 0
    while len(page) <= limit and empty_months < _MOST_EMPTY_MONTHS:
        found = store.active(month, after=after, limit=limit + 1)
        page += _standing(store, clock, found)
        empty_months = 0 if found else empty_months + 1
        is_last = len(found) <= limit
        month, after = (_month_before(month), None) if is_last else (month, found[-1])
    following = cursors.of_conversations(EVERYBODY, page[limit - 1][0]) if len(page) > limit else None
    return [conversation for _, conversation in page[:limit]], following


def _standing(store: Store, clock: Clock, found: Sequence[Listed]) -> list[tuple[Listed, Conversation]]:
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
) -> list[tuple[Listed, Conversation]]:
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

"""Reading a conversation's chain so that the index's staleness is never visible.

Every message names the one before it, and the conversation, read consistently, names the last. So what the index has
not got yet is noticed and fetched by its id with a consistent read, one read for each message that is missing. A wide
gap is first asked of the index again, which may have caught up by then.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from conversations.clock import from_timestamp, to_timestamp
from conversations.errors import BusyError
from conversations.model import Conversation, Message
from conversations.store import Span, Store

WIDE_GAP = 8
_MOST_REPAIRS = 1000
_FIRST_PAGE, _LARGEST_PAGE = 20, 500


@dataclass(slots=True)
class Walk:
    """Messages of a chain without holes, and how many of them the index did not have.

    ``following`` is the id of the message after the last one taken, in the direction of a walk back.
    """

    messages: list[Message] = field(default_factory=list)
    repairs: int = 0
    following: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """A message's place in the chain: its id (``None``: there is none), a time, and its position."""

    message_id: str | None
    created_at: str | None
    position: int


def end_of(head: Conversation) -> Place:
    """The place of the last message."""
    return Place(head.last_message_id, head.last_message_at, head.message_count)


BEGINNING = Place(None, None, 0)


def walk_back(store: Store, head: Conversation, start: Place, limit: int) -> Walk:
    """Up to ``limit`` messages, newest first, from the message at ``start`` on.

    ``start.created_at`` may be any time from that message's to just before the next one's.
    """
    if start.message_id is None or limit <= 0:
        return Walk()
    return _BackwardWalk(store, head, start, limit).go()


def walk_forward(store: Store, head: Conversation, after: Place, limit: int) -> Walk:
    """Up to ``limit`` messages, oldest first, that follow the one at ``after``."""
    due = min(limit, head.message_count - after.position)
    if due <= 0:
        return Walk()
    earliest = just_after(after.created_at) if after.created_at else None
    span = Span(head.chain_id, earliest=earliest, latest=head.last_message_at)
    found = _indexed(store, head, span, newest_first=False, limit=due)
    if _missing(found, after, due) > WIDE_GAP:
        found = _indexed(store, head, span, newest_first=False, limit=due)
    walk, last = Walk(), after.message_id
    for message in found:
        _fill(store, walk, newest=message.previous_message_id, stop=last)
        walk.messages.append(message)
        last = message.id
    if len(walk.messages) < due:
        _fill(store, walk, newest=head.last_message_id, stop=last)
    del walk.messages[due:]
    return walk


def forward(store: Store, head: Conversation, after: Place = BEGINNING, *, due: int | None = None) -> Iterator[Message]:
    """All messages that follow the one at ``after``, oldest first, read by and by; about ``due`` will be taken."""
    place, due = after, head.message_count if due is None else due
    while messages := walk_forward(store, head, place, _page(due)).messages:
        yield from messages
        last, due = messages[-1], due - len(messages)
        place = Place(last.id, last.created_at, last.position or place.position + len(messages))


def backward(store: Store, head: Conversation, *, due: int | None = None) -> Iterator[Message]:
    """All messages, newest first, read by and by; about ``due`` will be taken."""
    place, due = end_of(head), head.message_count if due is None else due
    while (walk := walk_back(store, head, place, _page(due))).messages:
        yield from walk.messages
        last, due = walk.messages[-1], due - len(walk.messages)
        position = (last.position or place.position - len(walk.messages) + 1) - 1
        place = Place(walk.following, just_before(last.created_at), max(0, position))


def _page(due: int) -> int:
    return min(max(due, _FIRST_PAGE), _LARGEST_PAGE)


def _indexed(store: Store, head: Conversation, span: Span, *, newest_first: bool, limit: int) -> list[Message]:
    """What the index has of a span, but for what was changed in place lately: that is read by its id."""
    found = store.indexed(span, newest_first=newest_first, limit=limit)
    changed = head.changed_lately
    if changed == frozenset():  # nearly always
        return found
    doubtful = [message.id for message in found if changed is None or message.position in changed]
    if not doubtful:
        return found
    now = store.messages(doubtful)
    return [now.get(message.id, message) for message in found]


def just_before(timestamp: str) -> str:
    """The last timestamp before this one."""
    return to_timestamp(from_timestamp(timestamp) - 1)


def just_after(timestamp: str) -> str:
    """The first timestamp after this one."""
    return to_timestamp(from_timestamp(timestamp) + 1)


def _missing(found: list[Message], after: Place, due: int) -> int:
    return due - sum(message.position <= after.position + due for message in found)


def _fill(store: Store, walk: Walk, *, newest: str | None, stop: str | None) -> None:
    """Add the messages from after ``stop`` up to ``newest``, which the index did not have."""
    missing: list[Message] = []
    while newest is not None and newest != stop:
        message = store.message(newest)
        if message is None:
            break
        if len(missing) >= _MOST_REPAIRS:
            raise BusyError("The index of messages is too far behind; try again.")
        missing.append(message)
        newest = message.previous_message_id
    walk.messages.extend(reversed(missing))
    walk.repairs += len(missing)


class _BackwardWalk:
    """The state of one walk back: what the index gave, and what was taken of it."""

    def __init__(self, store: Store, head: Conversation, start: Place, limit: int) -> None:
        self._store = store
        self._head = head
        self._span = Span(head.chain_id, latest=start.created_at)
        self._start = start
        self._limit = limit
        self._walk = Walk()
        self._in_hand: dict[str, Message] = {}
        self._asked_again = False

    def go(self) -> Walk:
        self._ask_index()
        taken, expected = self._walk.messages, self._start.message_id
        while expected is not None and len(taken) < self._limit:
            message = self._in_hand.get(expected) or self._fetch(expected) or self._next_in_hand()
            if message is None:
                break
            taken.append(message)
            expected = message.previous_message_id if message.position else self._after_unreadable(message)
        self._walk.following = expected
        return self._walk

    def _ask_index(self) -> None:
        found = _indexed(self._store, self._head, self._span, newest_first=True, limit=self._limit)
        self._in_hand |= {message.id: message for message in found}

    def _fetch(self, message_id: str) -> Message | None:
        if not self._asked_again and self._gap() > WIDE_GAP:
            self._asked_again = True
            self._ask_index()
            if message := self._in_hand.get(message_id):
                return message
        message = self._store.message(message_id)
        self._walk.repairs += message is not None
        return message

    def _gap(self) -> int:
        """How many messages the index lacks before the next one in hand."""
        following = self._next_in_hand()
        expected = self._start.position - len(self._walk.messages)
        wanted = self._limit - len(self._walk.messages)
        return min(wanted, expected - (following.position if following else 0))

    def _next_in_hand(self) -> Message | None:
        """The newest message in hand that is older than all that were taken."""
        before = self._walk.messages[-1].created_at if self._walk.messages else None
        older = (message for message in self._in_hand.values() if before is None or message.created_at < before)
        return max(older, key=lambda message: message.created_at, default=None)

    def _after_unreadable(self, message: Message) -> str | None:
        """What the index has before a message whose item cannot say it itself."""
        span = Span(self._span.chain_id, latest=just_before(message.created_at))
        following = self._store.indexed(span, newest_first=True, limit=1)
        return following[0].id if following else None

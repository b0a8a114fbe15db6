"""Listing conversations exactly by their last activity, as OpenSearch lists memories: by offset, or by a cursor.

The indexes tell which conversations there are, a consistent read when each was last active. So every listing reads all
of an owner's; it sees the present, but it costs by the number of conversations (see ``reading`` for the cheap one).
"""

from collections.abc import Iterator

from conversations import cursor as cursors
from conversations.clock import Clock
from conversations.model import Conversation
from conversations.reading import EVERYBODY, active_lines, recent_ids
from conversations.store import Activity, Listed, Store

MOST_MEMORIES = 10_000
"""How many are looked at, those first that the index has as last active; OpenSearch shows no page beyond either."""
_LINES_AT_ONCE = 1000


def memories(
    store: Store, clock: Clock, owner: str | None, *, offset: int, limit: int, caller: str | None = None
) -> list[Conversation]:
    """Conversations by their last activity, newest first, as they are now.

    ``owner`` is ``None`` for all owners' (then by the hour, as the index of all has them, and by the very time within
    what is looked at); ``caller`` is whose new ones are never missing then.
    """
    lines = _lines(standing_memories(store, clock, owner, caller=caller))
    return _read(store, clock, lines[offset : offset + limit])


def memories_after(
    store: Store, clock: Clock, owner: str | None, *, cursor: str | None, limit: int, caller: str | None = None
) -> tuple[list[Conversation], str | None]:
    """The same by a cursor: what moves to the front meanwhile moves nothing else into a page, or out of one.

    Raises:
        InvalidCursorError: the cursor is not of this query.
    """
    scope = EVERYBODY if owner is None else owner
    after = cursors.to_conversations(cursor, scope) if cursor else None
    lines = _lines(standing_memories(store, clock, owner, caller=caller))
    following = [line for line in lines if after is None or _rank(line) < _rank(after)]
    page = following[:limit]
    more = cursors.of_conversations(scope, page[-1]) if len(following) > limit else None
    return _read(store, clock, page), more


def standing_memories(store: Store, clock: Clock, owner: str | None, *, caller: str | None = None) -> list[Activity]:
    """An owner's conversations (``None``: all owners') that stand now, in no order; see ``MOST_MEMORIES``."""
    new = owner if owner is not None else caller
    ids = dict.fromkeys(recent_ids(store, clock, new) if new is not None else ())
    for line in _indexed(store, clock, owner):
        if len(ids) >= MOST_MEMORIES:
            break
        ids[line.conversation_id] = None
    now_ns = clock.now_ns()
    return [activity for activity in store.activities(ids) if activity.stands(now_ns)]


def _indexed(store: Store, clock: Clock, owner: str | None) -> Iterator[Listed]:
    if owner is None:
        yield from active_lines(store, clock, at_once=_LINES_AT_ONCE)
        return
    after: Listed | None = None
    while found := store.owned(owner, after=after, limit=_LINES_AT_ONCE):
        yield from found
        if len(found) < _LINES_AT_ONCE:
            return
        after = found[-1]


def _lines(activities: list[Activity]) -> list[Listed]:
    lines = [Listed(activity.updated_at, activity.conversation_id) for activity in activities]
    return sorted(lines, key=_rank, reverse=True)


def _rank(line: Listed) -> tuple[str, str]:
    return line.sort_key, line.conversation_id


def _read(store: Store, clock: Clock, lines: list[Listed]) -> list[Conversation]:
    found = store.conversations(line.conversation_id for line in lines)
    now_ns = clock.now_ns()
    read = (found.get(line.conversation_id) for line in lines)
    return [conversation for conversation in read if conversation and conversation.stands(now_ns)]

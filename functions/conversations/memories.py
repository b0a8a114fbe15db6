"""Listing conversations exactly by their last activity, as OpenSearch lists memories.

The indexes tell which conversations there are, a consistent read when each was last active. So every listing reads all
of an owner's; it sees the present, but it costs by the number of conversations (see ``reading`` for the cheap one).
"""

from collections.abc import Iterator, Sequence

from conversations.clock import Clock
from conversations.model import Conversation
from conversations.reading import active_lines, recent_ids
from conversations.store import Activity, Listed, Store

MOST_MEMORIES = 10_000
"""How many are looked at, those first that the index has as last active; OpenSearch shows no page beyond either."""
_LINES_AT_ONCE = 1000
_READ_AT_ONCE = 100


def memories(
    store: Store, clock: Clock, owner: str | None, *, offset: int, limit: int, caller: str | None = None
) -> Iterator[Conversation]:
    """Conversations by their last activity, newest first, as they are now, read by and by.

    ``owner`` is ``None`` for all owners' (then by the hour, as the index of all has them, and by the very time within
    what is looked at); ``caller`` is whose new ones are never missing then.
    """
    present = sorted(standing_memories(store, clock, owner, caller=caller), key=_rank, reverse=True)
    return read_memories(store, clock, [activity.conversation_id for activity in present[offset : offset + limit]])


def read_memories(store: Store, clock: Clock, conversation_ids: Sequence[str]) -> Iterator[Conversation]:
    """Those of these conversations that stand, in this order, read by and by: each may have much said of it."""
    for first in range(0, len(conversation_ids), _READ_AT_ONCE):
        some = conversation_ids[first : first + _READ_AT_ONCE]
        found = store.conversations(some)
        yield from (found[id_] for id_ in some if id_ in found and found[id_].stands(clock.now_ns()))


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


def _rank(activity: Activity) -> tuple[str, str]:
    return activity.updated_at, activity.conversation_id

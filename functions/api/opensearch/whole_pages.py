"""Pages of memories that show each memory exactly once, although every message moves its memory to the front.

The token remembers when the first page was asked for, the place where the last one ended, and what was shown. Pages go
down from place to place; a memory that moved to the front before its turn came stands at the end, behind all that did
not move. What is made after the beginning is left to the next listing.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from api.opensearch.parameters import invalid_token
from conversations import ids
from conversations.clock import Clock, is_timestamp, to_timestamp
from conversations.memories import read_memories, standing_memories
from conversations.model import Conversation
from conversations.store import Store

MOST_REMEMBERED = 800
"""More would make the token too long for a URL; what is forgotten may be shown twice if it moves."""
_MARK_LENGTH = 5  # 30 bits: 10 that moved meet one of 800 by chance in one of 100,000 listings
_KIND = "w1"
_LONGEST = 8192

Rank = tuple[str, str]
"""The time of a memory's last activity, and its id: what memories are ordered by, the greatest first."""
_END: Rank = ("", "")
"""The place behind all that did not move."""


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who looks at the list: his own memories if he is the ``scope``, or with ``None`` everybody's."""

    owner: str
    scope: str | None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a listing has come. ``marks`` stand for the last memories shown, ``count`` is the number of all."""

    began_at: str
    place: Rank | None = None
    count: int = 0
    marks: tuple[str, ...] = ()

    def with_shown(self, shown: Sequence[Conversation]) -> "Progress":
        """The progress when these have been shown, too."""
        last = (shown[-1].updated_at, shown[-1].id)
        has_moved = self.place is not None and last >= self.place
        return replace(
            self,
            place=_END if has_moved else last,
            count=self.count + len(shown),
            marks=(*self.marks, *(_mark(conversation.id) for conversation in shown))[-MOST_REMEMBERED:],
        )


def begin(clock: Clock) -> Progress:
    """The progress of a listing that begins now."""
    return Progress(to_timestamp(clock.now_ns()))


def following(store: Store, clock: Clock, viewer: Viewer, progress: Progress, *, size: int) -> list[Conversation]:
    """The next memories of a listing."""
    present = standing_memories(store, clock, viewer.scope, caller=viewer.owner)
    ranks = sorted(((activity.updated_at, activity.conversation_id) for activity in present), reverse=True)
    place = progress.place
    unmoved = [rank for rank in ranks if place is None or rank < place]
    moved = [rank for rank in ranks if place is not None and rank >= place and _is_left(rank, progress)]
    found = read_memories(store, clock, [id_ for _, id_ in (*unmoved, *moved)])
    return list(islice((one for one in found if place is None or one.created_at <= progress.began_at), size))


def _is_left(rank: Rank, progress: Progress) -> bool:
    """Whether a memory that stands before the place has not been shown."""
    updated_at, id_ = rank
    return updated_at > progress.began_at and _mark(id_) not in progress.marks


def encode(viewer: Viewer, progress: Progress) -> str:
    """The token of the next page."""
    place = list(progress.place) if progress.place else None
    parts = [_KIND, _whose(viewer), progress.began_at, place, progress.count, "".join(progress.marks)]
    return urlsafe_b64encode(json.dumps(parts, separators=(",", ":")).encode()).decode().rstrip("=")


def decode(token: str, viewer: Viewer) -> Progress:
    """The progress that a token of this viewer's holds.

    Raises:
        DialectError: it holds none.
    """
    match _parts(token):
        case [kind, whose, str(began_at), [str(updated_at), str(id_)], int(count), str(marks)] if (
            [kind, whose] == [_KIND, _whose(viewer)] and is_timestamp(began_at) and count >= 0
        ):
            if (updated_at, id_) == _END or (is_timestamp(updated_at) and ids.is_conversation_id(id_)):
                starts = range(0, len(marks), _MARK_LENGTH)
                known = tuple(marks[at : at + _MARK_LENGTH] for at in starts)
                return Progress(began_at, (updated_at, id_), count, known)
    raise invalid_token(token)


def _parts(token: str) -> Any:
    try:
        return json.loads(urlsafe_b64decode(token + "=" * (-len(token) % 4))) if len(token) <= _LONGEST else None
    except (ValueError, RecursionError):
        return None


def _whose(viewer: Viewer) -> str:
    return ids.digest(viewer.owner, "own" if viewer.scope else "all")


def _mark(conversation_id: str) -> str:
    return ids.digest(conversation_id)[:_MARK_LENGTH]

"""Trying a write again, from a new read, while others write the same."""

from collections.abc import Callable
from random import SystemRandom
from typing import TypeVar

from conversations.clock import NANOSECONDS, Clock
from conversations.errors import BusyError, ContendedError, LostPinError

GIVE_UP_AFTER_S = 16.0  # the API's function ends at 29 s, and what was begun before may take 11 (see ``clients``)
_FIRST_PAUSE_S = 0.01
LONGEST_PAUSE_S = 0.5
_DOUBLINGS = 6

_random = SystemRandom()
Result = TypeVar("Result")


def until_written(attempt: Callable[[], Result], clock: Clock, *, give_up_after_s: float = GIVE_UP_AFTER_S) -> Result:
    """Call ``attempt`` until it is neither contended nor pinned to something that has changed.

    The pause is random up to a bound that doubles, so that many writers spread out (full jitter).

    Raises:
        BusyError: it was still contended after ``give_up_after_s`` seconds.
    """
    give_up_at = clock.now_ns() + int(give_up_after_s * NANOSECONDS)
    tries = 0
    while True:
        try:
            return attempt()
        except (LostPinError, ContendedError) as signal:
            if clock.now_ns() >= give_up_at:
                raise BusyError("The conversation is being written by too many at once; try again.") from signal
            longest = min(LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2 ** min(tries, _DOUBLINGS))
            clock.sleep(_random.uniform(0, longest))
            tries += 1

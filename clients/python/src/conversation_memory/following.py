"""Following a turn by long poll: the text as it comes, and the answer at the end."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from conversation_memory.errors import FollowTimeoutError, TurnFailedError
from conversation_memory.operations import LONGEST_WAIT_S, get_turn
from conversation_memory.steps import Emit, Sleep, Steps
from conversation_memory.types import FollowedTurn, Message, TurnEvent

_UNDER_WAY = ("pending", "running")
_PAUSE_S = 0.2
"""Between polls that bring nothing though they were to wait: nobody is asked a hundred times a second."""


def follow(asked: Mapping[str, Any], *, timeout_s: float = 900) -> Steps[None]:
    """The text of an answer as it comes, by long poll; the last event holds the answer, or says how the turn ended.

    ``asked`` is what ``start_turn`` returned (``AskedTurn``), or the message alone: a turn may be followed again.

    Raises:
        FollowTimeoutError: the turn has not ended in time. It goes on, and may be followed again.
    """
    message: Mapping[str, Any] = asked.get("message", asked)
    shown = ""
    until = time.monotonic() + timeout_s
    while True:
        left_s = until - time.monotonic()
        if left_s <= 0:
            raise _too_late(timeout_s)
        wait_s = max(1, min(LONGEST_WAIT_S, int(left_s)))
        asked_at = time.monotonic()
        followed = yield from get_turn(message["conversationId"], message["id"], wait_s=wait_s, after=len(shown))
        has_ended = followed["turn"]["status"] not in _UNDER_WAY
        text = _text(followed, shown)
        if has_ended or text != shown:
            yield Emit(_event(followed, text, shown))
            shown = text
        elif time.monotonic() - asked_at < wait_s / 2:
            yield Sleep(_PAUSE_S)
        if has_ended:
            return


def answer(asked: Mapping[str, Any], *, timeout_s: float = 900) -> Steps[Message]:
    """Wait for the answer.

    Raises:
        TurnFailedError: the turn failed or was cancelled.
        FollowTimeoutError: as for ``follow``.
    """
    message: Mapping[str, Any] = asked.get("message", asked)
    until = time.monotonic() + timeout_s
    while (left_s := until - time.monotonic()) > 0:
        wait_s = max(1, min(LONGEST_WAIT_S, int(left_s)))
        followed = yield from get_turn(message["conversationId"], message["id"], wait_s=wait_s)
        if "message" in followed:
            return followed["message"]
        if followed["turn"]["status"] not in _UNDER_WAY:
            raise TurnFailedError(followed["turn"])
        yield Sleep(_PAUSE_S)
    raise _too_late(timeout_s)


def _too_late(timeout_s: float) -> FollowTimeoutError:
    return FollowTimeoutError(f"The turn has not ended in {timeout_s:g} s.")


def _text(followed: FollowedTurn, shown: str) -> str:
    """All that the model has said so far; what was shown, while a new attempt has said nothing yet."""
    turn = followed["turn"]
    if turn["status"] == "complete":
        said = followed.get("message", {"content": []})["content"]
        return "".join(block["text"] for block in said if isinstance(block.get("text"), str))
    return turn["partialText"] or shown


def _event(followed: FollowedTurn, text: str, shown: str) -> TurnEvent:
    goes_on = text.startswith(shown)
    event: TurnEvent = {
        "text": text[len(shown) :] if goes_on else text,
        "isAnew": not goes_on,
        "turn": followed["turn"],
    }
    if "message" in followed:
        event["message"] = followed["message"]
    return event

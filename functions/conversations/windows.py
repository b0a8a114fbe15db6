"""How much of a history is sent: what was asked for, what the deployment allows, what the model takes, and what the
answers before have told of that.

Tokens are estimated (``conversations.tokens``). The model tells with every answer how many there were, so that the next
estimate in the same conversation is corrected by the ratio, which the answer keeps: at no write of its own.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from conversations.arrange import Window
from conversations.context_lengths import context_length
from conversations.model import Message

DEFAULT_ANSWER_TOKENS = 4_096
"""Kept for an answer whose length is not bounded."""
_SURE_PART = 0.95  # of a model's context: the corrected estimate is still one
_LEAST_RATIO, _LARGEST_RATIO = 0.5, 4.0
_SMALLEST_MEASURED = 200  # estimated tokens: what surrounds a short prompt tells nothing of a long one


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds the prompts of a deployment: tokens of a history where nothing else is asked for, the model, and the
    longest answer.
    """

    history_tokens: int | None = None
    model_id: str = ""
    answer_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Learned:
    """What answers of a model have told: by how much its count differs from the estimate, and how much was once too
    much (in estimated tokens).
    """

    ratio: float = 1.0
    most: int | None = None


def learned_from(messages: Iterable[Message], model_id: str) -> Learned:
    """What the first of these messages tells that is an answer of this model."""
    for message in messages:
        if message.measured is not None and message.model_id == model_id:
            return Learned(message.measured.get("ratio", 1.0), message.measured.get("most"))
    return Learned()


def measured(learned: Learned, *, estimated: int, usage: Mapping[str, Any] | None, most: int | None) -> dict[str, Any]:
    """What an answer keeps for the next prompt: ``{ratio, most?}``.

    ``usage`` is that of the prompt which was estimated, ``most`` what it was cut to because the model refused more.
    """
    names = ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
    counted = sum((usage or {}).get(name) or 0 for name in names)
    ratio = learned.ratio
    if counted and estimated >= _SMALLEST_MEASURED:
        ratio = min(_LARGEST_RATIO, max(_LEAST_RATIO, round(counted / estimated, 3)))
    bound = most or learned.most
    return {"ratio": ratio, **({"most": bound} if bound else {})}


def window_for(asked: Window, limits: Limits, learned: Learned) -> Window:
    """The window in estimated tokens, all that the prompt holds counted."""
    bounds = [
        bound / learned.ratio
        for bound in (asked.max_tokens or limits.history_tokens, _left_by_model(limits))
        if bound is not None
    ]
    bounds += [learned.most] if learned.most is not None else []
    return Window(asked.max_messages, max(1, int(min(bounds))) if bounds else None)


def _left_by_model(limits: Limits) -> int | None:
    """What a model's context leaves to the prompt; half of it at least, however long answers may be."""
    length = context_length(limits.model_id)
    if length is None:
        return None
    answer = min(limits.answer_tokens or DEFAULT_ANSWER_TOKENS, length // 2)
    return int((length - answer) * _SURE_PART)

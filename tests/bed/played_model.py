"""A model that says what it is told to say, in the place of Bedrock's adapter, and the settings of a turn with it."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from conversations.language_model import ModelRequest
from conversations.settings import StoreSettings
from turn.settings import TurnSettings

SETTINGS = TurnSettings(StoreSettings("", "", ""), "model", "", 100_000, None)
PLENTY_MS = 600_000
Script = Callable[[], Iterator[Mapping[str, Any]]]


def deltas(*texts: str, stop: str | None = "end_turn") -> Iterator[Mapping[str, Any]]:
    """The events of an answer of text."""
    yield {"messageStart": {"role": "assistant"}}
    for text in texts:
        yield {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": text}}}
    yield {"contentBlockStop": {"contentBlockIndex": 0}}
    if stop:
        yield {"messageStop": {"stopReason": stop}}
        yield {"metadata": {"usage": {"inputTokens": 3, "outputTokens": 5, "totalTokens": 8}}}


class PlayedModel:
    """Plays the scripts in order, then answers ``done``."""

    def __init__(self) -> None:
        self.scripts: list[Script] = []
        self.requests: list[ModelRequest] = []

    def ask(self, request: ModelRequest) -> Iterator[Mapping[str, Any]]:
        self.requests.append(request)
        return self.scripts.pop(0)() if self.scripts else deltas("do", "ne")

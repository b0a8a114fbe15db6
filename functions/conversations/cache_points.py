"""Where a request is marked so that a model's provider keeps what comes before for the next one.

A mark is a promise that the same will come again. The tools and the system prompt do, and so does the history up to the
turn in progress while its window does not move; within a turn, all that was said before the next round of tools.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from conversations.content import TOOL_RESULT
from conversations.language_model import ModelRequest

_POINT: Mapping[str, Any] = {"cachePoint": {"type": "default"}}


def with_cache_points(request: ModelRequest) -> ModelRequest:
    """The request with marks behind its tools, its system prompt, its history, and the rounds of the turn: four, which
    is as many as models take.
    """
    tools = request.tool_configuration
    return replace(
        request,
        system=[*request.system, _POINT] if request.system else (),
        tool_configuration={**tools, "tools": [*tools["tools"], _POINT]} if tools else None,
        messages=_marked(request.messages),
    )


def _marked(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    start = max((place for place, message in enumerate(messages) if _begins_turn(message)), default=0)
    places = {start - 1, *([len(messages) - 1] if start < len(messages) - 1 else [])}
    return [
        {**message, "content": [*message["content"], _POINT]} if place in places else message
        for place, message in enumerate(messages)
    ]


def _begins_turn(message: Mapping[str, Any]) -> bool:
    return message["role"] == "user" and not any(TOOL_RESULT in block for block in message["content"])

"""What the scripted model answers: the events of a Converse stream, or an HTTP error.

A reply is a list of steps. Tests build it with the functions below::

    bedrock.script(text("Hel", "lo"), throttled(), tool_use("weather", {"city": "Turin"}))
"""

import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

Event = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Text:
    """Chunks of one text block."""

    chunks: Sequence[str]


@dataclass(frozen=True)
class Reasoning:
    """Chunks of one reasoning block, and its signature."""

    chunks: Sequence[str]
    signature: str = "signature"


@dataclass(frozen=True)
class ToolUse:
    """One tool use block. Its input comes in pieces, as from the service."""

    name: str
    arguments: dict[str, Any]
    tool_use_id: str = "tool-1"


@dataclass(frozen=True)
class Raw:
    """One event as it is given, such as a kind that no model of the service knows yet."""

    kind: str
    payload: dict[str, Any]


@dataclass(frozen=True)
class Pause:
    """Time that the model takes."""

    seconds: float


@dataclass(frozen=True)
class Hold:
    """The model waits until the test releases it (for half a minute at most)."""

    released: threading.Event = field(default_factory=threading.Event)
    reached: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class StreamError:
    """An exception frame in the stream, after which it ends."""

    code: str  # as in the model of the service: throttlingException, modelStreamErrorException, ...
    message: str = "scripted"


@dataclass(frozen=True)
class EndWithoutStop:
    """The stream ends in order, but its stop event never came."""


@dataclass(frozen=True)
class Break:
    """The connection breaks."""


Step = Raw | Text | Reasoning | ToolUse | Pause | Hold | StreamError | EndWithoutStop | Break


@dataclass(frozen=True)
class Reply:
    """A stream of the model: its steps, then (unless one of them ended it) the stop event and the usage."""

    steps: Sequence[Step]
    stop_reason: str = "end_turn"
    input_tokens: int = 11
    output_tokens: int = 7


@dataclass(frozen=True)
class Failure:
    """An HTTP error instead of a stream."""

    status: int
    code: str
    message: str = "scripted"


Answer = Reply | Failure


def text(*chunks: str, stop_reason: str = "end_turn", input_tokens: int = 11, output_tokens: int = 7) -> Reply:
    """A complete answer of one text block."""
    return Reply([Text(chunks)], stop_reason, input_tokens, output_tokens)


def tool_use(name: str, arguments: dict[str, Any], tool_use_id: str = "tool-1", *, before: str = "") -> Reply:
    """A complete answer that asks for a tool, after some text if any is given."""
    steps: list[Step] = [Text([before])] if before else []
    return Reply([*steps, ToolUse(name, arguments, tool_use_id)], stop_reason="tool_use")


def throttled() -> Failure:
    """Too many requests."""
    return Failure(429, "ThrottlingException", "Too many requests, please wait before trying again.")


def invalid(message: str = "The request is not valid.") -> Failure:
    """What the model will refuse again."""
    return Failure(400, "ValidationException", message)


def denied() -> Failure:
    """No access to the model."""
    return Failure(403, "AccessDeniedException", "You don't have access to the model with the specified model ID.")


def unavailable() -> Failure:
    """The service is overloaded."""
    return Failure(503, "ServiceUnavailableException", "The service is unavailable, try again later.")


def events_of(block: int, step: Text | Reasoning | ToolUse) -> Iterator[Event]:
    """The events of one content block, as Bedrock sends them: only a tool use has a start event."""
    if isinstance(step, ToolUse):
        start = {"toolUse": {"toolUseId": step.tool_use_id, "name": step.name}}
        yield "contentBlockStart", {"contentBlockIndex": block, "start": start}
    for delta in _deltas(step):
        yield "contentBlockDelta", {"contentBlockIndex": block, "delta": delta}
    yield "contentBlockStop", {"contentBlockIndex": block}


def _deltas(step: Text | Reasoning | ToolUse) -> Iterator[dict[str, Any]]:
    match step:
        case Text(chunks):
            yield from ({"text": chunk} for chunk in chunks)
        case Reasoning(chunks, signature):
            yield from ({"reasoningContent": {"text": chunk}} for chunk in chunks)
            yield {"reasoningContent": {"signature": signature}}
        case ToolUse(_, arguments):
            document = json.dumps(arguments)
            middle = len(document) // 2
            yield from ({"toolUse": {"input": piece}} for piece in ("", document[:middle], document[middle:]))

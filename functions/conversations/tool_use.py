"""Using the tools that a model asks for: all of a message at once, each within its own time, whatever they do.

What goes wrong with a tool is told to the model, which may mend it, and fails no turn.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Literal, Protocol

from conversations.clock import NANOSECONDS, Clock
from conversations.codec import to_json
from conversations.converse import sendable
from conversations.model import Block
from conversations.shapes import is_json, repaired
from conversations.turns import Question

MOST_AT_ONCE = 16
LARGEST_WORDS_BYTES = 64 * 1024
"""What a result may hold beside images, documents and the like, as JSON: some 20,000 tokens."""
LARGEST_RESULT_BYTES = 2 * 1024 * 1024
_WORDS = ("text", "json", "searchResult")
_UNSEEN: Block = {"text": "(A part of the result cannot be shown.)"}


class ToolError(Exception):
    """The tool refuses or has failed; the model is told its text."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """What a model asks of a tool. ``problem`` says why its input cannot be read, if that is so."""

    tool_use_id: str
    name: str
    input: Mapping[str, Any]
    problem: str | None = None

    def refused(self, text: str) -> "ToolResult":
        """The result that says so to the model."""
        return ToolResult(self, "error", [{"text": repaired(text) if text.strip() else "The tool failed."}])


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool has come to: the content of a ``toolResult`` block, with its bytes as base64 text."""

    use: ToolUse
    status: Literal["success", "error"]
    content: Sequence[Block]

    @property
    def block(self) -> Block:
        return {"toolResult": {"toolUseId": self.use.tool_use_id, "status": self.status, "content": self.content}}


class Tool(Protocol):
    """A tool that is called here."""

    @property
    def specification(self) -> Mapping[str, Any]:
        """Converse's ``ToolSpecification``: ``{name, description?, inputSchema: {"json": {...}}}``."""

    @property
    def timeout_s(self) -> float:
        """How long a call may take before the model is told that it took too long."""

    def call(self, use: ToolUse) -> Sequence[Block]:
        """The content of a ``toolResult``: blocks of ``text``, ``json``, ``image`` ... Called in a thread of its own;
        one that goes on after its time is left alone, so a call must end by itself.

        Raises:
            ToolError: its text is for the model. Any other exception is told as a failure without saying which.
        """


class Toolbox(Protocol):
    """The tools that are registered."""

    def tools_for(self, question: Question) -> Sequence[Tool]:
        """Those that the turn of a message may use."""


class _Empty:
    def tools_for(self, _: Question) -> Sequence[Tool]:
        return ()


EMPTY: Toolbox = _Empty()
"""Nothing is registered."""


def used(
    uses: Sequence[ToolUse],
    tools: Sequence[Tool],
    clock: Clock,
    *,
    seconds_to_wait: Callable[[], float],
    keep_up: Callable[[], None],
) -> list[ToolResult]:
    """The results of the uses, in their order. ``keep_up`` is called at least every ``seconds_to_wait()``."""
    calls = _Calls(uses, {tool.specification["name"]: tool for tool in tools}, clock)
    while calls.are_open:
        calls.wait(seconds_to_wait())
        keep_up()
    return calls.results


class _Calls:
    """The calls of one message of the model."""

    def __init__(self, uses: Sequence[ToolUse], tools: Mapping[str, Tool], clock: Clock) -> None:
        self._uses = uses
        self._tools = tools
        self._clock = clock
        self._ended: SimpleQueue[tuple[int, ToolResult]] = SimpleQueue()
        self._deadlines: dict[int, int] = {}
        self._results: dict[int, ToolResult] = {}
        for place, use in enumerate(uses):
            if problem := self._problem(place, use):
                self._results[place] = use.refused(problem)
            else:
                self._begin(place, use)

    @property
    def are_open(self) -> bool:
        return bool(self._deadlines)

    @property
    def results(self) -> list[ToolResult]:
        return [self._results[place] for place in range(len(self._uses))]

    def wait(self, at_most_s: float) -> None:
        """Take in what has ended, and end what took too long."""
        nearest_s = (min(self._deadlines.values()) - self._clock.now_ns()) / NANOSECONDS
        try:
            place, result = self._ended.get(timeout=max(0.0, min(at_most_s, nearest_s)))
        except Empty:
            self._end_overdue()
            return
        if self._deadlines.pop(place, None) is not None:
            self._results[place] = result

    def _problem(self, place: int, use: ToolUse) -> str | None:
        if use.name not in self._tools:
            return f"There is no tool {use.name!r}. There are: {', '.join(sorted(self._tools)) or 'none'}."
        if place >= MOST_AT_ONCE:
            return f"At most {MOST_AT_ONCE} tools may be used at once."
        return use.problem

    def _begin(self, place: int, use: ToolUse) -> None:
        tool = self._tools[use.name]
        self._deadlines[place] = self._clock.now_ns() + int(tool.timeout_s * NANOSECONDS)

        def work() -> None:
            self._ended.put((place, _called(tool, use)))

        Thread(target=work, name=f"tool-{use.name}", daemon=True).start()

    def _end_overdue(self) -> None:
        now_ns = self._clock.now_ns()
        for place in [place for place, at_ns in self._deadlines.items() if now_ns >= at_ns]:
            del self._deadlines[place]
            use = self._uses[place]
            timeout_s = self._tools[use.name].timeout_s
            self._results[place] = use.refused(f"The tool {use.name!r} did not answer within {timeout_s:g} s.")


def _called(tool: Tool, use: ToolUse) -> ToolResult:
    try:
        result = ToolResult(use, "success", tool.call(use))
        return _usable(result)
    except ToolError as error:
        return use.refused(str(error))
    except Exception:  # whatever it is, its text may tell of things that are nobody's business
        return use.refused(f"The tool {use.name!r} failed.")


def _usable(result: ToolResult) -> ToolResult:
    """The result as Converse takes it, or what is wrong with it."""
    content = [_shown(part) for part in _readable(result.content)]
    if content and all(part is _UNSEEN for part in content):
        return result.use.refused(f"The result of {result.use.name!r} holds nothing that can be shown.")
    words = len(to_json([part for part in content if not set(_WORDS).isdisjoint(part)]).encode())
    if words > LARGEST_WORDS_BYTES:
        return result.use.refused(
            f"The result of {result.use.name!r} is too large: {words} bytes, where {LARGEST_WORDS_BYTES} can be shown. "
            "Ask for less of it."
        )
    if len(to_json(content)) > LARGEST_RESULT_BYTES:
        return result.use.refused(f"The result of {result.use.name!r} is larger than {LARGEST_RESULT_BYTES} bytes.")
    return ToolResult(result.use, result.status, content or [{"text": "(nothing)"}])


def _readable(content: Sequence[Block]) -> Sequence[Block]:
    """The content without halves of characters, which texts have that were cut."""
    return content if is_json(content) else json.loads(repaired(to_json(content)))


def _shown(part: Block) -> Block:
    """The part as Converse takes it, or that there is one which it does not take."""
    sent = sendable({"toolResult": {"toolUseId": "any", "content": [part]}})
    return _visible(sent["toolResult"]["content"][0]) if sent and sent["toolResult"]["content"] else _UNSEEN


def _visible(part: Block) -> Block:
    """Converse refuses blank text."""
    text = part.get("text")
    return {"text": "(nothing)"} if isinstance(text, str) and not text.strip() else part

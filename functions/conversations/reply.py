"""A model's answer as it comes in: the events of ConverseStream put together to content blocks."""

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

from conversations.model import Block
from conversations.shapes import DEEPEST_JSON, is_json, repaired
from conversations.tool_use import ToolUse


class Reply:
    """What has come of an answer. It is complete once the model said why it stopped."""

    def __init__(self) -> None:
        self._blocks: dict[int, _Block] = {}
        self._texts: list[str] = []
        self.length = 0  # of the text
        self.stop_reason: str | None = None
        self.usage: Mapping[str, Any] | None = None
        self.latency_ms: int | None = None
        self.guardrail_trace: Mapping[str, Any] | None = None

    @property
    def is_complete(self) -> bool:
        return self.stop_reason is not None

    @property
    def text(self) -> str:
        """All text so far, whatever the blocks. A character of which one half has come is not in it yet."""
        return "".join(self._texts)

    @property
    def content(self) -> list[Block]:
        """The content blocks in their order, without empty ones."""
        blocks = (self._blocks[index].finished() for index in sorted(self._blocks))
        return [block for block in blocks if block]

    @property
    def so_far(self) -> list[Block]:
        """The text and the uses of tools that have come in, as far as they have: a tool's input is left out."""
        blocks = (self._blocks[index].so_far() for index in sorted(self._blocks))
        return [block for block in blocks if block]

    @property
    def tool_uses(self) -> list[ToolUse]:
        """The tools that are asked for, in their order."""
        uses = (self._blocks[index].used() for index in sorted(self._blocks))
        return [use for use in uses if use is not None]

    def feed(self, event: Mapping[str, Any]) -> None:
        """Take in one event of the stream; kinds that are not known are passed over."""
        if "contentBlockStart" in event:
            start = event["contentBlockStart"]
            if "toolUse" in start.get("start", {}):
                self._block(start).tool_use = dict(start["start"]["toolUse"])
        elif "contentBlockDelta" in event:
            self._take_delta(event["contentBlockDelta"])
        elif "messageStop" in event:
            self.stop_reason = event["messageStop"]["stopReason"]
        elif "metadata" in event:
            self.usage = event["metadata"].get("usage")
            self.latency_ms = event["metadata"].get("metrics", {}).get("latencyMs")
            self.guardrail_trace = event["metadata"].get("trace", {}).get("guardrail")

    def _block(self, event: Mapping[str, Any]) -> "_Block":
        return self._blocks.setdefault(event.get("contentBlockIndex", 0), _Block())

    def _take_delta(self, event: Mapping[str, Any]) -> None:
        delta, block = event["delta"], self._block(event)
        if "text" in delta:
            readable = block.text.add(delta["text"])
            self._texts.append(readable)
            self.length += len(readable)
        elif "toolUse" in delta:
            block.tool_input += delta["toolUse"].get("input", "")
        elif "reasoningContent" in delta:
            block.reason(delta["reasoningContent"])


class _Text:
    """Text in chunks. JSON writes a character beyond the 16-bit ones as two halves, which may come in two chunks."""

    def __init__(self) -> None:
        self._whole: list[str] = []
        self._half = ""

    def add(self, chunk: str) -> str:
        """What has become readable with this chunk: all but a half at its end that the next one may complete."""
        text = self._half + chunk
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        readable = repaired(text.removesuffix(self._half))
        self._whole.append(readable)
        return readable

    @property
    def readable(self) -> str:
        return "".join(self._whole)

    def finished(self) -> str:
        return self.readable + repaired(self._half)


class _Block:
    """One content block, of which the deltas give the members flat."""

    def __init__(self) -> None:
        self.text = _Text()
        self.tool_use: Mapping[str, Any] | None = None
        self.tool_input = ""
        self._reasoning: dict[str, str] = {}
        self._redacted = b""

    def reason(self, delta: Mapping[str, str]) -> None:
        if "redactedContent" in delta:  # base64 text, of each chunk by itself
            self._redacted += b64decode(delta["redactedContent"])
        for member in ("text", "signature"):
            if member in delta:
                self._reasoning[member] = self._reasoning.get(member, "") + delta[member]

    def so_far(self) -> Block:
        """The block without what may still change; empty if that is all."""
        if self.tool_use is not None:
            return {"toolUse": self.tool_use}
        text = self.text.readable
        return {"text": text} if text else {}

    def used(self) -> ToolUse | None:
        """What is asked of a tool, if this is what the block is."""
        if self.tool_use is None:
            return None
        given, problem = _tool_input(self.tool_input)
        name = str(self.tool_use.get("name", ""))
        told = f"The model's input for the tool {name!r} {problem}." if problem else None
        return ToolUse(str(self.tool_use.get("toolUseId", "")), name, given, told)

    def finished(self) -> Block:
        """The block as the Converse API takes it back; empty if there is nothing in it.

        ``ReasoningTextBlock`` requires a text, also where a model gives the signature of its reasoning alone. The input
        of a tool that cannot be read is an empty object, since ``ToolUseBlock`` requires one.
        """
        if (use := self.used()) is not None:
            return {"toolUse": {**(self.tool_use or {}), "input": use.input}}
        if self._redacted:
            return {"reasoningContent": {"redactedContent": b64encode(self._redacted).decode()}}
        if self._reasoning:
            parts = {"text": "", **self._reasoning}
            return {"reasoningContent": {"reasoningText": {name: repaired(part) for name, part in parts.items()}}}
        text = self.text.finished()
        return {"text": text} if text else {}


def _tool_input(text: str) -> tuple[Mapping[str, Any], str | None]:
    """The input of a tool, which is an object that can be stored and sent again (``ToolUseBlock``), and what is wrong
    with it if it is not.
    """
    try:
        value = json.loads(_joined(text)) if text.strip() else {}
    except (ValueError, RecursionError):
        return {}, "is not JSON"
    if not isinstance(value, dict):
        return {}, "is no JSON object"
    if not is_json(value):
        deep = f"is nested deeper than {DEEPEST_JSON} levels"
        return {}, f"holds a number or text that JSON does not know, or {deep}"
    return value, None


def _joined(text: str) -> str:
    """The text with halves that belong together as one character, and every other half as it is."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")

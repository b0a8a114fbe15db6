"""A model's answer as it comes in: the events of ConverseStream put together to content blocks."""

import json
from collections.abc import Mapping
from typing import Any

from conversations.errors import ModelError
from conversations.model import Block


class Reply:
    """What has come of an answer. It is complete once the model said why it stopped."""

    def __init__(self) -> None:
        self._blocks: dict[int, dict[str, Any]] = {}
        self._texts: list[str] = []
        self.stop_reason: str | None = None
        self.usage: Mapping[str, Any] | None = None

    @property
    def is_complete(self) -> bool:
        return self.stop_reason is not None

    @property
    def text(self) -> str:
        """All text so far, whatever the blocks."""
        return "".join(self._texts)

    @property
    def content(self) -> list[Block]:
        """The content blocks in their order, without empty ones.

        Raises:
            ModelError: the input of a tool is not JSON.
        """
        blocks = (_finished(self._blocks[index]) for index in sorted(self._blocks))
        return [block for block in blocks if block]

    def feed(self, event: Mapping[str, Any]) -> None:
        """Take in one event of the stream; kinds that are not known are passed over."""
        if "contentBlockStart" in event:
            start = event["contentBlockStart"]
            if "toolUse" in start.get("start", {}):
                self._block(start)["toolUse"] = dict(start["start"]["toolUse"])
        elif "contentBlockDelta" in event:
            self._take_delta(event["contentBlockDelta"])
        elif "messageStop" in event:
            self.stop_reason = event["messageStop"]["stopReason"]
        elif "metadata" in event:
            self.usage = event["metadata"].get("usage")

    def _block(self, event: Mapping[str, Any]) -> dict[str, Any]:
        return self._blocks.setdefault(event.get("contentBlockIndex", 0), {})

    def _take_delta(self, event: Mapping[str, Any]) -> None:
        delta, block = event["delta"], self._block(event)
        if "text" in delta:
            block["text"] = block.get("text", "") + delta["text"]
            self._texts.append(delta["text"])
        elif "toolUse" in delta:
            block["input"] = block.get("input", "") + delta["toolUse"].get("input", "")
        elif "reasoningContent" in delta:
            reasoning = block.setdefault("reasoningContent", {})
            for member, value in delta["reasoningContent"].items():
                reasoning[member] = reasoning[member] + value if member in reasoning else value


def _finished(block: Mapping[str, Any]) -> Block:
    if "toolUse" in block:
        return {"toolUse": {**block["toolUse"], "input": _tool_input(block)}}
    if "reasoningContent" in block:
        return {"reasoningContent": _reasoning(block["reasoningContent"])}
    return {"text": block["text"]} if block.get("text") else {}


def _tool_input(block: Mapping[str, Any]) -> Any:
    text = block.get("input", "")
    try:
        return json.loads(text) if text.strip() else {}
    except ValueError as error:
        raise ModelError(f"The model's input for the tool {block['toolUse'].get('name')!r} is not JSON.") from error


def _reasoning(parts: Mapping[str, Any]) -> Mapping[str, Any]:
    """Deltas give the members flat; a content block nests text and signature."""
    if "redactedContent" in parts:
        return {"redactedContent": parts["redactedContent"]}
    return {"reasoningText": {name: parts[name] for name in ("text", "signature") if name in parts}}

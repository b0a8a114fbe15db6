"""Our messages as LangChain's: those that LangChain wrote as they were, all others as LangChain would say them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

from conversation_memory import converse, values
from conversation_memory.langchain.writing import MEMBER
from conversation_memory.types import Message

_LOG = logging.getLogger(__name__)
_CLASSES: Mapping[str, type[BaseMessage]] = {
    "human": HumanMessage,
    "ai": AIMessage,
    "system": SystemMessage,
    "tool": ToolMessage,
    "function": FunctionMessage,
    "chat": ChatMessage,
    "remove": RemoveMessage,
}


def shown(row: Message) -> list[BaseMessage]:
    """A stored message as LangChain's: most often one, several for several tool results, none if it shows nothing."""
    carried = converse.carried(row["content"], MEMBER)
    if carried is not None:
        try:
            return [_restored(carried, row)]
        except (ValueError, TypeError, LookupError, AttributeError):  # of a later version, or written by somebody else
            _LOG.warning("message %s is shown by its content blocks: the rest of it cannot be read", row["id"])
    elif row.get("unreadable"):
        _LOG.warning("message %s is left out: its stored content is gone", row["id"])
    return _translated(row)


def _restored(carried: Any, row: Message) -> BaseMessage:
    fields = values.decode(carried["data"], row["content"])
    return _CLASSES[carried["type"]](**fields)


def _translated(row: Message) -> list[BaseMessage]:
    """By role and content blocks. Its id is ours, so that code which merges by id does not take it twice."""
    results = [block["toolResult"] for block in row["content"] if "toolResult" in block]
    content = _content(row["content"])
    own = {"content": content, "id": row["id"]}
    if row["role"] == "assistant":
        return [AIMessage(**own, **_of_answer(row))] if content or row["content"] else []
    messages: list[BaseMessage] = [_result(result, row["id"], place) for place, result in enumerate(results)]
    if content:
        messages.append(SystemMessage(**own) if row["role"] == "system" else HumanMessage(**own))
    return messages


def _of_answer(row: Message) -> dict[str, Any]:
    uses = [block["toolUse"] for block in row["content"] if "toolUse" in block]
    calls = [{"id": use["toolUseId"], "name": use["name"], "args": use["input"], "type": "tool_call"} for use in uses]
    told = {"model_name": row.get("modelId"), "stop_reason": row.get("stopReason"), "tool_calls": row.get("toolCalls")}
    metadata = {name: value for name, value in told.items() if value is not None}
    return {"tool_calls": calls, "response_metadata": metadata, "usage_metadata": _usage(row.get("usage"))}


def _usage(usage: Mapping[str, Any] | None) -> dict[str, int] | None:
    if not usage or not {"inputTokens", "outputTokens", "totalTokens"} <= set(usage):
        return None
    counted = {"input_tokens": "inputTokens", "output_tokens": "outputTokens", "total_tokens": "totalTokens"}
    return {name: usage[ours] for name, ours in counted.items()}


def _result(result: Mapping[str, Any], row_id: str, place: int) -> ToolMessage:
    return ToolMessage(
        content=_content(result["content"]),
        tool_call_id=result["toolUseId"],
        status="error" if result.get("status") == "error" else "success",
        id=f"{row_id}#{place}" if place else row_id,
    )


def _content(blocks: Iterable[Mapping[str, Any]]) -> str | list[str | dict[Any, Any]]:
    """One text as a text, anything else as a list of parts."""
    parts: list[str | dict[Any, Any]] = [part for block in blocks for part in _part(block)]
    if not parts:
        return ""
    only = parts[0]
    return only["text"] if len(parts) == 1 and isinstance(only, dict) and only["type"] == "text" else parts


def _part(block: Mapping[str, Any]) -> list[dict[str, Any]]:
    if isinstance(block.get("text"), str):
        return [{"type": "text", "text": block["text"]}]
    if "json" in block:
        return [{"type": "text", "text": values.as_text(block["json"])}]
    if "reasoningContent" in block:
        said = block["reasoningContent"].get("reasoningText", {}).get("text")
        return [{"type": "reasoning", "reasoning": said}] if said else []
    for kind, name in (("image", "image"), ("document", "file")):
        source = block.get(kind, {}).get("source", {})
        mime_type = converse.mime_type(kind, block.get(kind, {}))
        if "bytes" in source and mime_type:
            return [{"type": name, "base64": source["bytes"], "mime_type": mime_type}]
    return []

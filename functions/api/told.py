"""What an appended message may tell beside what it says: which prompt it was, and how an answer came about that a model
gave elsewhere.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from conversations.content import visible
from conversations.converse import STATUSES, TOOL_NAME, TOOL_USE_ID, block_shape
from conversations.errors import InvalidRequestError
from conversations.model import Block, ToolCall
from conversations.shapes import Complaints, json_object, list_of, object_of, one_of, text, text_like, truth

OF_ALL = ("promptTemplate", "origin")
OF_ANSWERS = ("usage", "stopReason", "modelId", "latencyMs", "toolCalls", "guardrailTrace", "answersNone")
_COUNTS = ("inputTokens", "outputTokens", "totalTokens")


def told(body: Mapping[str, Any], role: str, content: Sequence[Block], prefix: str) -> dict[str, Any]:
    """The fields of a draft that these members are.

    Raises:
        InvalidRequestError: one of them is not what it should be, or is for answers only.
    """
    complaints: Complaints = []
    if role != "assistant":
        misplaced = (name for name in OF_ANSWERS if body.get(name) is not None)
        complaints += [(f"{prefix}{name}", "is for assistant messages only") for name in misplaced]
    if body.get("answersNone") and body.get("associatedUserMessageId") is not None:
        complaints.append((f"{prefix}answersNone", "contradicts associatedUserMessageId"))
    taken = {
        name: shape(body[name], f"{prefix}{name}", complaints)
        for name, shape in _SHAPES.items()
        if body.get(name) is not None
    }
    if not complaints and "toolCalls" in taken:
        _check_rounds(taken["toolCalls"], len(content), f"{prefix}toolCalls", complaints)
    if complaints:
        where, rule = complaints[0]
        raise InvalidRequestError(f"{where} {rule}.", field=where)
    return {_FIELDS[name]: value for name, value in taken.items()}


def _shown_text(value: object, field: str, complaints: Complaints) -> str | None:
    known = text(value, field, complaints)
    if known is not None and visible(known) is None:
        complaints.append((field, "is blank"))
    return known


def _count(value: object, field: str, complaints: Complaints) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    complaints.append((field, "must be a whole number that is not negative"))
    return None


def _usage(value: object, field: str, complaints: Complaints) -> Mapping[str, Any] | None:
    known = json_object(value, field, complaints)
    for name in _COUNTS:
        if known and name in known:
            _count(known[name], f"{field}.{name}", complaints)
    return known


_CALL = object_of(
    {
        "toolUseId": text_like(TOOL_USE_ID, "1 to 64 of A-Z, a-z, 0-9, _, ., : and -"),
        "name": text_like(TOOL_NAME, "1 to 64 of A-Z, a-z, 0-9, _ and -"),
        "input": json_object,
        "status": one_of(*STATUSES),
        "content": list_of(json_object),
        "round": _count,
        "contentIndex": _count,
    }
)


def _call(value: object, field: str, complaints: Complaints) -> ToolCall | None:
    call: ToolCall | None = _CALL(value, field, complaints)
    if call is not None and isinstance(value, dict):
        complaints.extend((f"{field}.{name[:64]}", "is not known here") for name in value if name not in call)
        block_shape({"toolResult": {"toolUseId": call["toolUseId"], "content": call["content"]}}, field, complaints)
    return call


def _check_rounds(calls: Sequence[ToolCall], blocks: int, field: str, complaints: Complaints) -> None:
    """Rounds and the places where they end grow together, and those of one round end at one place."""
    for place, (before, call) in enumerate(pairwise([{"round": 0, "contentIndex": 0}, *calls])):
        grows = call["round"] > before["round"] and call["contentIndex"] >= before["contentIndex"]
        goes_on = call["round"] == before["round"] and call["contentIndex"] == before["contentIndex"]
        if not (grows or (goes_on and place)):
            complaints.append((f"{field}[{place}].round", "and contentIndex must count on from those before"))
        if call["contentIndex"] > blocks:
            complaints.append((f"{field}[{place}].contentIndex", "is beyond the end of the content"))


_SHAPES = {
    "promptTemplate": _shown_text,
    "origin": _shown_text,
    "usage": _usage,
    "stopReason": _shown_text,
    "modelId": _shown_text,
    "latencyMs": _count,
    "toolCalls": list_of(_call),
    "guardrailTrace": json_object,
    "answersNone": truth,
}
_FIELDS = {
    "promptTemplate": "prompt_template",
    "origin": "origin",
    "usage": "usage",
    "stopReason": "stop_reason",
    "modelId": "model_id",
    "latencyMs": "latency_ms",
    "toolCalls": "tool_calls",
    "guardrailTrace": "guardrail_trace",
    "answersNone": "answers_none",
}

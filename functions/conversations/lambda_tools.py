"""Tools that are Lambda functions: their input is checked against its schema, then they are invoked and waited for."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError, ReadTimeoutError

from conversations.codec import to_json
from conversations.model import Block
from conversations.registration import RegisteredTool
from conversations.tool_use import ToolError, ToolUse
from conversations.turns import Question

LONGEST_ERROR = 1_000
_AS_BLOCKS = frozenset(("toolResult",))

ClientFor = Callable[[str | None, float], Any]
"""Gives the client of a region (``None``: the function's own) that waits so many seconds for an answer."""


class LambdaTools:
    """Implements ``tool_use.Toolbox`` with the functions that were registered."""

    def __init__(self, registered: Sequence[RegisteredTool], client_for: ClientFor) -> None:
        self._functions = [_Function(tool, client_for) for tool in registered]

    def tools_for(self, question: Question) -> "Sequence[LambdaTool]":
        return [LambdaTool(function, question) for function in self._functions]


class LambdaTool:
    """Implements ``tool_use.Tool``, for one turn.

    The function gets ``{name, input, toolUseId, conversationId, messageId, owner}``. What it returns is the result:
    text as text, other JSON as JSON; ``{"toolResult": {"content": [...], "status"?}}`` stands for content blocks, such
    as images. What it raises is told to the model by its message.
    """

    def __init__(self, function: "_Function", question: Question) -> None:
        self._function = function
        self._question = question

    @property
    def specification(self) -> Mapping[str, Any]:
        return self._function.tool.specification

    @property
    def timeout_s(self) -> float:
        return self._function.tool.timeout_s

    def call(self, use: ToolUse) -> Sequence[Block]:
        self._function.check(use.input)
        question = self._question
        event = {
            "name": use.name,
            "input": use.input,
            "toolUseId": use.tool_use_id,
            "conversationId": question.conversation_id,
            "messageId": question.message_id,
            "owner": question.owner,
        }
        return _content(self._function.invoke(event), use.name)


class _Function:
    """A registered function, and the check of its input, which is compiled when it is first needed."""

    def __init__(self, tool: RegisteredTool, client_for: ClientFor) -> None:
        self.tool = tool
        self._client_for = client_for

    @cached_property
    def _checked(self) -> Callable[[Any], Any]:
        import fastjsonschema  # noqa: PLC0415 - most turns use no tool

        check: Callable[[Any], Any] = fastjsonschema.compile(dict(self.tool.input_schema), use_default=False)
        return check

    def check(self, given: Mapping[str, Any]) -> None:
        """Raises ``ToolError`` when the schema does not allow the input."""
        from fastjsonschema import JsonSchemaValueException  # noqa: PLC0415

        try:
            self._checked(given)
        except JsonSchemaValueException as error:
            raise ToolError(f"The input does not fit the schema of {self.tool.name!r}: {error.message}.") from error

    def invoke(self, event: Mapping[str, Any]) -> Any:
        """What the function returns."""
        tool = self.tool
        try:
            client = self._client_for(_region(tool.function), tool.timeout_s)
            answer = client.invoke(FunctionName=tool.function, Payload=to_json(event).encode())
            payload = answer["Payload"].read()
        except ReadTimeoutError as error:
            raise ToolError(f"The tool {tool.name!r} did not answer within {tool.timeout_s:g} s.") from error
        except (ClientError, BotoCoreError) as error:
            raise ToolError(f"The tool {tool.name!r} cannot be called.") from error
        try:
            value = json.loads(payload, parse_constant=_null) if payload else None
        except (ValueError, RecursionError) as error:
            raise ToolError(f"The answer of the tool {tool.name!r} is not JSON.") from error
        if "FunctionError" in answer:
            raise ToolError(_told_error(value, tool.name))
        return value


def _region(function: str) -> str | None:
    return function.split(":")[3] if function.startswith("arn:") else None


def _null(_: str) -> None:
    """In the place of NaN and the infinities, which Python's functions write and JSON does not know."""


def _told_error(value: Any, name: str) -> str:
    """The message of what the function raised; its trace is nobody's business."""
    message = value.get("errorMessage") if isinstance(value, dict) else None
    return f"The tool {name!r} failed: {str(message)[:LONGEST_ERROR]}" if message else f"The tool {name!r} failed."


def _content(value: Any, name: str) -> Sequence[Block]:
    if isinstance(value, dict) and value.keys() == _AS_BLOCKS and isinstance(value["toolResult"], dict):
        return _blocks(value["toolResult"], name)
    if value is None:
        return [{"text": "null"}]
    return [{"text": value}] if isinstance(value, str) else [{"json": value}]


def _blocks(result: Mapping[str, Any], name: str) -> Sequence[Block]:
    content = result.get("content")
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        raise ToolError(f"The answer of the tool {name!r} holds no content blocks.")
    if result.get("status") == "error":
        texts = [str(part["text"]) for part in content if "text" in part]
        raise ToolError("\n".join(texts)[:LONGEST_ERROR] or f"The tool {name!r} failed.")
    return content

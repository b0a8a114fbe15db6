"""Lambda functions that are registered as tools: a JSON file, checked before anything is deployed.

The file is a list; each tool has these members::

    [
      {
        "name": "weather",
        "description": "The weather in a city, now.",
        "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        "function": "weather",
        "timeoutSeconds": 20
      }
    ]

``function`` is the name or the ARN of a function that exists, with ``:alias`` if one is meant. ``timeoutSeconds`` may
be left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import fastjsonschema

REQUIRED: Final = ("name", "description", "inputSchema", "function")
MEMBERS: Final = (*REQUIRED, "timeoutSeconds")
NAME: Final = r"[a-zA-Z0-9_-]{1,64}"  # Bedrock API reference, ToolSpecification
FUNCTION: Final = (
    r"(arn:aws[a-z-]*:lambda:[a-z0-9-]+:[0-9]{12}:function:)?[a-zA-Z0-9_-]{1,64}(:[a-zA-Z0-9_-]{1,128}|:\$LATEST)?"
)
TIMEOUT_S: Final = 30
LONGEST_TIMEOUT_S: Final = 300  # a turn has ten minutes for all that it does
LARGEST_FILE_BYTES: Final = 256 * 1024


class ToolsError(ValueError):
    """The file cannot be used; the message says which tool and why."""


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A function that a model may have called."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    function: str
    timeout_s: float


def read_tools(file: Path) -> tuple[Tool, ...]:
    """The tools of a file.

    Raises:
        ToolsError: it cannot be read, or something in it is wrong.
    """
    try:
        text = file.read_text()
        listed = json.loads(text)
    except (OSError, ValueError) as error:
        raise ToolsError(f"{file}: {error}") from None
    if len(text.encode()) > LARGEST_FILE_BYTES:
        raise ToolsError(f"{file}: larger than {LARGEST_FILE_BYTES} bytes, all of which the model would read each time")
    if not isinstance(listed, list) or not listed:
        raise ToolsError(f"{file}: must be a list of tools")
    tools = tuple(_tool(given, f"{file}: tool {place}") for place, given in enumerate(listed, start=1))
    names = [tool.name for tool in tools]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ToolsError(f"{file}: more than one tool is named {', '.join(sorted(twice))}")
    return tools


def file_of(tools: Sequence[Tool]) -> str:
    """What the functions read; nothing when there are no tools."""
    listed = [
        {
            "name": tool.name,
            "description": tool.description,
            "inputSchema": tool.input_schema,
            "function": tool.function,
            "timeoutSeconds": tool.timeout_s,
        }
        for tool in tools
    ]
    return json.dumps(listed, ensure_ascii=False) if listed else ""


def _tool(given: object, where: str) -> Tool:
    if not isinstance(given, dict):
        raise ToolsError(f"{where}: must be an object")
    for member in given:
        if member not in MEMBERS:
            raise ToolsError(f"{where}: '{member}' is not known; known are {', '.join(MEMBERS)}")
    for member in REQUIRED:
        if member not in given:
            raise ToolsError(f"{where}: '{member}' is missing")
    return Tool(
        name=_text(given, "name", NAME, "1 to 64 of A-Z, a-z, 0-9, _ and -", where),
        description=_text(given, "description", r"(?s:.*\S.*)", "a text that tells what it is for", where),
        input_schema=_schema(given["inputSchema"], f"{where}: inputSchema"),
        function=_text(given, "function", FUNCTION, "the name or ARN of a Lambda function", where),
        timeout_s=_timeout(given.get("timeoutSeconds", TIMEOUT_S), where),
    )


def _text(given: Mapping[str, Any], member: str, pattern: str, allowed: str, where: str) -> str:
    value = given[member]
    if not isinstance(value, str) or not re.fullmatch(pattern, value):
        raise ToolsError(f"{where}: '{member}' must be {allowed}")
    return value


def _timeout(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= LONGEST_TIMEOUT_S:
        raise ToolsError(f"{where}: 'timeoutSeconds' must be a number above 0, {LONGEST_TIMEOUT_S} at most")
    return value


def _schema(schema: object, where: str) -> Mapping[str, Any]:
    """A JSON Schema of an object. It is compiled here once, so that a wrong one is found before it is deployed."""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise ToolsError(f'{where}: must be a JSON Schema with "type": "object"')
    for reference in _references(schema):
        if not reference.startswith("#"):
            raise ToolsError(f"{where}: refers to '{reference}'; only what is in the schema itself can be used")
    try:
        fastjsonschema.compile(schema, use_default=False)
    except Exception as error:  # the library raises what its parts raise
        raise ToolsError(f"{where}: not a JSON Schema that can be checked: {error}") from None
    return schema


def _references(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):  # it may also be the name of a property
            yield node["$ref"]
        for member in node.values():
            yield from _references(member)
    elif isinstance(node, list):
        for member in node:
            yield from _references(member)

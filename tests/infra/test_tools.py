"""The file of registered tools is checked before anything is deployed."""

import json
from pathlib import Path
from typing import Any

import pytest

from conversations.registration import RegisteredTool, registered_tools
from infra.bundling import FUNCTIONS, TOOLS_FILE, Bundler
from infra.options import Options, OptionsError
from infra.tools import TIMEOUT_S, file_of, read_tools

TOOL: dict[str, Any] = {
    "name": "weather",
    "description": "The weather in a city: 天気",
    "inputSchema": {
        "type": "object",
        "properties": {"city": {"$ref": "#/$defs/city"}, "$ref": {"type": "string"}},
        "$defs": {"city": {"type": "string"}},
    },
    "function": "weather",
}


def _written(folder: Path, content: Any) -> Path:
    file = folder / "registered.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def test_what_is_registered_is_what_the_functions_read(tmp_path: Path) -> None:
    tools = read_tools(_written(tmp_path, [TOOL, {**TOOL, "name": "w2", "timeoutSeconds": 2.5}]))
    (tmp_path / TOOLS_FILE).write_text(file_of(tools))

    assert registered_tools(tmp_path) == tuple(
        RegisteredTool(name, TOOL["description"], TOOL["inputSchema"], "weather", timeout_s)
        for name, timeout_s in (("weather", TIMEOUT_S), ("w2", 2.5))
    )
    assert registered_tools(tmp_path / "elsewhere") == ()


def test_other_tools_are_another_bundle(tmp_path: Path) -> None:
    tools = read_tools(_written(tmp_path, [TOOL]))
    with_tools = Bundler(FUNCTIONS, compiler=None, tools=tools)

    assert with_tools.fingerprint() != Bundler(FUNCTIONS, compiler=None).fingerprint()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "Expecting"),
        ([], "must be a list of tools"),
        (TOOL, "must be a list of tools"),
        (["weather"], "tool 1: must be an object"),
        ([{**TOOL, "timeout": 3}], "'timeout' is not known"),
        ([{key: TOOL[key] for key in TOOL if key != "description"}], "'description' is missing"),
        ([{**TOOL, "description": " "}], "'description' must be a text"),
        ([{**TOOL, "name": "the weather"}], "'name' must be 1 to 64"),
        ([TOOL, TOOL], "more than one tool is named weather"),
        ([{**TOOL, "function": "https://example.com"}], "'function' must be the name or ARN"),
        ([{**TOOL, "function": "arn:aws:sqs:eu-west-1:123456789012:weather"}], "'function' must be the name or ARN"),
        ([{**TOOL, "timeoutSeconds": 0}], "'timeoutSeconds' must be a number above 0, 300 at most"),
        ([{**TOOL, "timeoutSeconds": 301}], "300 at most"),
        ([{**TOOL, "inputSchema": {"type": "string"}}], '"type": "object"'),
        ([{**TOOL, "inputSchema": {"type": "object", "required": 5}}], "not a JSON Schema that can be checked"),
        ([{**TOOL, "inputSchema": {"type": "object", "properties": {"a": {"type": "text"}}}}], "not a JSON Schema"),
        (
            [{**TOOL, "inputSchema": {"type": "object", "$ref": "https://example.com/schema"}}],
            "only what is in the schema",
        ),
        (
            [{**TOOL, "inputSchema": {"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}}}],
            "not a JSON Schema",
        ),
        ([{**TOOL, "description": "x" * 300_000}], "larger than"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_a_wrong_file_is_refused_by_what_is_wrong(tmp_path: Path, content: Any, told: str) -> None:
    with pytest.raises(OptionsError, match=r"^tools: ") as refused:
        Options.parse({"tools": str(_written(tmp_path, content))})
    assert told in str(refused.value)


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(OptionsError, match=r"tools: nowhere\.json: "):
        Options.parse({"tools": "nowhere.json"})

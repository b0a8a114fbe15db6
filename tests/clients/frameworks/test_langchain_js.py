"""Sessions that LangChain JS and LangChain Python share: each reads what the other wrote, equal by type and value."""

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    messages_from_dict,
    messages_to_dict,
)

from conversation_memory.langchain import ConversationMemoryHistory
from tests.bed import node_packages
from tests.clients.frameworks.conftest import API_URL

EXAMPLE = node_packages.ROOT / "examples" / "langchain-js"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
LONG = "A text that is long enough to be stored once only. "
CALL = {
    "name": "weather",
    "args": {"city": "Turin", "$deep": {"a": [None, True, 0.5]}},
    "id": "c1",
    "type": "tool_call",
}
MESSAGES: list[BaseMessage] = [
    SystemMessage("Be brief."),
    HumanMessage("Hi 😀 日本語", id="m1", name="ada", additional_kwargs={"again": LONG}),
    HumanMessage(
        [
            {"type": "text", "text": LONG},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "low"}},
        ]
    ),
    AIMessage(
        LONG,
        id="run-1",
        tool_calls=[CALL, {**CALL, "id": "call!MEOW#" + "x" * 99}],
        response_metadata={"logprobs": [-0.25], "model": "m"},
        usage_metadata={"input_tokens": 5, "output_tokens": 7, "total_tokens": 12},
    ),
    ToolMessage("21", tool_call_id="c1", name="weather", artifact={"rows": [[1, 2.5]]}),
    ToolMessage([{"type": "text", "text": "no"}], tool_call_id="call!MEOW#" + "x" * 99, status="error", id="t1"),
    AIMessage("Sunny.", invalid_tool_calls=[{"name": "f", "args": "{", "id": "c2", "error": "cut off"}]),
]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("langchain-js")
    sources = (node_packages.TESTS / "session.js", *EXAMPLE.glob("*.js"))
    return node_packages.workplace(folder, *sources) / "session.js"


def _run(program: Path, *arguments: str, said: str = "") -> str:
    return node_packages.run(program, *arguments, variables={"MEMORY_URL": API_URL}, said=said)


def test_javascript_reads_what_python_wrote(program: Path, history: ConversationMemoryHistory, session_id: str) -> None:
    history.add_messages(MESSAGES)

    read = json.loads(_run(program, "read", session_id))

    assert messages_from_dict(read) == MESSAGES


def test_python_reads_what_javascript_wrote(program: Path, history: ConversationMemoryHistory, session_id: str) -> None:
    _run(program, "write", session_id, said=json.dumps(messages_to_dict(MESSAGES)))

    assert history.messages == MESSAGES
    assert [type(message) for message in history.messages] == [type(message) for message in MESSAGES]


def test_what_javascript_has_no_word_for_is_shown_as_json_would_have_it(
    program: Path, history: ConversationMemoryHistory, session_id: str
) -> None:
    values: dict[str, Any] = {"tuple": (1, (2,)), "keys": {1: "one", "$a": 2}, "bytes": b"\0\xff"}
    history.add_messages([HumanMessage("v", additional_kwargs=values), HumanMessage("cut \ud83d", id="half")])

    [shown, half] = json.loads(_run(program, "read", session_id))

    kept = shown["data"]["additional_kwargs"]
    assert (kept["tuple"], kept["keys"], list(kept["bytes"].values())) == ([1, [2]], {"1": "one", "$a": 2}, [0, 255])
    assert half["data"]["content"] == "cut ?"

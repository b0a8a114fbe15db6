"""Tables that the unmodified class of LangChain JS wrote."""

from collections.abc import Callable
from typing import Any

from langchain_core.messages import AIMessage, ChatMessage, FunctionMessage, HumanMessage, SystemMessage, ToolMessage

from conversation_memory import Client
from conversation_memory.moving import move
from conversation_memory.moving.langchain_tables import LangChainTable

Source = Callable[..., LangChainTable]
CALLS = [
    {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"days": 2, "least": 0.5}'}},
    {"id": "c2", "type": "function", "function": {"name": "broken", "arguments": "{"}},
]
TALK: list[dict[str, Any]] = [
    {"type": "system", "content": "Be brief."},
    {"type": "human", "content": "Hi 😀", "additional_kwargs": {"page": 1, "ratio": 0.25, "deep": [None, True]}},
    {"type": "ai", "content": "", "additional_kwargs": {"tool_calls": CALLS}},
    {"type": "ai", "content": "Hello.", "name": "lost", "response_metadata": {"lost": True}},
    {"type": "generic", "content": "Hm.", "role": "critic"},
    {"type": "human", "content": ""},
]
TOOLS: list[dict[str, Any]] = [
    {"type": "human", "content": "And?"},
    {"type": "ai", "content": "", "additional_kwargs": {"tool_calls": CALLS[:1]}},
    {"type": "tool", "content": "42", "tool_call_id": "c1"},
    {"type": "tool", "content": "43", "tool_call_id": "c9"},
    {"type": "ai", "content": "", "additional_kwargs": {"function_call": {"name": "f", "arguments": "{}"}}},
    {"type": "function", "content": "44", "name": "f"},
]
PYTHON_S = {"human": "human", "ai": "ai", "system": "system", "generic": "chat"}


def _shown(message: Any) -> dict[str, Any]:
    """A message of Python's as JavaScript would show it."""
    names = {kind: name for name, kind in PYTHON_S.items()}
    shown = {"type": names[message.type], "content": message.content, "role": getattr(message, "role", None)}
    calls = {name: getattr(message, name, []) for name in ("tool_calls", "invalid_tool_calls")}
    return _compared({**shown, **calls, "additional_kwargs": message.additional_kwargs})


def _compared(shown: dict[str, Any]) -> dict[str, Any]:
    """The same without what both word differently: what is wrong with a call."""
    calls = {
        kind: [{name: call[name] for name in ("id", "name", "args")} for call in shown[kind]]
        for kind in ("tool_calls", "invalid_tool_calls")
    }
    return {**shown, **calls}


def test_every_message_comes_back_as_the_class_gave_it(
    memory: Client, table: Callable[..., str], source: Source, javascript: Any, kept: Any
) -> None:
    name = table("id")
    sessions = [{"sessionId": session, "messages": TALK} for session in ("one", "日本 #/%", "three")]
    given = javascript(name, sessions)

    report = move(source(name), memory)

    assert (report.sessions, report.moved, report.skipped) == (3, 18, [])
    for session, expected in zip(sessions, given, strict=True):
        assert [_shown(message) for message in kept(session["sessionId"])] == [_compared(one) for one in expected]
    found = kept("one")
    assert [type(message) for message in found] == [
        *(SystemMessage, HumanMessage, AIMessage, AIMessage, ChatMessage, HumanMessage)
    ]
    assert found[2].tool_calls[0]["args"] == {"days": 2, "least": 0.5}


def test_tools_whose_calls_are_not_stored_are_paired_by_their_place(
    memory: Client, table: Callable[..., str], source: Source, javascript: Any, kept: Any
) -> None:
    """The class itself can read none of this history any more."""
    name = table("id")
    [given] = javascript(name, [{"sessionId": "tools", "messages": TOOLS}])
    assert "Tool call ID must be defined" in given["error"]

    report = move(source(name), memory)

    found = kept("tools")
    assert found[2] == ToolMessage("42", tool_call_id="c1")
    assert found[3] == ToolMessage("43", tool_call_id="unpaired-3")
    assert found[5] == FunctionMessage("44", name="f")
    assert [(note.place, note.reason) for note in report.notes] == [
        (3, "the call that it answers is not stored: it is marked as unpaired")
    ]
    assert report.skipped == []


def test_other_names_and_keys_of_two_attributes(
    memory: Client, table: Callable[..., str], source: Source, javascript: Any, kept: Any
) -> None:
    sorted_table, keyed = table("user", "kind"), table("pk", "sk")
    javascript(sorted_table, [{"sessionId": "a/b", "messages": TALK}], partitionKey="user", sortKey="kind")
    key = {"pk": {"S": "ada"}, "sk": {"S": "100%"}}
    javascript(keyed, [{"sessionId": "any", "key": key, "messages": TALK}], messageAttributeName="said")

    move(source(sorted_table), memory)
    move(source(keyed, messages_attribute="said"), memory)

    assert len(kept("a%2Fb")) == len(TALK)
    assert len(kept("ada/100%25")) == len(TALK)

"""LangChain's messages come back equal by type and value, and what others wrote is shown as LangChain would say it."""

import json
import math
import os
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import boto3
import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

from conversation_memory import Client
from conversation_memory.errors import UnstorableError
from conversation_memory.langchain import ConversationMemoryHistory

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
Keep = Callable[[BaseMessage], BaseMessage]
CALL = {
    "name": "weather",
    "args": {"city": "Turin", "days": 2, "least": 1.0, "deep": {"a": [None, True]}},
    "id": "call_1",
}

MESSAGES: dict[str, BaseMessage] = {
    "text": HumanMessage("Hi 😀"),
    "id, name, members of the caller's own": HumanMessage("Hi", id="m1", name="ada", example=True, extra=[1]),
    "nothing said": HumanMessage(""),
    "blanks": HumanMessage(" \n"),
    "NUL and control characters": HumanMessage("a\0b\x1f\u2028"),
    "half of a surrogate pair": HumanMessage("cut \ud83d", additional_kwargs={"k": "\udc00", "\ud800": 1}),
    "list": HumanMessage(["one", {"type": "text", "text": "two"}, {"type": "text", "text": ""}]),
    "empty list": HumanMessage([]),
    "image as OpenAI has it": HumanMessage(
        [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "low"}},
        ]
    ),
    "image as LangChain has it": HumanMessage([{"type": "image", "base64": PNG, "mime_type": "image/png"}]),
    "image as Anthropic has it": HumanMessage(
        [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}]
    ),
    "image by address": HumanMessage([{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]),
    "image that is none": HumanMessage([{"type": "image", "base64": "no base64", "mime_type": "image/png"}]),
    "document": HumanMessage(
        [{"type": "file", "base64": PNG, "mime_type": "application/pdf", "extras": {"filename": "a/b.pdf"}}]
    ),
    "bytes": HumanMessage([{"type": "media", "data": b"\0\xff" * 40}, {"image": {"source": {"bytes": b""}}}]),
    "numbers": HumanMessage(
        "n",
        additional_kwargs={
            "ints": [0, -1, 2**53 + 1, 10**400, -(10**400)],
            "floats": [0.1, 1.0, -0.0, 1e-200, 5e-324, 1.7976931348623157e308, math.inf, -math.inf],
            "truth": [True, False, None],
        },
    ),
    "what JSON has no word for": HumanMessage(
        "v",
        additional_kwargs={
            "tuple": (1, (2, [3])),
            "set": {1, 2},
            "keys": {1: "one", "1": "other", None: 0, (1, 2): 3, "$bytes": "not bytes", "": 1},
            "times": [datetime(2026, 11, 30, 20, 20, 1, 5, tzinfo=UTC), date(2026, 11, 30)],
            "decimal": Decimal("0.10"),
            "uuid": UUID(int=7),
        },
    ),
    "deep": HumanMessage("d", additional_kwargs={"a": json.loads("[" * 60 + "]" * 60)}),
    "answer": AIMessage("It is sunny.", id="run-1", response_metadata={"logprobs": [-0.25], "model": "m"}),
    "tool calls": AIMessage(
        "Let me see.",
        tool_calls=[CALL, {"name": "no args", "args": {}, "id": None}],
        usage_metadata={"input_tokens": 5, "output_tokens": 7, "total_tokens": 12},
    ),
    "tool calls alone": AIMessage("", tool_calls=[CALL]),
    "ids and names that no model takes": AIMessage(
        "", tool_calls=[{"name": "wéather now!", "args": {"x": b"\1", "y": math.inf}, "id": "call!MEOW#" + "x" * 99}]
    ),
    "calls that are none": AIMessage(
        "",
        invalid_tool_calls=[{"name": "f", "args": '{"a": ', "id": "call_2", "error": "cut off"}],
        additional_kwargs={
            "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{"}, "type": "function"}]
        },
    ),
    "parts of an answer": AIMessage(
        [
            {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
            {"type": "text", "text": "So."},
            {"type": "tool_use", "id": "call_1", "name": "weather", "input": {}},
        ],
        tool_calls=[CALL],
    ),
    "system": SystemMessage("Be brief."),
    "result": ToolMessage("21", tool_call_id="call_1", name="weather"),
    "no result": ToolMessage("", tool_call_id=""),
    "result that failed, with an artifact": ToolMessage(
        [{"type": "text", "text": "no"}, {"type": "image", "base64": PNG, "mime_type": "image/png"}],
        tool_call_id="call!MEOW#" + "x" * 99,
        status="error",
        artifact={"rows": [(1, 2.5)], "raw": b"\0"},
        id="t1",
    ),
    "function": FunctionMessage("21", name="weather"),
    "chat": ChatMessage("I disagree.", role="critic"),
    "chat of an assistant": ChatMessage("Yes.", role="assistant", id="c"),
    "removal": RemoveMessage(id="m1"),
}


@pytest.fixture(scope="module")
def came_back(memory: Client) -> dict[str, BaseMessage]:
    """All of them written in one call, and read in one."""
    history = ConversationMemoryHistory(f"all {uuid4()}", memory)
    history.add_messages(list(MESSAGES.values()))
    return dict(zip(MESSAGES, history.messages, strict=True))


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_comes_back_as_it_was(came_back: dict[str, BaseMessage], name: str) -> None:
    message, found = MESSAGES[name], came_back[name]

    assert type(found) is type(message)
    assert found == message
    assert repr(found) == repr(message)  # tells 1 from 1.0, True and "1", and -0.0 from 0.0


def test_not_a_number_comes_back(kept: Keep) -> None:
    assert math.isnan(kept(HumanMessage("n", additional_kwargs={"x": math.nan})).additional_kwargs["x"])


def test_chunks_come_back_as_the_message_that_they_make(history: ConversationMemoryHistory) -> None:
    chunks = [
        AIMessageChunk("Hel", id="run-1"),
        AIMessageChunk("lo", id="run-1", tool_call_chunks=[{"name": "f", "args": '{"a":', "id": "c", "index": 0}]),
        AIMessageChunk("", id="run-1", tool_call_chunks=[{"name": None, "args": " 1}", "id": None, "index": 0}]),
        AIMessageChunk("", id="run-1", usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}),
        AIMessageChunk("Another", id="run-2"),
    ]

    history.add_messages([HumanMessageChunk("Hi"), *chunks])

    assert history.messages == [
        HumanMessage("Hi"),
        AIMessage(
            "Hello",
            id="run-1",
            tool_calls=[{"name": "f", "args": {"a": 1}, "id": "c"}],
            usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        ),
        AIMessage("Another", id="run-2"),
    ]


class OfOurOwn(BaseMessage):  # type: ignore[misc]
    type: str = "own"


@pytest.mark.parametrize(
    ("message", "named"),
    [
        (
            ToolMessage("x", tool_call_id="c", artifact={"frame": object()}),
            r"messages\[1\]\.artifact\.frame holds a object",
        ),
        (OfOurOwn("x"), r"messages\[1\] is a OfOurOwn"),
        (HumanMessage("x", additional_kwargs={"a": json.loads("[" * 200 + "]" * 200)}), "nested deeper"),
    ],
)
def test_what_could_not_be_given_back_is_named_and_nothing_is_stored(
    history: ConversationMemoryHistory, message: BaseMessage, named: str
) -> None:
    with pytest.raises(UnstorableError, match=named):
        history.add_messages([HumanMessage("before"), message])

    assert history.messages == []


# The other views of the same messages


def _row(memory: Client, session_id: str) -> Any:
    conversation = memory.find_conversation(session_id)
    assert conversation
    [*_, row] = memory.messages(conversation["id"])
    return row


@pytest.mark.parametrize(
    ("name", "role", "blocks"),
    [
        ("text", "user", [{"text": "Hi 😀"}]),
        ("list", "user", [{"text": "one"}, {"text": "two"}]),
        (
            "image as OpenAI has it",
            "user",
            [{"text": "What is this?"}, {"image": {"format": "png", "source": {"bytes": PNG}}}],
        ),
        ("image as LangChain has it", "user", [{"image": {"format": "png", "source": {"bytes": PNG}}}]),
        ("image as Anthropic has it", "user", [{"image": {"format": "png", "source": {"bytes": PNG}}}]),
        (
            "document",
            "user",
            [{"document": {"format": "pdf", "name": "a/b.pdf", "source": {"bytes": PNG}}}],
        ),
        (
            "tool calls alone",
            "assistant",
            [{"toolUse": {"toolUseId": "call_1", "name": "weather", "input": CALL["args"]}}],
        ),
        ("system", "system", [{"text": "Be brief."}]),
        (
            "result",
            "tool",
            [{"toolResult": {"toolUseId": "call_1", "content": [{"text": "21"}], "status": "success"}}],
        ),
    ],
)
def test_everybody_else_sees_what_a_model_would(
    memory: Client, kept: Keep, session_id: str, name: str, role: str, blocks: Any
) -> None:
    kept(MESSAGES[name])

    row = _row(memory, session_id)

    assert row["role"] == role
    assert [{kind: value for kind, value in block.items() if kind != "langchain"} for block in row["content"]] == blocks


def test_long_texts_and_images_are_stored_once(memory: Client, kept: Keep, session_id: str) -> None:
    long = "word " * 200
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    for message in (HumanMessage(long), HumanMessage([{"type": "text", "text": long}, picture])):
        assert kept(message) == message
        stored = json.dumps(_row(memory, session_id)["content"])
        assert (stored.count(long.strip()), stored.count(PNG)) in ((1, 0), (1, 1))


def test_the_model_of_the_service_is_sent_a_valid_history(
    memory: Client, history: ConversationMemoryHistory, session_id: str
) -> None:
    strange = "call!MEOW"
    history.add_messages(
        [
            SystemMessage("Be brief."),
            HumanMessage("Weather?"),
            AIMessage("", tool_calls=[{**CALL, "id": "a"}, {**CALL, "id": strange}]),
            ToolMessage("21", tool_call_id="a"),
            ToolMessage("22", tool_call_id=strange),
            AIMessage("Sunny."),
            HumanMessage("Thanks. And tomorrow?"),
        ]
    )
    conversation = memory.find_conversation(session_id)
    assert conversation

    sent = memory.get_history(conversation["id"])

    assert sent["system"][-1] == {"text": "Be brief."}
    assert [message["role"] for message in sent["messages"]] == ["user", "assistant", "user"]
    assert "langchain" not in json.dumps(sent)


def test_what_others_wrote_is_shown_as_langchain_would_say_it(
    memory: Client, history: ConversationMemoryHistory, session_id: str
) -> None:
    conversation_id = memory.create_conversation(session_id=session_id)["id"]
    image = {"image": {"format": "png", "source": {"bytes": PNG}}}
    use = {"toolUse": {"toolUseId": "t1", "name": "weather", "input": {"city": "Turin"}}}
    results: Any = [
        {"toolResult": {"toolUseId": "t1", "content": [{"json": {"c": 21}}], "status": "error"}},
        {"toolResult": {"toolUseId": "t2", "content": [{"text": "a"}, {"text": "b"}]}},
    ]
    rows = memory.append_messages(
        conversation_id,
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"text": "What is this?"}, image]},
            {"role": "assistant", "content": [{"text": "Let me see."}, use]},
            {"role": "tool", "content": results},
            {"role": "assistant", "content": [{"futureBlock": {"a": 1}}]},
        ],
    )
    ids = [row["id"] for row in rows]
    part = {"type": "image", "base64": PNG, "mime_type": "image/png"}
    call = {"name": "weather", "args": {"city": "Turin"}, "id": "t1"}
    texts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]

    assert history.messages == [
        SystemMessage("Be brief.", id=ids[0]),
        HumanMessage([{"type": "text", "text": "What is this?"}, part], id=ids[1]),
        AIMessage("Let me see.", tool_calls=[call], id=ids[2]),
        ToolMessage('{"c": 21}', tool_call_id="t1", status="error", id=ids[3]),
        ToolMessage(texts, tool_call_id="t2", id=f"{ids[3]}#1"),
        AIMessage("", id=ids[4]),
    ]


def test_what_others_have_changed_since_is_shown_as_it_is_now(
    memory: Client, history: ConversationMemoryHistory, session_id: str
) -> None:
    history.add_messages([AIMessage("Let me see.", tool_calls=[CALL]), AIMessage("", tool_calls=[CALL])])
    rows = list(memory.messages(str(_row(memory, session_id)["conversationId"])))
    memory.clear_messages(rows[0]["conversationId"])
    now: Any = {"text": "Changed."}
    changed = memory.append_messages(
        rows[0]["conversationId"],
        [
            {"role": "assistant", "content": [now, *rows[0]["content"][1:]]},
            {"role": "assistant", "content": [now, *rows[1]["content"]]},
        ],
    )

    assert history.messages == [AIMessage("Changed.", tool_calls=[CALL], id=row["id"]) for row in changed]


def test_a_message_whose_content_is_gone_is_left_out_and_said_so(
    memory: Client, history: ConversationMemoryHistory, session_id: str, caplog: pytest.LogCaptureFixture
) -> None:
    large = HumanMessage(os.urandom(60_000).hex())
    history.add_messages([HumanMessage("before"), large, HumanMessage("after")])
    conversation_id = _row(memory, session_id)["conversationId"]
    assert history.messages[1] == large
    s3, bucket = boto3.client("s3"), os.environ["BODIES_BUCKET"]
    [body] = s3.list_objects_v2(Bucket=bucket, Prefix=conversation_id)["Contents"]
    s3.delete_object(Bucket=bucket, Key=body["Key"])

    assert history.messages == [HumanMessage("before"), HumanMessage("after")]
    assert "left out" in caplog.text


BROKEN = {
    "of a type that is not known": {"type": "hologram", "data": {}},
    "without its fields": {"type": "tool", "data": {}},
    "of nobody's making": ["?"],
    "whose text is elsewhere now": {"type": "human", "data": {"content": {"$same": [7, "text"]}}},
    "with a value that is not known": {"type": "human", "data": {"content": {"$hologram": 1}}},
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_row_that_cannot_be_read_is_shown_by_its_blocks_and_spoils_nothing(
    memory: Client, history: ConversationMemoryHistory, session_id: str, name: str
) -> None:
    history.add_user_message("before")
    conversation = memory.find_conversation(session_id)
    assert conversation
    block = {"text": "still here", "langchain": BROKEN[name]}
    broken = memory.append_message(conversation["id"], "user", [block])
    history.add_user_message("after")

    assert history.messages == [
        HumanMessage("before"),
        HumanMessage("still here", id=broken["id"]),
        HumanMessage("after"),
    ]

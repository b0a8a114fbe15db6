"""The parts of a turn that are pure: the descriptor, the reply, the progress, the tools and the state that is shown."""

import json
from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations import codec, turns
from conversations.bedrock import as_bytes, as_text
from conversations.errors import InvalidRequestError, ModelError, NotFoundError
from conversations.handing_over import descriptor
from conversations.model import Snapshot, Turn
from conversations.progress import FIRST_AFTER_NS, Progress
from conversations.reply import Reply
from conversations.said import Said
from conversations.tools import check_tool_configuration, tool_configuration_for
from tests.bed.messages import message, said, tool_use
from turn.descriptor import Descriptor, parse_descriptor

CONVERSATION = "c" * 20
REQUIRED = {"conversationId": CONVERSATION, "currentMessageId": f"{CONVERSATION}.m", "owner": "alice"}


# The descriptor


def test_three_members_are_enough() -> None:
    assert parse_descriptor(REQUIRED) == Descriptor(CONVERSATION, f"{CONVERSATION}.m", "alice")


def test_what_the_api_sends_is_what_the_turn_function_takes() -> None:
    question = turns.Question(CONVERSATION, f"{CONVERSATION}.m", "alice")

    assert parse_descriptor(descriptor(question, "alice", 20)) == Descriptor(
        CONVERSATION, f"{CONVERSATION}.m", "alice", list_limit=20
    )


def test_nulls_and_unknown_members_are_tolerated() -> None:
    event = REQUIRED | {
        "messageHistoryQuery": {"listQueryLimit": None, "listQueryName": "listConversationMessages", "x": 1},
        "modelConfiguration": {"modelId": "m", "systemPrompt": "s", "region": None, "inferenceConfiguration": None},
        "toolsConfiguration": {"clientTools": None, "dataTools": None},
        "streamResponse": True,
        "madeUp": {},
    }

    assert parse_descriptor(event) == Descriptor(
        CONVERSATION, f"{CONVERSATION}.m", "alice", model_id="m", system_prompt="s"
    )


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"conversationId": None}, "conversationId"),
        ({"conversationId": "../../etc"}, "conversationId"),
        ({"currentMessageId": 5}, "currentMessageId"),
        ({"owner": ""}, "owner"),
        ({"messageHistoryQuery": []}, "messageHistoryQuery"),
        ({"messageHistoryQuery": {"listQueryName": "listUsers"}}, "messageHistoryQuery.listQueryName"),
        ({"messageHistoryQuery": {"getQueryName": "getUser"}}, "messageHistoryQuery.getQueryName"),
        ({"messageHistoryQuery": {"listQueryLimit": 0}}, "messageHistoryQuery.listQueryLimit"),
        ({"modelConfiguration": {"modelId": 5}}, "modelConfiguration.modelId"),
        ({"modelConfiguration": {"region": "eu west"}}, "modelConfiguration.region"),
        (
            {"modelConfiguration": {"inferenceConfiguration": {"topP": 2}}},
            "modelConfiguration.inferenceConfiguration.topP",
        ),
        ({"toolsConfiguration": {"clientTools": [{}]}}, "toolsConfiguration.clientTools"),
    ],
)
def test_what_is_malformed_is_refused_by_name(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequestError) as raised:
        parse_descriptor(REQUIRED | change)

    assert raised.value.field == field


# The reply


def _delta(index: int, delta: dict[str, Any]) -> dict[str, Any]:
    return {"contentBlockDelta": {"contentBlockIndex": index, "delta": delta}}


def test_blocks_are_put_together() -> None:
    reply = Reply()
    events: tuple[dict[str, Any], ...] = (
        {"messageStart": {"role": "assistant"}},
        _delta(0, {"reasoningContent": {"text": "hm"}}),
        _delta(0, {"reasoningContent": {"text": "m"}}),
        _delta(0, {"reasoningContent": {"signature": "s"}}),
        _delta(1, {"text": "Let "}),
        _delta(1, {"text": "me"}),
        {"contentBlockStart": {"contentBlockIndex": 2, "start": {"toolUse": {"toolUseId": "t", "name": "f"}}}},
        _delta(2, {"toolUse": {"input": '{"a"'}}),
        _delta(2, {"toolUse": {"input": ""}}),
        _delta(2, {"toolUse": {"input": ": 1}"}}),
        {"contentBlockStop": {"contentBlockIndex": 2}},
        {"somethingNew": {}},
        {"messageStop": {"stopReason": "tool_use"}},
        {"metadata": {"usage": {"inputTokens": 1}}},
    )
    for event in events:
        reply.feed(event)

    assert reply.content == [
        {"reasoningContent": {"reasoningText": {"text": "hmm", "signature": "s"}}},
        {"text": "Let me"},
        {"toolUse": {"toolUseId": "t", "name": "f", "input": {"a": 1}}},
    ]
    assert (reply.text, reply.stop_reason, reply.usage) == ("Let me", "tool_use", {"inputTokens": 1})
    assert reply.is_complete


TOOL_START = {"contentBlockStart": {"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "t", "name": "f"}}}}


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[1]",
        '"x"',
        '{"a": NaN}',
        '{"a": [-Infinity]}',
        '{"a": 1e999}',
        '{"a": ' + "9" * 400 + "}",
        '{"a": ' + "9" * 5000 + "}",
        '{"a": "\\ud83d"}',
        '{"\\ude00": 1}',
        '{"a": "\ud83d"}',
        '{"a":' * 101 + "1" + "}" * 101,
        "[" * 100_000,
    ],
    ids=lambda text: text[:12].encode("ascii", "replace").decode(),
)
def test_a_tool_input_that_cannot_be_stored_is_the_models_error(text: str) -> None:
    said_so = Said()
    said_so.begin_round()
    for event in (TOOL_START, _delta(0, {"toolUse": {"input": text}}), {"messageStop": {"stopReason": "tool_use"}}):
        said_so.feed(event)
    name = "f"

    [use] = said_so.tool_uses(but_for=set())
    assert (use.input, repr(name) in (use.problem or "")) == ({}, True)  # our own tool: the model is told
    with pytest.raises(ModelError, match=name):  # the client's: nobody could tell it
        said_so.tool_uses(but_for={name})


@pytest.mark.parametrize("chunks", [['{"a": "\ud83d', '\ude00"}'], ['{"a": "\\ud83d', '\\ude00"}'], ['{"a": "😀"}']])
def test_a_tool_input_may_be_cut_within_a_character(chunks: list[str]) -> None:
    reply = Reply()
    reply.feed(TOOL_START)
    for chunk in chunks:
        reply.feed(_delta(0, {"toolUse": {"input": chunk}}))

    assert reply.content == [{"toolUse": {"toolUseId": "t", "name": "f", "input": {"a": "😀"}}}]


@pytest.mark.parametrize(
    ("chunks", "partial", "whole"),
    [
        (["Hi \ud83d", "\ude00!"], ["Hi ", "Hi 😀!"], "Hi 😀!"),
        (["Hi \ud83d"], ["Hi "], "Hi \ufffd"),
        (["\ud83d", "x", "\ude00y"], ["", "\ufffdx", "\ufffdx\ufffdy"], "\ufffdx\ufffdy"),
        (["\ud83d", "", "\ude00"], ["", "", "😀"], "😀"),
        (["\ud83d\n", "\ud83d\ude00"], ["\ufffd\n", "\ufffd\n😀"], "\ufffd\n😀"),
        (["\ufeffa", "b"], ["\ufeffa", "\ufeffab"], "\ufeffab"),
    ],
    ids=["split", "cut off", "lone", "an empty chunk between", "before a line feed", "a byte order mark"],
)
def test_text_may_be_cut_within_a_character(chunks: list[str], partial: list[str], whole: str) -> None:
    reply, seen = Reply(), []
    for chunk in chunks:
        reply.feed(_delta(0, {"text": chunk}))
        seen.append(reply.text)

    assert seen == partial
    assert reply.content == [{"text": whole}]


@given(st.text(min_size=1), st.integers(1, 5))
def test_text_is_the_same_however_it_is_cut(text: str, size: int) -> None:
    halves = text.encode("utf-16-le")
    units = [halves[place : place + 2].decode("utf-16-le", "surrogatepass") for place in range(0, len(halves), 2)]
    reply = Reply()
    for place in range(0, len(units), size):
        reply.feed(_delta(0, {"text": "".join(units[place : place + size])}))
        assert text.startswith(reply.text)

    assert reply.content == [{"text": text}]


def test_hidden_reasoning_is_put_together_as_bytes_and_a_signature_alone_gets_a_text() -> None:
    reply = Reply()
    for chunk in (b"a", b"bcd", b"ef"):
        reply.feed(as_text(_delta(0, {"reasoningContent": {"redactedContent": chunk}})))
    reply.feed(_delta(1, {"reasoningContent": {"signature": "si"}}))
    reply.feed(_delta(1, {"reasoningContent": {"signature": "gn"}}))
    reply.feed(_delta(2, {"reasoningContent": {"text": "\ud83d"}}))
    reply.feed(_delta(2, {"reasoningContent": {"text": "\ude00"}}))
    reply.feed(_delta(3, {"reasoningContent": {}}))

    assert reply.content == [
        {"reasoningContent": {"redactedContent": b64encode(b"abcdef").decode()}},
        {"reasoningContent": {"reasoningText": {"text": "", "signature": "sign"}}},
        {"reasoningContent": {"reasoningText": {"text": "😀"}}},
    ]


# The adapter


@pytest.mark.parametrize(
    "block",
    [
        {"toolResult": 5},
        {"toolResult": {}},
        {"toolResult": {"content": [{"image": None}, {"image": []}, 5]}},
        {"reasoningContent": 5},
        {"reasoningContent": {"redactedContent": 5}},
        {"reasoningContent": {"redactedContent": "!"}},
        {"image": {"source": {"bytes": "é"}}},
        {"guardContent": {"image": []}},
        5,
    ],
)
def test_the_adapter_leaves_what_is_malformed_to_botocore(block: Any) -> None:
    assert as_bytes([{"role": "user", "content": [block]}])[0]["content"][0] is not None


def test_the_adapter_sends_bytes() -> None:
    image, png = (
        {"image": {"format": "png", "source": {"bytes": "AAE="}}},
        {"format": "png", "source": {"bytes": b"\0\1"}},
    )
    content = [
        image,
        {"toolResult": {"toolUseId": "t", "content": [image, {"text": "x"}]}},
        {"guardContent": image},
        {"reasoningContent": {"redactedContent": "AAE="}},
    ]

    assert as_bytes([{"role": "user", "content": content}]) == [
        {
            "role": "user",
            "content": [
                {"image": png},
                {"toolResult": {"toolUseId": "t", "content": [{"image": png}, {"text": "x"}]}},
                {"guardContent": {"image": png}},
                {"reasoningContent": {"redactedContent": b"\0\1"}},
            ],
        }
    ]


# Progress


@given(st.integers(1, 60_000), st.integers(1, 2_000))
def test_partial_text_costs_at_most_three_times_the_final_text(size: int, chunk: int) -> None:
    """In write units of ``M.turn``, as text that does not compress, whatever the number of chunks."""
    progress, spent = Progress(started_ns=0), 0
    for length in [*range(chunk, size, chunk), size]:
        if progress.is_due(length, FIRST_AFTER_NS):
            spent += _units(length)
            progress.written = length

    assert spent <= 3 * _units(size)


def test_a_kilobyte_is_written_once_on_the_way() -> None:
    progress, writes = Progress(started_ns=0), 0
    for length in range(1, 1025):
        if progress.is_due(length, FIRST_AFTER_NS):
            writes += 1
            progress.written = length

    assert writes == 1


def _units(size: int) -> int:
    turn = Turn("c" * 37, "running", "2026-01-01T00:00:00.000000000Z", 1, 1_800_000_000_000)
    item = codec.turn_to_item(turn)
    others = sum(len(name) + len(next(iter(value.values()))) for name, value in item.items()) + len("partial")
    return -(-(others + size) // codec.WRITE_UNIT_BYTES)


# Tools


def test_a_list_with_tool_blocks_never_goes_without_a_tool_configuration() -> None:
    messages = [{"role": "assistant", "content": [tool_use("t1"), tool_use("t1")]}]

    assert tool_configuration_for(messages, None, ()) == {
        "tools": [{"toolSpec": {"name": "tool_t1", "inputSchema": {"json": {"type": "object"}}}}]
    }
    assert tool_configuration_for([{"role": "user", "content": said("q")}], None, ()) is None


ANY_INPUT = {"json": {"type": "object"}}


def _tool(name: str, **members: Any) -> dict[str, Any]:
    return {"toolSpec": {"name": name, "inputSchema": ANY_INPUT, **members}}


def test_tools_of_the_message_and_of_the_event_go_together_and_have_names_of_their_own() -> None:
    given_tools = {"tools": [_tool("a")], "toolChoice": {"any": {}}}

    together = tool_configuration_for([], given_tools, [{"name": "b"}])

    assert together == {"tools": [_tool("a"), _tool("b")], "toolChoice": {"any": {}}}
    with pytest.raises(InvalidRequestError):
        tool_configuration_for([], given_tools, [{"name": "a"}])
    with pytest.raises(InvalidRequestError):
        tool_configuration_for([], None, [{"name": "not a name"}])


def test_of_tools_that_were_stored_the_model_is_sent_what_it_knows() -> None:
    stored = {
        "tools": [_tool("a", description="d", strict=True, type="function"), _tool("not a name"), {"cachePoint": {}}],
        "toolChoice": {"tool": {"name": "gone"}},
        "more": 1,
    }

    assert tool_configuration_for([], stored, ()) == {"tools": [_tool("a", description="d", strict=True)]}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"tools": [5]}, "tools[0].toolSpec"),
        ({"tools": [_tool("a b")]}, "tools[0].toolSpec.name"),
        ({"tools": [_tool("a", description="")]}, "tools[0].toolSpec.description"),
        ({"tools": [_tool("a", inputSchema={"json": "{}"})]}, "tools[0].toolSpec.inputSchema.json"),
        ({"tools": [_tool("a"), _tool("a")]}, "tools[1]"),
        ({"toolChoice": "any"}, "toolChoice"),
        ({"toolChoice": {"any": {}, "auto": {}}}, "toolChoice"),
        ({"toolChoice": {"tool": {}}}, "toolChoice.tool.name"),
    ],
)
def test_tools_that_no_model_takes_are_refused_by_name(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequestError) as raised:
        check_tool_configuration({"tools": [_tool("a")], **change})

    assert raised.value.field == f"toolConfiguration.{field}"


# The state that is shown

CREATED_NS = 1_767_225_600 * 1_000_000_000  # 2026-01-01, when the messages of ``message`` were written
CREATED = "2026-01-01T00:00:00.000000000Z"
MINUTE_NS = 60 * 1_000_000_000


@pytest.mark.parametrize(
    ("turn", "asks", "age_min", "status"),
    [
        (None, True, 1, "pending"),
        (None, True, 21, "failed"),
        (
            Turn("m", "running", "2026-01-01T00:00:00.000000000Z", 1, CREATED_NS // 1_000_000 + 60_000),
            False,
            20,
            "running",
        ),
        (
            Turn("m", "running", "2026-01-01T00:00:00.000000000Z", 1, CREATED_NS // 1_000_000 + 60_000),
            False,
            22,
            "failed",
        ),
        (Turn("m", "cancelled", "2026-01-01T00:00:00.000000000Z", 1, 0), False, 99, "cancelled"),
    ],
)
def test_what_nobody_works_on_for_20_minutes_reads_as_failed(
    turn: Turn | None, asks: bool, age_min: int, status: str
) -> None:
    asked = message("m", "user", said("q"), asks=asks)
    snapshot = Snapshot(None, {}, {"m": turn} if turn else {})

    assert turns.turn_of(asked, snapshot, CREATED_NS + age_min * MINUTE_NS).status == status


def test_an_answer_makes_a_turn_complete_and_none_was_asked_for_otherwise() -> None:
    asked = message("m", "user", said("q"))
    answer = message("m.response", "assistant", said("a"))

    assert turns.turn_of(asked, Snapshot(None, {"m.response": answer}), CREATED_NS).status == "complete"
    with pytest.raises(NotFoundError):
        turns.turn_of(asked, Snapshot(None), CREATED_NS)


def test_a_descriptor_is_small_and_says_nothing() -> None:
    question = turns.Question(CONVERSATION, f"{CONVERSATION}.{'m' * 64}", "alice")

    assert len(json.dumps(descriptor(question, "o" * 256, 1000))) < 1000

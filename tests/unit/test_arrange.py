"""How a history is arranged for the model: the cases, and what holds for every history."""

import copy
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import botocore.session
import pytest
from botocore.validate import ParamValidator
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conversations.arrange import Window, arrange
from conversations.bedrock import BedrockModel
from conversations.converse import KINDS
from conversations.errors import ServiceError
from conversations.language_model import ModelRequest
from conversations.model import Message, Prompt
from conversations.tools import tool_configuration_for
from tests.bed.messages import VECTORS, complaints, message, said, tool_result, tool_use

CASES = [case for case in VECTORS if case["source"] == "any"]


def _message(given_message: dict[str, Any]) -> Message:
    return message(
        given_message["id"],
        given_message["role"],
        given_message["content"],
        associated_user_message_id=given_message.get("associatedUserMessageId"),
        ai_context=given_message.get("aiContext"),
    )


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    listed = [*case.get("listed", ()), *([case["fetchedById"]] if "fetchedById" in case else ())]
    messages = [_message(given_message) for given_message in listed]

    if "error" in case["expected"]:
        with pytest.raises(ServiceError) as raised:
            arrange(messages, case["currentMessageId"])
        assert raised.value.code == case["expected"]["error"]
    else:
        assert list(arrange(messages, case["currentMessageId"]).messages) == case["expected"]["messages"]


def test_of_an_id_that_comes_twice_the_first_counts() -> None:
    """AppSync's pages may hold the current message once more after it was read by its id."""
    messages = [
        message("u1", "user", said("first")),
        message("u2", "user", said("later")),
        message("a2", "assistant", said("answer"), associated_user_message_id="u2"),
        message("u1", "user", said("first")),
    ]

    assert list(arrange(messages, "u1").messages) == [{"role": "user", "content": said("first")}]


def test_system_messages_go_to_the_system_prompt_up_to_the_current_one() -> None:
    messages = [
        message("s1", "system", said("be brief")),
        message("u1", "user", said("q")),
        message("s2", "system", said("be late")),
    ]

    prompt = arrange(messages, "u1", system_prompt="be kind", system_messages=[message("s0", "system", said("be old"))])

    assert [block["text"] for block in prompt.system] == ["be kind", "be old", "be brief"]
    assert [entry["content"] for entry in prompt.messages] == [said("q")]


def test_results_told_one_message_each_stay_together() -> None:
    """LangChain and others write one tool message for each tool; only the last of them is answered."""
    messages = [
        message("u1", "user", said("q")),
        message("a1", "assistant", [tool_use("t1"), tool_use("t2")], associated_user_message_id="u1"),
        message("r1", "tool", [tool_result("t1")]),
        message("r2", "tool", [tool_result("t2")]),
    ]

    prompt = arrange(messages, "r2")

    assert prompt.messages[-1]["content"] == [tool_result("t1"), tool_result("t2")]
    assert complaints(prompt.messages) == []


def test_an_assistant_message_that_answers_nothing_stands_where_it_was_written() -> None:
    messages = [
        message("u1", "user", said("q")),
        message("a1", "assistant", said("a"), associated_user_message_id="u1"),
        message("a2", "assistant", said("by the way")),
        message("u2", "user", said("now")),
    ]

    assert [entry["content"] for entry in arrange(messages, "u2").messages] == [
        said("q"),
        [{"text": "a"}, {"text": "by the way"}],
        said("now"),
    ]


def test_tool_results_come_first_in_their_message() -> None:
    messages = [
        message("u1", "user", said("q")),
        message("a1", "assistant", [tool_use("t1")], associated_user_message_id="u1"),
        message("r1", "user", [{"text": "here"}, tool_result("t1")]),
    ]

    assert arrange(messages, "r1").messages[-1]["content"] == [tool_result("t1"), {"text": "here"}]


@pytest.mark.parametrize(
    ("content", "code"),
    [([{"madeUp": 1}], "EmptyMessage"), ([{"text": " "}], "EmptyMessage"), ([tool_result("t9")], "OrphanToolResult")],
)
def test_what_cannot_end_a_valid_list_is_said(content: list[dict[str, Any]], code: str) -> None:
    messages = [message("a0", "assistant", [tool_use("t1")]), message("u1", "user", content)]

    with pytest.raises(ServiceError) as raised:
        arrange(messages, "u1")

    assert raised.value.code == code


# Attachments


def _image(number: int) -> dict[str, Any]:
    return {"image": {"format": "png", "source": {"bytes": f"{number:04}"}}}


def _document(name: str) -> dict[str, Any]:
    return {"document": {"format": "txt", "name": name, "source": {"text": "x"}}}


def _conversation(*asked: list[dict[str, Any]]) -> list[Message]:
    """These messages of the user, each answered but the last, whose id is ``now``."""
    chain = []
    for place, content in enumerate(asked[:-1]):
        chain.append(message(f"u{place}", "user", content))
        chain.append(message(f"a{place}", "assistant", said("a"), associated_user_message_id=f"u{place}"))
    return [*chain, message("now", "user", asked[-1])]


def _asked(history: list[Message]) -> list[list[dict[str, Any]]]:
    listed = arrange(history, "now").messages
    assert complaints(listed) == []
    return [entry["content"] for entry in listed if entry["role"] == "user"]


def test_the_newest_twenty_images_are_sent_and_no_message_is_lost_by_it() -> None:
    older, old, new = [_image(0)], [_image(1), {"text": "two"}, _image(2)], [_image(number) for number in range(3, 22)]

    assert _asked(_conversation(older, old, new)) == [
        [{"text": "(Older attachments are left out.)"}],
        [{"text": "two"}, _image(2)],
        new,
    ]


def test_images_in_tool_results_count_and_a_tool_pair_is_not_split_by_what_is_left_out() -> None:
    shown = {"toolResult": {"toolUseId": "t1", "content": [_image(number) for number in range(1, 22)]}}
    history = [
        message("u1", "user", [_image(0)]),
        message("a1", "assistant", [tool_use("t1")], associated_user_message_id="u1"),
        message("now", "user", [shown]),
    ]

    assert _asked(history) == [
        [{"text": "(Older attachments are left out.)"}],
        [{"toolResult": {"toolUseId": "t1", "content": shown["toolResult"]["content"][1:]}}],
    ]


def test_the_newest_five_documents_are_sent_each_under_a_name_of_its_own_and_beside_a_text() -> None:
    asked = _asked(_conversation([_document("x")], [_document("a.b"), _document("a_b")], [_document("a b")] * 3))

    assert asked == [
        [{"text": "(Older attachments are left out.)"}],
        [_document("a b (5)"), _document("a b (4)"), {"text": "a b (5), a b (4)"}],
        [_document("a b (3)"), _document("a b (2)"), _document("a b"), {"text": "a b (3), a b (2), a b"}],
    ]


def test_a_long_name_stays_within_its_bounds_when_it_is_told_from_another() -> None:
    assert [block["document"]["name"] for block in _asked(_conversation([_document("x" * 300)] * 2))[0][:2]] == [
        "x" * 196 + " (2)",
        "x" * 200,
    ]


# What is malformed


def test_a_message_of_which_nothing_can_be_sent_begins_no_turn() -> None:
    history = [
        message("u1", "user", said("q")),
        message("a1", "assistant", [tool_use("t1")], associated_user_message_id="u1"),
        message("odd", "user", [{"image": {}}, {"toolResult": {}}, {"document": 5}]),
        message("odd.response", "assistant", [{"reasoningContent": {}}], associated_user_message_id="odd"),
        message("r1", "user", [tool_result("t1"), {"toolResult": {"toolUseId": 5}}]),
    ]

    prompt = arrange(history, "r1")

    assert [entry["content"] for entry in prompt.messages] == [said("q"), [tool_use("t1")], [tool_result("t1")]]


def test_a_tool_use_that_cannot_be_sent_takes_its_result_with_it() -> None:
    odd = {"toolUse": {"toolUseId": "t1", "name": "f", "input": "x"}}
    history = [
        message("u1", "user", said("q")),
        message("a1", "assistant", [odd, tool_use("t2")], associated_user_message_id="u1"),
        message("r1", "user", [tool_result("t1"), tool_result("t2")]),
        message("a2", "assistant", [tool_use("t3")], associated_user_message_id="r1"),
        message("now", "user", [tool_result("t3")]),
    ]

    assert [entry["content"] for entry in arrange(history, "now").messages] == [
        said("q"),
        [tool_use("t2")],
        [tool_result("t2")],
        [tool_use("t3")],
        [tool_result("t3")],
    ]


def test_no_message_ends_with_reasoning() -> None:
    reasoning = {"reasoningContent": {"reasoningText": {"text": "hm"}}}
    answer = [reasoning, tool_use("t1"), reasoning, tool_use("t2")]
    history = [
        message("u1", "user", said("q")),
        message("a1", "assistant", answer, associated_user_message_id="u1"),
        message("now", "tool", [tool_result("t1")]),
    ]

    assert arrange(history, "now").messages[1]["content"] == [reasoning, tool_use("t1")]


# What holds for every history


TOOL_IDS = st.sampled_from(["t1", "t2", "t3"])
USER_BLOCKS = st.one_of(
    st.sampled_from([{"text": "hello"}, {"text": " "}, {"madeUp": {"x": 1}}]),
    TOOL_IDS.map(tool_result),
    TOOL_IDS.map(tool_use),
)
ASSISTANT_BLOCKS = st.one_of(
    st.sampled_from([{"text": "well"}, {"text": ""}, {"image": {"format": "png", "source": {"bytes": "AA=="}}}]),
    TOOL_IDS.map(tool_use),
    TOOL_IDS.map(tool_result),
)


@st.composite
def histories(
    draw: st.DrawFn,
    of_user: st.SearchStrategy[dict[str, Any]] = USER_BLOCKS,
    of_assistant: st.SearchStrategy[dict[str, Any]] = ASSISTANT_BLOCKS,
) -> list[Message]:
    """A chain of up to 12 messages of any kinds, which ends with one that may be answered."""
    chain: list[Message] = []
    for place in range(draw(st.integers(0, 11))):
        role = draw(st.sampled_from(["user", "assistant", "tool", "system"]))
        blocks = draw(st.lists(of_assistant if role == "assistant" else of_user, max_size=3))
        questions = [m.id for m in chain if m.role in ("user", "tool")]
        answered = {m.associated_user_message_id for m in chain}
        free = [question for question in questions if question not in answered]
        question = draw(st.sampled_from([None, *free])) if role == "assistant" else None
        chain.append(message(f"m{place}", role, blocks, associated_user_message_id=question))  # type: ignore[arg-type]
    last = draw(st.lists(of_user, min_size=1, max_size=3))
    return [*chain, message("now", "user", last)]


def _arranged(history: list[Message], window: Window) -> Prompt | None:
    try:
        return arrange(history, "now", window=window)
    except ServiceError as error:
        assert error.code in ("EmptyMessage", "OrphanToolResult")
        return None


@given(histories())
@settings(max_examples=400, deadline=None)
def test_the_list_is_always_valid_for_converse(history: list[Message]) -> None:
    prompt = _arranged(history, Window())

    if prompt is not None:
        assert complaints(prompt.messages) == []
        spoken = [block for block in history[-1].content if "text" in block and block["text"].strip()]
        assert all(block in prompt.messages[-1]["content"] for block in spoken)


@given(histories(), st.integers(1, 13), st.sampled_from([1, 5, 10, 20, 40, 1000]))
@settings(max_examples=400, deadline=None)
def test_a_window_is_valid_keeps_the_newest_and_says_that_it_cut(history: list[Message], most: int, size: int) -> None:
    whole = _arranged(history, Window())
    cut = _arranged(history, Window(max_messages=most, max_tokens=size))

    assert (whole is None) == (cut is None)
    if whole is not None and cut is not None:
        assert complaints(cut.messages) == []
        assert list(whole.messages)[-len(cut.messages) :] == list(cut.messages)
        assert cut.truncated == (len(cut.messages) < len(whole.messages))
        assert cut.tokens <= size or not any(_begins_turn(entry) for entry in cut.messages[1:])


def _begins_turn(entry: Any) -> bool:
    return entry["role"] == "user" and not any("toolResult" in block for block in entry["content"])


# Whatever is stored


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["", " ", "x", "t1", "AAE=", "a_b.pdf"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from([*KINDS, "format"]), inner, max_size=2),
    max_leaves=4,
)
REDACTED = {"reasoningContent": {"redactedContent": "AAE="}}
SEARCH_RESULT = {"source": "s", "title": "t", "content": [{"text": "x"}], "citations": {"enabled": True}}
TEMPLATES: list[dict[str, Any]] = [
    {"text": "hello"},
    _image(1),
    _document("a_b.pdf"),
    {"document": {"format": "pdf", "name": "a b pdf", "source": {"content": [{"text": "x"}]}, "context": "c"}},
    {"video": {"format": "mp4", "source": {"s3Location": {"uri": "s3://bucket/k", "bucketOwner": "1" * 12}}}},
    *map(tool_use, ("t1", "t2")),
    *map(tool_result, ("t1", "t2")),
    {"toolResult": {"toolUseId": "t1", "content": [_image(1), _document("a"), {"searchResult": SEARCH_RESULT}]}},
    {"toolResult": {"toolUseId": "t2", "content": [{"json": {"a": 1}}, {"json": [1]}]}},
    {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}},
    REDACTED,
    {"guardContent": {"text": {"text": "x", "qualifiers": ["query"]}}},
    {"guardContent": _image(1)},
    {"cachePoint": {"type": "default"}},
    {"citationsContent": {"content": [{"text": "x"}], "citations": [{"title": "t"}]}},
]


@st.composite
def odd_blocks(draw: st.DrawFn) -> dict[str, Any]:
    """Blocks of which up to three members, at any depth, are other than they should be, or missing."""
    block: dict[str, Any] = copy.deepcopy(draw(st.sampled_from(TEMPLATES)))
    for _ in range(draw(st.integers(0, 3))):
        holder = draw(st.sampled_from(list(_objects_in(block))))
        name = draw(st.sampled_from([*holder, "type", "text"]))
        if draw(st.booleans()):
            holder[name] = draw(JUNK)
        else:
            holder.pop(name, None)
    return block


def _objects_in(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for member in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects_in(member)


@cache
def _request_shape() -> Any:
    model = botocore.session.get_session().get_service_model("bedrock-runtime")
    return model.operation_model("ConverseStream").input_shape


class _Recorded:
    """A client of Bedrock that keeps what it is asked with, and answers nothing."""

    def converse_stream(self, **parameters: Any) -> dict[str, Any]:
        self.parameters = parameters
        events: list[dict[str, Any]] = []
        return {"stream": (event for event in events)}


def _botocore_complaints(prompt: Prompt) -> str:
    client = _Recorded()
    tools = tool_configuration_for(prompt.messages, None, ())
    request = ModelRequest("m", prompt.messages, system=prompt.system, tool_configuration=tools)
    assert list(BedrockModel(lambda _: client).ask(request)) == []
    report: str = ParamValidator().validate(client.parameters, _request_shape()).generate_report()
    return report


@pytest.mark.slow
@given(histories(odd_blocks(), odd_blocks()))
@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_is_sent_is_valid_whatever_is_stored(history: list[Message]) -> None:
    prompt = _arranged(history, Window())

    if prompt is not None:
        assert complaints(prompt.messages) == []
        assert _botocore_complaints(prompt) == ""
        assert _complaints_of_attachments(prompt) == []


def _complaints_of_attachments(prompt: Prompt) -> list[str]:
    """What Bedrock would refuse although botocore does not."""
    found, names, images = [], [], 0
    for entry in prompt.messages:
        inner = [part for block in entry["content"] for part in block.get("toolResult", {}).get("content", ())]
        names += [block["document"]["name"] for block in (*entry["content"], *inner) if "document" in block]
        images += sum("image" in block for block in (*entry["content"], *inner))
        kinds = {kind for block in entry["content"] for kind in block}
        found += ["a document without a text"] if "document" in kinds and "text" not in kinds else []
    found += ["too many"] if len(names) > 5 or images > 20 else []
    found += ["a name twice"] if len(set(names)) < len(names) else []
    return found + [name for name in names if not re.fullmatch(r"(?!.*  )[A-Za-z0-9 ()\[\]-]{1,200}", name)]

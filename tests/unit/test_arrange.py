"""How a history is arranged for the model: the cases, and what holds for every history."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conversations.arrange import Window, arrange
from conversations.errors import ServiceError
from conversations.model import Message, Prompt
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
def histories(draw: st.DrawFn) -> list[Message]:
    """A chain of up to 12 messages of any kinds, which ends with one that may be answered."""
    chain: list[Message] = []
    for place in range(draw(st.integers(0, 11))):
        role = draw(st.sampled_from(["user", "assistant", "tool", "system"]))
        blocks = draw(st.lists(ASSISTANT_BLOCKS if role == "assistant" else USER_BLOCKS, max_size=3))
        questions = [m.id for m in chain if m.role in ("user", "tool")]
        answered = {m.associated_user_message_id for m in chain}
        free = [question for question in questions if question not in answered]
        question = draw(st.sampled_from([None, *free])) if role == "assistant" else None
        chain.append(message(f"m{place}", role, blocks, associated_user_message_id=question))  # type: ignore[arg-type]
    last = draw(st.lists(USER_BLOCKS, min_size=1, max_size=3))
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

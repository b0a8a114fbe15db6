"""The history of a turn from AppSync's answers: the vectors, and the pages."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.bed.appsync import AppSync, Fault, ListedMessages
from tests.bed.messages import VECTORS, complaints, said, tool_use
from tests.bed.replies import invalid
from tests.bed.scripted_bedrock import ScriptedBedrock
from tests.integration.appsync.conftest import Turns

MESSAGE = {"conversationId": "C", "role": "user"}


def _question(message_id: str, text: str = "q", **members: Any) -> dict[str, Any]:
    return {"id": message_id, **MESSAGE, "content": said(text), **members}


def _answer(question_id: str, text: str = "a") -> dict[str, Any]:
    answer = {"id": f"{question_id}#response", "role": "assistant", "associatedUserMessageId": question_id}
    return {**MESSAGE, **answer, "content": said(text)}


def _messages(bedrock: ScriptedBedrock) -> Any:
    (request,) = bedrock.requests
    return request.body["messages"]


def _listing(case: Mapping[str, Any]) -> ListedMessages:
    found = case.get("fetchedById")
    return ListedMessages(case.get("listed", ()), {found["id"]: found} if found else {})


@pytest.mark.parametrize("case", VECTORS, ids=[case["name"] for case in VECTORS])
def test_vector(case: dict[str, Any], appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns) -> None:
    appsync.messages = _listing(case)

    outcome = turns.answer(message_id=case["currentMessageId"])

    if "error" in case["expected"]:
        assert outcome == "failed"
        assert [error["errorType"] for error in appsync.errors] == [case["expected"]["error"]]
        assert bedrock.requests == []
    else:
        assert outcome == "complete"
        assert _messages(bedrock) == case["expected"]["messages"]
        assert appsync.errors == []


def test_the_first_page_is_asked_for_as_amplify_does(appsync: AppSync, turns: Turns) -> None:
    appsync.messages = ListedMessages([_question("CUR")])

    turns.answer()

    listing = appsync.requests[0]
    assert listing.operation == "ListMessages"
    assert listing.variables == {"filter": {"conversationId": {"eq": "C"}}, "limit": 1000}
    assert listing.headers["x-amz-user-agent"].endswith("#1.1.16 md/conversation-memory")
    assert listing.headers["content-type"] == "application/json"
    assert [request.operation for request in appsync.requests].count("GetMessage") == 0


def test_pages_are_followed_up_to_the_limit_and_the_newest_are_kept(
    appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns
) -> None:
    """Amplify's handler takes the first page for the whole, however little a page with images holds."""
    turn = [item for place in range(6) for item in (_question(f"u{place}", f"q{place}"), _answer(f"u{place}"))]
    appsync.messages = _Pages([*turn, _question("CUR", "now")], size=3)
    query = appsync.event("", "")["messageHistoryQuery"] | {"listQueryLimit": 7}

    turns.answer(messageHistoryQuery=query)

    listings = [request.variables for request in appsync.requests if request.operation == "ListMessages"]
    assert [(listing["limit"], listing.get("nextToken")) for listing in listings] == [(7, None), (4, "10"), (1, "7")]
    assert [entry["content"][0]["text"] for entry in _messages(bedrock)] == ["q3", "a", "q4", "a", "q5", "a", "now"]


class _Pages(ListedMessages):
    """Pages that hold less than was asked for, as those of DynamoDB that reach their bytes."""

    def __init__(self, items: Any, *, size: int) -> None:
        super().__init__(items)
        self.size = size

    def page(self, conversation_id: str, limit: int, next_token: str | None) -> Any:
        return super().page(conversation_id, min(limit, self.size), next_token)


def test_pages_are_read_until_the_turn_in_progress_is_whole(
    appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns
) -> None:
    use = {**_answer("u1"), "content": [tool_use("t1")]}
    result = {"toolResult": {"toolUseId": "t1", "status": "success", "content": [{"text": "r"}]}}
    appsync.messages = _Pages([_question("u1"), use, _question("CUR", content=[result])], size=1)
    query = appsync.event("", "")["messageHistoryQuery"] | {"listQueryLimit": 1}

    assert turns.answer(messageHistoryQuery=query) == "complete"

    assert [entry["role"] for entry in _messages(bedrock)] == ["user", "assistant", "user"]
    assert complaints(_messages(bedrock)) == []


def test_pages_that_would_not_fit_the_budget_are_not_read(appsync: AppSync, turns: Turns) -> None:
    long = [item for place in range(20) for item in (_question(f"u{place}", "x" * 40_000), _answer(f"u{place}"))]
    appsync.messages = _Pages([*long, _question("CUR")], size=10)

    assert turns.answer() == "complete"

    assert [request.operation for request in appsync.requests].count("ListMessages") == 3


def test_a_page_that_the_owner_s_filter_left_empty_is_followed(
    appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns
) -> None:
    """What it leaves out was read all the same: such a page may even lack the current message."""
    pages = _Pages([_question("u1"), _answer("u1"), _question("CUR"), None, None], size=2)
    pages.by_id = {"CUR": _question("CUR")}
    appsync.messages = pages

    assert turns.answer() == "complete"

    assert [entry["role"] for entry in _messages(bedrock)] == ["user", "assistant", "user"]


def test_the_message_that_is_read_by_id_must_be_of_the_conversation(
    appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns
) -> None:
    appsync.messages = ListedMessages((), {"CUR": _question("CUR", conversationId="another")})

    assert turns.answer() == "failed"

    assert appsync.errors == [
        {
            "errorType": "CurrentMessageNotFound",
            "message": "There is no such message to be answered in this conversation.",
        }
    ]
    assert bedrock.requests == []


@pytest.mark.parametrize("by_id", [False, True], ids=["listed", "read by id"])
def test_nulls_and_json_as_text_mean_the_same_whichever_query_they_come_from(
    by_id: bool, appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns
) -> None:
    """Amplify's handler normalises what it lists and not what it reads by id."""
    nulls = dict.fromkeys(("text", "image", "document", "toolUse", "toolResult"))
    use = {**nulls, "toolUse": {"toolUseId": "t1", "name": "f", "input": '{"city": "Turin", "unit": null}'}}
    parts = [{"json": '{"n": 5, "none": null}', "text": None}, {"json": '"{\\"twice\\": 1}"'}, {"json": '"words"'}]
    result = {**nulls, "toolResult": {"toolUseId": "t1", "status": None, "content": parts}}
    current = _question("CUR", content=[result], aiContext='"{\\"page\\": \\"orders\\"}"')
    listed = [_question("u1"), {**_answer("u1"), "content": [use]}]
    appsync.messages = ListedMessages(listed, {"CUR": current}) if by_id else ListedMessages([*listed, None, current])

    assert turns.answer() == "complete"

    _, asked, told = _messages(bedrock)
    assert asked["content"] == [{"toolUse": {"toolUseId": "t1", "name": "f", "input": {"city": "Turin", "unit": None}}}]
    assert told["content"] == [
        {
            "toolResult": {
                "toolUseId": "t1",
                "content": [{"json": {"n": 5, "none": None}}, {"json": {"twice": 1}}, {"text": "words"}],
            }
        },
        {"text": '{"page":"orders"}'},
    ]


def test_media_in_a_tool_s_result_are_sent_as_bytes(appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns) -> None:
    """Amplify's handler encodes them twice."""
    image = {"image": {"format": "png", "source": {"bytes": "iVBORw0KGgo="}}}
    result = {"toolResult": {"toolUseId": "t1", "status": "success", "content": [image]}}
    listed = [_question("u1"), {**_answer("u1"), "content": [tool_use("t1")]}, _question("CUR", content=[result])]
    appsync.messages = ListedMessages(listed)

    assert turns.answer() == "complete"

    assert _messages(bedrock)[-1]["content"][0]["toolResult"]["content"] == [image]


def test_a_tool_s_input_that_is_no_json_does_not_poison_the_history(
    appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns
) -> None:
    broken = {"toolUse": {"toolUseId": "t1", "name": "f", "input": '{"city": '}}
    listed = [_question("u1"), {**_answer("u1"), "content": [*said("well"), broken]}, _question("CUR", "now")]
    appsync.messages = ListedMessages(listed)

    assert turns.answer() == "complete"

    assert [entry["content"] for entry in _messages(bedrock)] == [said("q"), said("well"), said("now")]


def test_what_the_application_said_with_an_older_message_stays_with_it(
    appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns
) -> None:
    older = _question("u1", aiContext={"page": "home"})
    appsync.messages = ListedMessages([older, {**_answer("u1"), "aiContext": {"x": 1}}, _question("CUR", aiContext="")])

    assert turns.answer() == "complete"

    assert [entry["content"] for entry in _messages(bedrock)] == [
        [{"text": "q"}, {"text": '{"page":"home"}'}],
        said("a"),
        said("q"),
    ]


def test_of_two_answers_the_last_listed_counts_and_those_of_nobody_do_not(
    appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns
) -> None:
    listed = [_question("u1"), _answer("u1", "first"), _answer("u1", "last"), _answer("gone", "lost"), _question("CUR")]
    appsync.messages = ListedMessages(listed)

    assert turns.answer() == "complete"

    assert [entry["content"] for entry in _messages(bedrock)] == [said("q"), said("last"), said("q")]


def test_what_is_no_message_does_not_poison_the_history(
    appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns
) -> None:
    strange = [5, {"id": "x"}, {**_question("x"), "role": ["user"]}, {**_answer("u1"), "associatedUserMessageId": {}}]
    items = [_question("u1"), *strange, _answer("u1"), _question("CUR", "now")]
    appsync.faults.append(Fault(200, {"data": {"listConversationMessageChats": {"items": items}}}))

    assert turns.answer() == "complete"

    assert [entry["content"] for entry in _messages(bedrock)] == [said("q"), said("a"), said("now")]


def test_an_answer_of_blank_text_takes_its_question_with_it(
    appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns
) -> None:
    """Amplify's handler sends the blank text, which Converse refuses."""
    appsync.messages = ListedMessages([_question("u1"), _answer("u1", ""), _question("CUR", "now")])

    assert turns.answer() == "complete"

    assert [entry["content"] for entry in _messages(bedrock)] == [said("now")]


def _turns(count: int, size: int) -> list[dict[str, Any]]:
    """Turns of a question and an answer, each of that many characters, and the current message."""
    asked = [item for place in range(count) for item in (_question(f"u{place}", "x" * size), _answer(f"u{place}"))]
    return [*asked, _question("CUR", "now")]


def test_no_more_is_sent_than_the_deployment_allows(appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns) -> None:
    turns.worker = replace(turns.worker, settings=replace(turns.worker.settings, history_tokens=300))
    appsync.messages = ListedMessages(_turns(9, 400))

    assert turns.answer() == "complete"

    assert [entry["role"] for entry in _messages(bedrock)] == ["user", "assistant"] * 2 + ["user"]


def test_a_history_that_the_model_finds_too_long_is_sent_shorter(
    appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns
) -> None:
    bedrock.script(invalid("Input is too long for requested model."))
    appsync.messages = ListedMessages(_turns(9, 400))

    assert turns.answer() == "complete"

    first, second = (request.body["messages"] for request in bedrock.requests)
    assert (len(first), appsync.errors) == (19, [])
    assert second == first[-len(second) :]
    assert 1 <= len(second) < len(first)

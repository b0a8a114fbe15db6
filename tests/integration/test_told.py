"""What an appended message may tell beside what it says: of prompts, and of answers that were given elsewhere."""

import json
from typing import Any

import pytest

from tests.bed.documented import Exchange, operation
from tests.bed.in_process import Api
from tests.bed.messages import complaints, said

CALL = {
    "toolUseId": "t1",
    "name": "weather",
    "input": {"city": "Turin"},
    "status": "success",
    "content": [{"json": {"sky": "clear"}}],
    "round": 1,
    "contentIndex": 1,
}
TOLD: dict[str, Any] = {
    "promptTemplate": "Be {how}.",
    "origin": "Weather agent",
    "usage": {"inputTokens": 3, "outputTokens": 4, "totalTokens": 7, "cacheReadInputTokens": 0},
    "stopReason": "end_turn",
    "modelId": "another.model",
    "latencyMs": 120,
    "toolCalls": [CALL, {**CALL, "toolUseId": "t2", "status": "error"}, {**CALL, "round": 2, "contentIndex": 2}],
    "guardrailTrace": {"inputAssessment": {}},
}
ANSWER = {"role": "assistant", "content": [*said("Let me see."), *said("One more."), *said("Sunny.")]}


def test_an_answer_that_was_given_elsewhere_is_kept_and_sent_as_it_came_about(api: Api) -> None:
    conversation_id = api.create()
    path = f"/conversations/{conversation_id}"
    question = api.say(conversation_id, "How is it?", promptTemplate="Ask.", origin="page")

    answer = api.call("POST", f"{path}/messages", {**ANSWER, **TOLD}).body

    assert {name: answer[name] for name in TOLD} == TOLD
    assert answer["associatedUserMessageId"] == question["id"]
    assert (question["promptTemplate"], question["origin"]) == ("Ask.", "page")
    assert api.call("GET", f"{path}/messages/{answer['id']}").body == answer
    api.say(conversation_id, "And now?")
    sent = api.call("GET", f"{path}/history").body["messages"]
    assert complaints(sent) == []
    assert [block["text"] for entry in sent if entry["role"] == "assistant" for block in entry["content"]] == [
        *("Let me see.", "One more.", "Sunny.")
    ]


def test_an_answer_of_nothing_answers_nothing(api: Api) -> None:
    conversation_id = api.create()
    question = api.say(conversation_id, "How is it?")

    greeting = api.say(conversation_id, "Welcome.", "assistant", answersNone=True)
    answer = api.say(conversation_id, "Sunny.", "assistant", associatedUserMessageId=question["id"], answersNone=False)

    assert "associatedUserMessageId" not in greeting
    assert answer["associatedUserMessageId"] == question["id"]


@pytest.mark.parametrize(
    ("members", "field", "is_beyond_a_schema"),
    [
        ({"role": "user", "usage": {}}, "usage", False),
        ({"role": "user", "answersNone": True}, "answersNone", False),
        ({"usage": []}, "usage", False),
        ({"usage": {"inputTokens": -1}}, "usage.inputTokens", False),
        ({"stopReason": " "}, "stopReason", False),
        ({"modelId": 5}, "modelId", False),
        ({"promptTemplate": {}}, "promptTemplate", False),
        ({"latencyMs": 1.5}, "latencyMs", False),
        ({"latencyMs": True}, "latencyMs", False),
        ({"guardrailTrace": "none"}, "guardrailTrace", False),
        ({"answersNone": 1}, "answersNone", False),
        ({"answersNone": True, "associatedUserMessageId": "x"}, "answersNone", True),
        ({"toolCalls": {}}, "toolCalls", False),
        ({"toolCalls": [{**CALL, "round": None}]}, "toolCalls[0].round", False),
        ({"toolCalls": [{**CALL, "more": 1}]}, "toolCalls[0].more", False),
        ({"toolCalls": [{**CALL, "name": "a b"}]}, "toolCalls[0].name", True),
        ({"toolCalls": [{**CALL, "content": [{"text": 5}]}]}, "toolCalls[0].toolResult.content[0].text", False),
        ({"toolCalls": [{**CALL, "round": 0}]}, "toolCalls[0].round", False),
        ({"toolCalls": [CALL, {**CALL, "contentIndex": 2}]}, "toolCalls[1].round", True),
        ({"toolCalls": [{**CALL, "round": 2}, CALL]}, "toolCalls[1].round", True),
        ({"toolCalls": [{**CALL, "contentIndex": 4}]}, "toolCalls[0].contentIndex", True),
    ],
)
def test_what_is_told_wrongly_is_refused_by_name(
    api: Api, members: dict[str, Any], field: str, is_beyond_a_schema: bool
) -> None:
    path = f"/conversations/{api.create()}/messages"
    body = {**ANSWER, **members}

    refused = api.call("POST", path, body)

    assert refused.status == 400, refused
    assert refused.body["error"]["field"] == field
    described = operation("POST", "/conversations/{conversationId}/messages")
    sent = Exchange("POST", path, 200, "", sent=json.dumps(body))
    assert (not list(described.complaints_of_request(sent))) == is_beyond_a_schema

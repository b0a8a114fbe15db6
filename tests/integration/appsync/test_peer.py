"""Beside Amplify's own handler, unmodified: the same event over the same messages, and what each asks and answers."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.bed.amplify_handler import AmplifyHandler, running
from tests.bed.appsync import AppSync, ListedMessages
from tests.bed.http2 import OverHttp2
from tests.bed.in_process import Api
from tests.bed.lagging import LaggingStore
from tests.bed.messages import VECTORS, complaints
from tests.bed.replies import Answer, Reply, Text, ToolUse, text, tool_use
from tests.bed.scripted_bedrock import ScriptedBedrock
from tests.bed.stored_messages import StoredMessages
from tests.integration.appsync.conftest import Turns
from tests.integration.appsync.test_answers import TOOLS

pytestmark = pytest.mark.slow

FROM_STORE = [case for case in VECTORS if case["source"] == "any"]
AS_LISTED = [case for case in VECTORS if case["source"] == "appsync"]
ENCODED_TWICE = {
    # Over GraphQL `aiContext` is text, which Amplify's handler encodes once more.
    "aiContext object appended as text",
    "aiContext {} is truthy",
    "aiContext on a tool-result message moves the turn boundary -> toolResult loses its toolUse",
}
NULLS_NOT_SENT = {
    # Its SDK leaves them out, and so mends in passing what the handler hands over.
    "nulls inside toolResult.content[] are NOT cleaned",
}


@pytest.fixture(scope="module")
def amplify(_bedrock: ScriptedBedrock) -> Iterator[AmplifyHandler]:
    with OverHttp2(_bedrock) as model, running(model.url) as handler:
        yield handler


def _is_answered_alike(case: Mapping[str, Any]) -> bool:
    differs = "amplifyAnswers" in case or case["name"] in ENCODED_TWICE
    return case["name"] in NULLS_NOT_SENT or not differs


def _stored(case: Mapping[str, Any], api: Api, lagging: LaggingStore) -> tuple[str, str]:
    """A conversation with the messages of a case; returns its id, and that of the message to be answered."""
    conversation_id = api.create()
    by_name: dict[str, str] = {}
    for given in [*case.get("listed", ()), *([case["fetchedById"]] if "fetchedById" in case else ())]:
        body = {
            name: given[name] for name in ("role", "content", "aiContext") if name in given and _may_have(given, name)
        }
        if question := given.get("associatedUserMessageId"):
            body["associatedUserMessageId"] = by_name[question]
        stored = api.call("POST", f"/conversations/{conversation_id}/messages", body)
        assert stored.status == 201, stored
        by_name[given["id"]] = stored.body["id"]
    lagging.withhold([by_name[case["fetchedById"]["id"]]] if "fetchedById" in case else [])
    return conversation_id, by_name[case["currentMessageId"]]


def _may_have(given: Mapping[str, Any], name: str) -> bool:
    return name != "aiContext" or given["role"] == "user"


def _asked(bedrock: ScriptedBedrock) -> Any:
    """The messages that the model was sent; `None` if it was not asked."""
    requests = bedrock.requests
    bedrock.reset()
    return requests[0].body["messages"] if requests else None


def _compare(case: Mapping[str, Any], theirs: Any, ours: Any) -> None:
    if _is_answered_alike(case):
        assert theirs == ours
    elif case.get("amplifyAnswers") == {"error": "crashes"}:
        assert theirs is None
    else:
        assert theirs != ours
    if ours is not None:
        assert complaints(ours) == []


@pytest.mark.parametrize("case", FROM_STORE, ids=[case["name"] for case in FROM_STORE])
def test_over_our_own_store_the_model_is_sent_the_same(
    case: dict[str, Any],
    api: Api,
    lagging: LaggingStore,
    appsync: AppSync,
    bedrock: ScriptedBedrock,
    turns: Turns,
    amplify: AmplifyHandler,
) -> None:
    appsync.messages = StoredMessages(lagging, api)

    amplify.answer(appsync.event(*_stored(case, api, lagging)))
    theirs = _asked(bedrock)
    turns.answer(*_stored(case, api, lagging))
    ours = _asked(bedrock)

    _compare(case, theirs, ours)
    assert ours == case["expected"].get("messages")


@pytest.mark.parametrize("case", AS_LISTED, ids=[case["name"] for case in AS_LISTED])
def test_over_what_only_appsync_lists_the_model_is_sent_the_same(
    case: dict[str, Any], appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns, amplify: AmplifyHandler
) -> None:
    found = case.get("fetchedById")
    appsync.messages = ListedMessages(case.get("listed", ()), {found["id"]: found} if found else {})

    amplify.answer(appsync.event("C", case["currentMessageId"]))
    theirs = _asked(bedrock)
    turns.answer(message_id=case["currentMessageId"])
    ours = _asked(bedrock)

    _compare(case, theirs, ours)


ANSWERS: list[tuple[str, list[Answer]]] = [
    ("text", [text("all ", "is ", "well")]),
    ("two texts", [Reply([Text(["one ", "two"]), Text(["three"])])]),
    ("cut off", [text("all ", "is", stop_reason="max_tokens")]),
    ("a data tool", [tool_use("thermometer", {"city": "Turin"}, before="Let me see. "), text("It is ", "5.")]),
    ("a data tool that fails", [tool_use("thermometer", {"city": "Atlantis"}), text("Nowhere.")]),
    ("a data tool without arguments", [tool_use("todos", {}), text("Sleep.")]),
    ("a client tool", [tool_use("weather", {"city": "Turin"}, before="Look: ")]),
    (
        "a client tool beside a data tool",
        [
            Reply(
                [ToolUse("thermometer", {"city": "Turin"}, "t1"), ToolUse("weather", {}, "t2")], stop_reason="tool_use"
            )
        ],
    ),
]


@pytest.mark.parametrize("answers", [answers for _, answers in ANSWERS], ids=[name for name, _ in ANSWERS])
def test_a_whole_turn_over_our_own_store_is_shown_and_stored_the_same(
    answers: list[Answer],
    api: Api,
    lagging: LaggingStore,
    appsync: AppSync,
    bedrock: ScriptedBedrock,
    turns: Turns,
    amplify: AmplifyHandler,
) -> None:
    appsync.messages = StoredMessages(lagging, api)
    seen, told, stored = [], [], []
    for answer in (amplify.answer, turns.take):
        conversation_id = api.create()
        question = api.say(conversation_id, "q")
        bedrock.script(*answers)

        assert answer(appsync.event(conversation_id, question["id"], toolsConfiguration=TOOLS)) in (None, "complete")

        seen.append(_seen(appsync))
        told.append([_without_words_of_errors(request.body) for request in bedrock.requests])
        listed = api.call("GET", f"/conversations/{conversation_id}/messages").body["messages"]
        stored.append([(message["role"], message["content"]) for message in listed])
        appsync.requests.clear()
        bedrock.reset()

    assert seen[0] == seen[1]
    assert told[0] == told[1]
    assert stored[0] == stored[1]
    assert [role for role, _ in stored[1]] == ["user", "assistant"]


def _seen(appsync: AppSync) -> Any:
    """What a client makes of the parts, and what is stored in the end."""
    uses = [
        (given["contentBlockIndex"], json.loads(given["contentBlockToolUse"]))
        for given in appsync.published
        if "contentBlockToolUse" in given
    ]
    last = {name: appsync.published[-1][name] for name in ("contentBlockIndex", "stopReason", "accumulatedTurnContent")}
    return appsync.text, uses, _parsed_inputs(last)


def _parsed_inputs(value: Any) -> Any:
    if isinstance(value, dict):
        parsed = {name: _parsed_inputs(member) for name, member in value.items()}
        return parsed | {"input": json.loads(value["input"])} if isinstance(value.get("input"), str) else parsed
    return [_parsed_inputs(member) for member in value] if isinstance(value, list) else value


def _without_words_of_errors(body: Mapping[str, Any]) -> Any:
    """What the model is asked. Amplify's handler tells it headers of a failed query, too."""

    def without(value: Any) -> Any:
        if isinstance(value, dict):
            is_error = value.get("status") == "error"
            return {name: without(member) for name, member in value.items() if not (is_error and name == "content")}
        return [without(member) for member in value] if isinstance(value, list) else value

    return without(body)

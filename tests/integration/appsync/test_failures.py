"""How a turn of AppSync fails: the client is told, nothing is raised, and the token is seen nowhere."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from conversations.bedrock import BedrockModel
from tests.bed.appsync import EXPIRED, TOKEN, AppSync, Fault, ListedMessages
from tests.bed.messages import said
from tests.bed.replies import (
    Answer,
    Break,
    EndWithoutStop,
    Hold,
    Pause,
    Reply,
    StreamError,
    Text,
    denied,
    invalid,
    text,
    throttled,
)
from tests.bed.scripted_bedrock import ScriptedBedrock
from tests.integration.appsync.conftest import Turns

pytestmark = pytest.mark.slow

SECRET = "my secret question"
QUESTION = {"id": "CUR", "conversationId": "C", "role": "user", "content": said(SECRET)}


@pytest.fixture(autouse=True)
def _asked(appsync: AppSync) -> None:
    appsync.messages = ListedMessages([QUESTION])


@pytest.fixture(autouse=True)
def _nothing_is_said_of_the_token_or_the_text(appsync: AppSync, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.DEBUG):
        yield
    records = [record for record in caplog.get_records("call") if record.name == "appsync-test"]
    logged = [f"{record.getMessage()} {vars(record)}" for record in records]
    assert logged
    assert not any(TOKEN in line or SECRET in line for line in logged)
    assert TOKEN not in str(appsync.published)


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        (Reply([Text(["half an ", "answer"]), StreamError("modelStreamErrorException", "no")]), "half an answer"),
        (Reply([Text(["half an ", "answer"]), EndWithoutStop()]), "half an answer"),
        (Reply([Text(["half an ", "answer"]), Break()]), "half an answer"),
        (invalid("too long"), ""),
        (denied(), ""),
    ],
    ids=["an error in the stream", "no stop event", "a broken stream", "refused", "forbidden"],
)
def test_an_error_of_the_model_is_told_and_the_partial_text_stays(
    answer: Answer, shown: str, appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns
) -> None:
    """Amplify's handler takes a stream without its stop event for complete: an empty answer replaces the text."""
    bedrock.script(answer)

    assert turns.answer() == "failed"

    assert appsync.text == shown
    *pieces, last = appsync.published
    assert [error["errorType"] for error in last["errors"]] == ["ModelError"]
    assert set(last) == {"conversationId", "associatedUserMessageId", "errors"}
    assert all("stopReason" not in piece and piece["accumulatedTurnContent"] for piece in pieces)
    assert appsync.requests[-1].headers["x-amz-user-agent"].endswith("md/turn-response-type#error")
    assert len(bedrock.requests) == 1


def test_a_model_that_passes_is_asked_again_within_the_invocation(
    appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns
) -> None:
    bedrock.script(throttled(), throttled(), text("well"))

    assert turns.answer() == "complete"

    assert turns.outcomes == [{"outcome": "complete", "attempt": 3}]
    assert (appsync.text, appsync.errors) == ("well", [])


def test_a_model_that_stays_down_is_told(appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns) -> None:
    bedrock.script(*[throttled()] * 9)

    assert turns.answer() == "failed"

    assert [error["errorType"] for error in appsync.errors] == ["ModelUnavailable"]
    assert len(bedrock.requests) == 4


def test_a_client_that_has_seen_a_part_is_not_shown_another_answer_in_its_place(
    appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns
) -> None:
    bedrock.script(Reply([Text(["half"]), StreamError("throttlingException", "slow down")]), text("another"))

    assert turns.answer() == "failed"

    assert (appsync.text, [error["errorType"] for error in appsync.errors]) == ("half", ["ModelUnavailable"])
    assert len(bedrock.requests) == 1


def test_an_expired_token_ends_the_turn_before_the_model_costs_anything(
    appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns
) -> None:
    appsync.token = "a newer one"

    assert turns.answer() == "failed"

    assert [request.operation for request in appsync.requests] == ["ListMessages", "PublishModelResponse"]
    assert appsync.errors == [
        {"errorType": "Unauthorized", "message": "The user's token is not valid, or not any more."}
    ]
    assert bedrock.requests == []


def test_a_token_that_expires_during_the_answer_ends_it(
    appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns
) -> None:
    bedrock.script(Reply([Text(["half"]), Pause(0.2), Text(["x" * 500]), Pause(0.2)]))
    appsync.faults.extend([None, None])
    appsync.otherwise = Fault(401, EXPIRED)

    assert turns.answer() == "failed"

    assert [error["errorType"] for error in appsync.errors] == ["Unauthorized"]
    assert len(appsync.requests) == 4


def test_an_api_that_is_down_ends_the_turn_in_time(appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns) -> None:
    appsync.otherwise = Fault(503, {"message": "internal: host 10.0.0.1"})

    assert turns.answer(within_s=0.5) == "failed"

    operations = [request.operation for request in appsync.requests]
    assert set(operations) == {"ListMessages", "PublishModelResponse"}
    assert operations.count("ListMessages") > 1
    assert appsync.errors[0] == {
        "errorType": "ApiUnavailable",
        "message": "The conversation's API could not be reached.",
    }
    assert bedrock.requests == []


def test_an_api_that_goes_down_during_the_answer_ends_it(
    appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns
) -> None:
    bedrock.script(text(*["word "] * 100))
    appsync.faults.extend([None, None])
    appsync.otherwise = Fault(0)

    assert turns.answer(within_s=0.5) == "failed"

    assert [error["errorType"] for error in appsync.errors][:1] == ["ApiUnavailable"]


def test_an_api_that_nobody_listens_at_ends_the_turn(appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns) -> None:
    assert turns.answer(within_s=0.5, graphqlApiEndpoint="http://127.0.0.1:1/graphql") == "failed"

    assert (appsync.requests, bedrock.requests) == ([], [])


@pytest.mark.parametrize(
    "fault",
    [
        Fault(400, {"errors": [{"errorType": "MalformedHttpRequestException", "message": "10.0.0.1"}]}),
        Fault(200, {"data": None, "errors": [{"errorType": "Unauthorized", "message": "10.0.0.1"}]}),
        Fault(200, b"<html>10.0.0.1"),
        Fault(200, []),
        Fault(200, {"data": None}),
        Fault(200, {"data": {}, "errors": 5}),
        Fault(307, {"message": "10.0.0.1"}, "/elsewhere"),
    ],
    ids=["refused", "forbidden", "no JSON", "no object", "no data", "errors that are no list", "sent elsewhere"],
)
def test_what_the_api_says_of_itself_is_not_told_to_the_client(
    fault: Fault, appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns
) -> None:
    """Amplify's handler tells headers and body."""
    appsync.faults.append(fault)

    assert turns.answer() == "failed"

    assert appsync.errors == [{"errorType": "ApiRefused", "message": "The conversation's API refused the request."}]
    assert [request.operation for request in appsync.requests] == ["ListMessages", "PublishModelResponse"]
    assert bedrock.requests == []


def test_a_read_by_id_that_is_refused_ends_the_turn(appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns) -> None:
    appsync.messages = ListedMessages()
    appsync.faults.extend([None, Fault(200, {"data": None, "errors": [{"errorType": "Unauthorized"}]})])

    assert turns.answer() == "failed"

    assert [error["errorType"] for error in appsync.errors] == ["ApiRefused"]
    assert bedrock.requests == []


def test_the_time_of_the_function_is_given_up_in_order(
    appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns
) -> None:
    """Amplify's handler is ended by Lambda, and its client waits for ever."""
    hold = Hold()
    bedrock.script(Reply([Text(["half"]), hold]))

    assert turns.answer(within_s=0.7) == "failed"
    hold.released.set()

    assert (appsync.text, [error["errorType"] for error in appsync.errors]) == ("half", ["Timeout"])


def test_what_is_wrong_with_an_event_is_told_to_its_client(
    appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns
) -> None:
    assert turns.answer(modelConfiguration={"inferenceConfiguration": {"topP": 2}}) == "refused"

    (error,) = appsync.errors
    assert error["errorType"] == "InvalidRequest"
    assert "topP" in error["message"]
    assert bedrock.requests == []


@pytest.mark.parametrize(
    "member",
    [
        {"graphqlApiEndpoint": "https://example.com/graphql"},
        {"request": {"headers": {}}},
        {"responseMutation": {"name": "a { b", "inputTypeName": "C", "selectionSet": "d"}},
        {"conversationId": None},
    ],
    ids=lambda member: next(iter(member)),
)
def test_an_event_that_leads_nowhere_is_refused_and_not_raised(
    member: dict[str, Any], appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns
) -> None:
    assert turns.take({**appsync.event("C", "CUR"), **member}) == "refused"

    assert (appsync.requests, bedrock.requests) == ([], [])


def test_a_fault_of_ours_is_told_without_its_words_and_not_raised(
    appsync: AppSync, turns: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError(f"bug with {SECRET} and {TOKEN}")

    monkeypatch.setattr(BedrockModel, "ask", broken)

    assert turns.answer() == "failed"

    assert appsync.errors == [{"errorType": "Internal", "message": "The answer failed."}]

"""A handler of one's own: the turn's claim, history, progress and completion, over the real store."""

from collections.abc import Callable
from typing import Any

import pytest

from conversations.errors import InvalidRequestError, LeasedError, NotFoundError, TooLargeError
from tests.bed.in_process import Api
from tests.bed.lagging import LaggingStore
from tests.bed.messages import said
from tests.integration.conftest import TestClock
from turn.claimed import ClaimedTurn, ClaimedTurns, claiming, claiming_from

Asked = tuple[str, dict[str, Any]]


@pytest.fixture
def claimed_turn(lagging: LaggingStore, clock: TestClock) -> ClaimedTurns:
    return claiming_from(lagging, clock)


@pytest.fixture
def asked(api: Api) -> Asked:
    """The path of a turn that was asked for, and its descriptor."""
    path = f"/conversations/{api.create()}/turns"
    message = api.call("POST", path, {"content": said("q")}).body["message"]
    return f"{path}/{message['id']}", dict(api.invocations.descriptors[-1])


def test_what_was_said_is_the_answer_and_it_is_given_once(api: Api, claimed_turn: ClaimedTurns, asked: Asked) -> None:
    path, event = asked
    with claimed_turn(event) as turn:
        assert turn is not None
        assert turn.history().prompt.messages == [{"role": "user", "content": said("q")}]
        with pytest.raises(LeasedError), claimed_turn(event):
            pass
        turn.say("do")
        turn.say("ne")
    with claimed_turn(event) as again:
        assert again is None

    followed = api.call("GET", path).body
    assert (followed["turn"]["status"], followed["message"]["content"]) == ("complete", said("done"))


def test_the_history_is_the_one_that_is_shown_with_window_and_recall(api: Api, claimed_turn: ClaimedTurns) -> None:
    conversation_id = api.create()
    path = f"/conversations/{conversation_id}"
    for question, answer in (("My cat is called Tosca.", "Noted."), ("Now for the weather.", "It rains.")):
        api.say(conversation_id, question)
        api.say(conversation_id, answer, "assistant")
    options = {"window": {"maxMessages": 1}, "recall": {"maxInteractions": 1}}
    asked = api.call("POST", f"{path}/turns", {"content": said("What is my cat called?"), **options}).body["message"]
    shown = api.call("GET", f"{path}/history", query={"currentMessageId": asked["id"]}).body

    with claimed_turn(dict(api.invocations.descriptors[-1])) as turn:
        assert turn is not None
        messages = turn.history().prompt.messages
        turn.say("Tosca.")

    assert messages == shown["messages"]
    assert "Tosca" in messages[0]["content"][0]["text"]


def test_readers_follow_what_is_said(api: Api, claimed_turn: ClaimedTurns, asked: Asked, clock: TestClock) -> None:
    path, event = asked
    with claimed_turn(event) as turn:
        assert turn is not None
        clock.offset_s += 1
        turn.say("half")
        shown = api.call("GET", path).body["turn"]
        turn.finish([{"text": "whole"}], model_id="mine", usage={"inputTokens": 1}, stop_reason="end_turn")

    message = api.call("GET", path).body["message"]
    assert (shown["status"], shown["partialText"]) == ("running", "half")
    assert (message["content"], message["modelId"], message["stopReason"]) == (said("whole"), "mine", "end_turn")


def test_a_cancelled_turn_ends_the_block_quietly(
    api: Api, claimed_turn: ClaimedTurns, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conversations.attempt.LOOK_NS", 0)
    path, event = asked
    reached = False
    with claimed_turn(event) as turn:
        assert turn is not None
        assert api.call("DELETE", path).status == 200
        turn.keep()
        reached = True

    assert not reached
    assert api.call("GET", path).body["turn"]["status"] == "cancelled"


def _fails(turn: ClaimedTurn) -> None:
    turn.say("half")
    turn.fail("The oracle is silent.", code="Oracle")


def _raises(turn: ClaimedTurn) -> None:
    turn.say("half")
    raise RuntimeError("bug")


def test_a_failure_for_good_is_told_and_may_be_asked_again(api: Api, claimed_turn: ClaimedTurns, asked: Asked) -> None:
    path, event = asked
    with claimed_turn(event) as turn:
        assert turn is not None
        _fails(turn)
    found = api.call("GET", path).body["turn"]

    assert (found["status"], found["partialText"]) == ("failed", "half")
    assert found["error"] == {"code": "Oracle", "message": "The oracle is silent."}
    assert api.call("POST", path).status == 202


@pytest.mark.parametrize("body", [_raises, lambda _: None], ids=["raises", "says nothing"])
def test_what_the_block_raises_gives_the_turn_back(
    api: Api, claimed_turn: ClaimedTurns, asked: Asked, body: Callable[[ClaimedTurn], None]
) -> None:
    path, event = asked
    with pytest.raises(Exception, match=r"bug|Nothing was said"), claimed_turn(event) as turn:
        assert turn is not None
        body(turn)
    with claimed_turn(event) as turn:
        assert turn is not None
        turn.say("done")

    assert api.call("GET", path).body["turn"]["attempt"] == 2


@pytest.mark.parametrize(
    ("finished", "error"),
    [
        ({"content": [{"text": 5}]}, InvalidRequestError),
        ({"content": said("a\ud800")}, InvalidRequestError),
        ({"content": said(" ")}, InvalidRequestError),
        ({"content": ["x"]}, InvalidRequestError),
        ({"content": said("x" * 5_000_000)}, TooLargeError),
        ({"usage": {"inputTokens": "many"}}, InvalidRequestError),
        ({"usage": {"inputTokens": float("nan")}}, InvalidRequestError),
    ],
    ids=["no text", "half a character", "blank", "no block", "too large", "no count", "no number"],
)
def test_what_no_message_may_hold_is_not_stored(
    api: Api, claimed_turn: ClaimedTurns, asked: Asked, finished: dict[str, Any], error: type[Exception]
) -> None:
    path, event = asked
    with pytest.raises(error), claimed_turn(event) as turn:
        assert turn is not None
        turn.say("well")
        turn.finish(**finished)

    assert api.call("GET", path).body["turn"]["status"] == "running"


def test_an_error_of_any_length_is_told(api: Api, claimed_turn: ClaimedTurns, asked: Asked) -> None:
    path, event = asked
    with claimed_turn(event) as turn:
        assert turn is not None
        turn.fail("x" * 500_000)

    assert api.call("GET", path).body["turn"]["error"] == {"code": "Failed", "message": "x" * 1_000}


@pytest.mark.parametrize(
    ("change", "error"), [({"owner": "mallory"}, NotFoundError), ({"conversationId": "x"}, InvalidRequestError)]
)
def test_what_is_not_the_owners_is_refused(
    claimed_turn: ClaimedTurns, asked: Asked, change: dict[str, str], error: type[Exception]
) -> None:
    with pytest.raises(error), claimed_turn(asked[1] | change):
        pass


def test_missing_variables_are_named() -> None:
    with pytest.raises(KeyError, match="BODIES_BUCKET, CONVERSATIONS_TABLE, MESSAGES_TABLE"):
        claiming({})

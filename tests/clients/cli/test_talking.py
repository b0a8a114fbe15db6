"""What the chat sends, when interrupts and lost answers come in the way."""

import httpx
import pytest

from conversation_memory import Client
from conversation_memory.cli.talking import Talk
from conversation_memory.errors import NoAnswerError
from tests.bed.in_process import Api
from tests.bed.served import Served, lost, refused


def interrupted(served: Served, request: httpx.Request) -> httpx.Response:
    """It is carried out, and the person presses Ctrl-C before the answer is there."""
    served.carry_out(request)
    raise KeyboardInterrupt


def interrupted_before(served: Served, request: httpx.Request) -> httpx.Response:
    """The person presses Ctrl-C before anything is sent."""
    raise KeyboardInterrupt


@pytest.fixture
def talk(memory: Client) -> Talk:
    return Talk(memory, known=None, beginning={"name": "A chat"}, options={"recall": {"maxInteractions": 2}})


def stored(memory: Client) -> list[tuple[str, str]]:
    """What all conversations hold, with how its turns stand."""
    return [
        (message["content"][0]["text"], memory.get_turn(message["conversationId"], message["id"])["turn"]["status"])
        for conversation in memory.conversations()
        for message in memory.messages(conversation["id"])
    ]


@pytest.mark.parametrize("fault", [interrupted, interrupted_before])
@pytest.mark.parametrize("requests_before", [0, 1], ids=["the conversation", "the message"])
def test_an_interrupt_while_it_is_sent_leaves_one_message_cancelled(
    talk: Talk, served: Served, memory: Client, fault: object, requests_before: int
) -> None:
    served.faults.extend([Served.carry_out] * requests_before)
    served.faults.append(fault)  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        talk.ask("Hello")

    assert talk.cancel()

    assert stored(memory) == [("Hello", "cancelled")]
    assert talk.may_ask_again


def test_what_was_cancelled_is_asked_again(talk: Talk, memory: Client, api: Api) -> None:
    talk.ask("Hello")
    talk.cancel()

    talk.ask_again()

    assert stored(memory) == [("Hello", "pending")]
    assert len(api.invocations.descriptors) == 2


def test_what_never_arrived_is_sent_again_and_is_there_once(
    talk: Talk, served: Served, memory: Client, waits: list[float]
) -> None:
    served.faults.extend([Served.carry_out, lost, *[refused] * 4])
    with pytest.raises(NoAnswerError):
        talk.ask("Hello")

    talk.ask_again()

    assert stored(memory) == [("Hello", "pending")]


def test_there_is_nothing_to_cancel_before_anything_is_said(talk: Talk, memory: Client) -> None:
    assert not talk.cancel()
    assert stored(memory) == []


def test_what_is_no_unicode_becomes_question_marks(talk: Talk, memory: Client) -> None:
    talk.ask("half \ud83d of it")

    assert stored(memory) == [("half ? of it", "pending")]

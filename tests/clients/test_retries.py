"""What is sent again, when, and that nothing is done twice."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest

from conversation_memory import Client, errors
from conversation_memory.errors import BusyError, NoAnswerError, NotFoundError, ServerError, ThrottledError
from tests.bed.in_process import Api
from tests.bed.served import Fault, Served, answering, done_and_answering, late, lost, refused

PASSING = {
    "reset after it was done": lost,
    "timed out after it was done": late,
    "refused": refused,
    "429": answering(429, '{"message": "Too Many Requests"}'),
    "502 after it was done": done_and_answering(502),
    "503": answering(503, '{"error": {"code": "Busy", "message": "later", "requestId": "r"}}'),
    "504 after it was done": done_and_answering(504),
}


@pytest.fixture
def conversation_id(memory: Client) -> str:
    return memory.create_conversation()["id"]


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
def test_what_passes_is_sent_again_and_done_once(
    memory: Client, served: Served, waits: list[float], conversation_id: str, fault: Fault
) -> None:
    served.faults.extend([fault] * 3)
    created = memory.create_conversation(name="one")
    served.faults.extend([fault] * 3)
    appended = memory.append_message(conversation_id, "user", "one")
    served.faults.extend([fault] * 3)
    asked = memory.start_turn(conversation_id, "two")
    served.faults.extend([fault] * 3)
    memory.change_conversation(conversation_id, {"name": "changed"})

    assert [m["id"] for m in memory.messages(conversation_id)] == [appended["id"], asked["message"]["id"]]
    assert [c["id"] for c in memory.conversations() if c["name"] == "one"] == [created["id"]]
    assert len(waits) == 12
    for tries in (waits[:3], waits[3:6]):
        assert all(least <= wait <= 2 * least for least, wait in zip((0.125, 0.25, 0.5), tries, strict=True))


def test_the_key_is_made_once_for_a_call(
    memory: Client, served: Served, waits: list[float], conversation_id: str
) -> None:
    served.requests.clear()
    for _ in range(2):
        served.faults.append(lost)
        memory.append_message(conversation_id, "user", "the same")

    first, again, second, _ = [request.headers["idempotency-key"] for request in served.requests]
    assert first == again != second
    assert len(list(memory.messages(conversation_id))) == 2


def test_a_key_of_one_s_own_is_good_for_another_call(
    memory: Client, served: Served, waits: list[float], conversation_id: str
) -> None:
    served.faults.extend([late] * 5)
    with pytest.raises(NoAnswerError, match="ReadTimeout"):
        memory.append_message(conversation_id, "user", "once", idempotency_key="my key")

    memory.append_message(conversation_id, "user", "once", idempotency_key="my key")

    assert len(list(memory.messages(conversation_id))) == 1
    with pytest.raises(errors.IdempotencyMismatchError):
        memory.append_message(conversation_id, "user", "other", idempotency_key="my key")


def test_what_was_removed_before_its_answer_was_lost_counts_as_removed(
    memory: Client, served: Served, waits: list[float], conversation_id: str
) -> None:
    served.faults.append(lost)
    memory.delete_conversation(conversation_id)

    served.faults.append(refused)
    with pytest.raises(NotFoundError):
        memory.delete_conversation(conversation_id)


@pytest.mark.parametrize(
    ("retry_after", "least", "most"),
    [("7", 7, 8), ("0", 0.1, 0.3), ("soon", 0.1, 0.3), ("-5", 0.1, 0.3), ("in an hour", 0, 0)],
)
def test_the_service_says_when_to_come_back(
    memory: Client, served: Served, waits: list[float], retry_after: str, least: float, most: float
) -> None:
    value = "3600" if retry_after == "in an hour" else retry_after
    served.faults.append(answering(503, headers={"retry-after": value}))

    if retry_after == "in an hour":
        with pytest.raises(BusyError) as raised:
            memory.get_status()
        assert raised.value.retry_after_s == 3600
        assert waits == []
    else:
        memory.get_status()
        assert least <= waits[0] <= most


def test_it_may_say_a_time_of_the_day(memory: Client, served: Served, waits: list[float]) -> None:
    at = format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)
    served.faults.append(answering(429, headers={"retry-after": at}))

    memory.get_status()

    assert 15 <= waits[0] <= 22


@pytest.mark.parametrize(
    ("status", "kind"), [(429, ThrottledError), (502, ServerError), (503, BusyError), (504, ServerError)]
)
def test_in_the_end_it_is_given_up(
    memory: Client, served: Served, waits: list[float], status: int, kind: type[Exception]
) -> None:
    served.faults.extend([answering(status)] * 5)

    with pytest.raises(kind):
        memory.get_status()

    assert len(served.requests) == 5
    assert len(waits) == 4


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422, 500])
def test_what_would_be_the_same_again_is_sent_once(
    memory: Client, served: Served, waits: list[float], status: int
) -> None:
    served.faults.append(answering(status))

    with pytest.raises(errors.ApiError):
        memory.get_status()

    assert len(served.requests) == 1
    assert waits == []


def test_what_can_never_be_sent_is_not_tried_again(memory: Client, served: Served, waits: list[float]) -> None:
    def illegal(served: Served, request: httpx.Request) -> httpx.Response:
        raise httpx.LocalProtocolError("Illegal header value", request=request)

    served.faults.append(illegal)

    with pytest.raises(httpx.LocalProtocolError):
        memory.get_status()
    assert waits == []


def test_a_long_poll_has_its_time_on_top(memory: Client, served: Served, conversation_id: str) -> None:
    """The client that the fixture made gives every answer five seconds, as httpx does by itself."""
    asked = memory.start_turn(conversation_id, "one")
    memory.cancel_turn(conversation_id, asked["message"]["id"])
    memory.get_turn(conversation_id, asked["message"]["id"], wait_s=20)

    assert [request.extensions["timeout"]["read"] for request in served.requests[-2:]] == [5, 25]
    assert {request.extensions["timeout"]["connect"] for request in served.requests} == {5}


def test_how_often_is_the_caller_s_choice(served: Served, waits: list[float], api: Api) -> None:
    served.faults.extend([refused] * 2)

    with httpx.Client(transport=served) as http, pytest.raises(NoAnswerError, match="1 attempts"):
        Client("http://memory", http=http, attempts=1).get_status()

    assert waits == []

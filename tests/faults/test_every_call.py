"""Every call of AWS that a request makes goes wrong in turn, in every way: the request succeeds, or says 503 and can be
sent again; what is seen afterwards is the same as if nothing had gone wrong, and the auditor finds nothing.
"""

import itertools
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import boto3
import pytest
from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics
from botocore.config import Config
from botocore.exceptions import FlexibleChecksumError, IncompleteReadError, ResponseStreamingError
from botocore.response import StreamingBody

from cleanup.worker import Worker as Cleaner
from conversations import clients
from conversations.amending import InteractionChange, change_interaction
from conversations.clock import NANOSECONDS, SystemClock
from conversations.dynamo import DynamoStore
from conversations.dynamo import Tables as TableNames
from conversations.dynamo_cleaning import DynamoRemains
from conversations.errors import BusyError, LeasedError, ModelError
from conversations.interactions import NewInteraction, add_interaction, read_interaction
from conversations.objects import Objects
from conversations.traces import NewTrace, add_trace
from tests.bed.audited import assert_sound
from tests.bed.cleanup import MemoryQueue
from tests.bed.in_process import Api
from tests.bed.injecting import KINDS, Injector
from tests.bed.messages import said
from tests.bed.played_model import PLENTY_MS, SETTINGS, PlayedModel
from tests.bed.tables import Tables, fresh_tables
from tests.faults.conftest import FAULTS
from turn.worker import Worker

LONG_NAME = "Turin " * 100  # stands in an item of its own
LARGE_TEXT = os.urandom(50_000).hex()  # stands in an object of its own
WORDS = [LARGE_TEXT[:30_000], LARGE_TEXT[30_000:60_000], LARGE_TEXT[60_000:]]


class HurriedClock(SystemClock):
    """Nobody waits: a sleep moves the time on, ten times as far."""

    def __init__(self) -> None:
        self.ahead_ns = 0

    def now_ns(self) -> int:
        return super().now_ns() + self.ahead_ns

    def sleep(self, seconds: float) -> None:
        self.ahead_ns += int(10 * seconds * NANOSECONDS)


class Bed:
    """The API, the turn function and cleanup over one store, and what stands in their way to AWS."""

    def __init__(self, endpoint: str, tables: Tables, tries: int) -> None:
        self.clock = HurriedClock()
        self.user = ""
        self.injector, self.dynamodb, self.s3 = _clients(endpoint, tries)
        names = TableNames(tables.messages, tables.conversations)
        self.store = store = DynamoStore(self.dynamodb, names, Objects(lambda: self.s3, tables.bodies), self.clock)
        remains = DynamoRemains(self.dynamodb, names, lambda: self.s3, tables.bodies, self.clock)
        self.api = Api(store, self.clock, auth="jwt")
        self.model = PlayedModel()
        logger, metrics = Logger(service="test"), Metrics("test", "test")
        self.turns = Worker(store, self.clock, self.model, SETTINGS, logger, metrics)
        self.queue: list[str] = []
        self.cleaner = Cleaner(store, remains, self.clock, MemoryQueue(self.queue), logger, metrics)
        self.tables = tables

    def call(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        return self.api.call(method, path, body, **options)

    def world(self) -> Any:
        """All that the user sees: conversations with their messages and the states of their turns, without ids."""
        listed = self.call("GET", "/conversations").body["conversations"]
        return sorted((self._conversation(one) for one in listed), key=json.dumps)

    def _conversation(self, conversation: Mapping[str, Any]) -> Any:
        path = f"/conversations/{conversation['id']}"
        page = self.call("GET", f"{path}/messages", query={"limit": 1000}).body["messages"]
        assert conversation["messageCount"] == len(page)
        chain = [[message["role"], message["content"], self._turn(path, message)] for message in page]
        return [conversation.get("name"), conversation.get("sessionId"), conversation["metadata"], chain]

    def _turn(self, path: str, message: Mapping[str, Any]) -> str:
        turn = self.call("GET", f"{path}/turns/{message['id']}")
        return str(turn.body["turn"]["status"]) if turn.status == 200 else "none"


def _clients(endpoint: str, tries: int) -> tuple[Injector, Any, Any]:
    """Clients with the settings of the functions', but for the number of tries."""
    retries = Config(retries={"mode": "standard", "total_max_attempts": tries})
    dynamodb = boto3.client("dynamodb", endpoint_url=endpoint, config=clients.DATA.merge(retries))
    path_style = Config(s3={"addressing_style": "path"})
    s3 = boto3.client("s3", endpoint_url=endpoint, config=clients.OBJECTS.merge(retries).merge(path_style))
    return Injector(dynamodb, s3), dynamodb, s3


@dataclass(frozen=True)
class Outcome:
    """What a request came to. One that is not ``done`` may be sent again."""

    done: bool
    told: Any


@dataclass(frozen=True)
class Case:
    """Something that is done, and what must be there before."""

    act: Callable[[Bed, Any], Outcome]
    prepare: Callable[[Bed], Any] = lambda _: None
    repeat: object = None  # what a repeat is told when it was done already and the answer was lost


def _request(
    method: str, path: str, body: Any = None, *, key: bool = False, query: Mapping[str, str] | None = None
) -> Callable[[Bed, Any], Outcome]:
    """A request; ``{c}`` and ``{m}`` are what was prepared."""

    def act(bed: Bed, given: Any) -> Outcome:
        conversation_id, message_id = given if isinstance(given, tuple) else (given, "")
        sent = json.dumps(body).replace("{c}", str(conversation_id)).replace("{m}", message_id)
        headers = {"Idempotency-Key": "k"} if key else {}
        filled = path.format(c=conversation_id, m=message_id)
        answer = bed.call(method, filled, raw=None if body is None else sent, headers=headers, query=query)
        if answer.status == 503:
            assert answer.headers["Retry-After"] == "1"
            assert answer.body["error"]["code"] == "Busy"
            return Outcome(False, 503)
        return Outcome(True, answer.status)

    return act


def _made(**members: Any) -> Callable[[Bed], str]:
    return lambda bed: bed.api.create(**members)


def _asked(bed: Bed) -> tuple[str, str]:
    conversation_id = bed.api.create()
    asked = bed.call("POST", f"/conversations/{conversation_id}/turns", {"content": said("q")})
    return conversation_id, asked.body["message"]["id"]


def _failed(bed: Bed) -> tuple[str, str]:
    asked = _asked(bed)
    bed.model.scripts.append(_refuse)
    assert _deliver(bed, asked).told["outcome"] == "failed"
    return asked


def _refuse() -> Iterator[Mapping[str, Any]]:
    raise ModelError("refused")


def _deliver(bed: Bed, given: tuple[str, str]) -> Outcome:
    """An event comes to the turn function."""
    event = {
        "conversationId": given[0],
        "currentMessageId": given[1],
        "owner": bed.api.authorizer["jwt"]["claims"]["sub"],
    }
    try:
        answered = bed.turns.answer(event, PLENTY_MS)
    except (BusyError, LeasedError):
        bed.clock.sleep(7)  # a lease that could not be given back runs out
        return Outcome(False, "raised")
    return Outcome(True, {"outcome": answered["outcome"]})


def _deliver_to_refusal(bed: Bed, given: tuple[str, str]) -> Outcome:
    bed.model.scripts[:] = [_refuse]
    outcome = _deliver(bed, given)
    bed.model.scripts.clear()
    return outcome


def _deliver_long(bed: Bed, given: tuple[str, str]) -> Outcome:
    """Its partial text is kept on the way, and the whole becomes an object."""

    def script() -> Iterator[Mapping[str, Any]]:
        for word in WORDS:
            bed.clock.sleep(0.1)
            yield {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": word}}}
        yield {"messageStop": {"stopReason": "end_turn"}}

    bed.model.scripts[:] = [script]
    outcome = _deliver(bed, given)
    bed.model.scripts.clear()
    return outcome


def _give_up(bed: Bed, given: tuple[str, str]) -> Outcome:
    event = {"conversationId": given[0], "currentMessageId": given[1], "owner": bed.user}
    record = {"messageId": "1", "body": json.dumps({"requestPayload": event})}
    return Outcome(not bed.turns.give_up([record])["batchItemFailures"], "given up")


def _full(bed: Bed) -> str:
    """Something of every kind, in two chains."""
    conversation_id = bed.api.create(name=LONG_NAME, sessionId="full", ttlDays=1)
    for _ in range(2):
        bed.call("DELETE", f"/conversations/{conversation_id}/messages")
        bed.api.say(conversation_id, "q")
        bed.api.say(conversation_id, LARGE_TEXT)
        bed.api.say(conversation_id, "a", "assistant")
    return conversation_id


def _deleted(bed: Bed) -> str:
    conversation_id = _full(bed)
    assert bed.call("DELETE", f"/conversations/{conversation_id}").status == 204
    return conversation_id


def _expired(bed: Bed) -> str:
    conversation_id = _full(bed)
    bed.clock.ahead_ns += 2 * 24 * 3600 * NANOSECONDS
    return conversation_id


def _clean(bed: Bed, conversation_id: str) -> Outcome:
    record = {"messageId": "1", "body": json.dumps({"conversationId": conversation_id})}
    return Outcome(not bed.cleaner.clean([record], PLENTY_MS)["batchItemFailures"], "cleaned")


def _removed_by_ttl(bed: Bed) -> tuple[str, Any]:
    conversation_id = _full(bed)
    key, table = {"id": {"S": conversation_id}}, bed.tables.conversations
    item = bed.dynamodb.delete_item(TableName=table, Key=key, ReturnValues="ALL_OLD")["Attributes"]
    return conversation_id, item


def _follow(bed: Bed, given: tuple[str, Any]) -> Outcome:
    change = {"Keys": {"id": {"S": given[0]}}, "OldImage": given[1], "SequenceNumber": "1"}
    return Outcome(not bed.cleaner.follow([{"dynamodb": change}])["batchItemFailures"], "followed")


MESSAGE = {"role": "user", "content": said("x")}
LARGE = {"role": "user", "content": said(LARGE_TEXT)}
ANSWER = {"role": "assistant", "content": said("a")}
NAMED_ANSWER = ANSWER | {"associatedUserMessageId": "{m}"}
C = "/conversations/{c}"


def _asked_with_trace(bed: Bed) -> tuple[str, str]:
    conversation_id, message_id = _asked(bed)
    new = NewTrace(message_id, 1, input=LARGE_TEXT)
    trace_id = add_trace(bed.store, bed.clock, owner=bed.user, conversation_id=conversation_id, new=new)
    return conversation_id, trace_id


def _add_interaction(bed: Bed, conversation_id: str) -> Outcome:
    new = NewInteraction(input="q", response=LARGE_TEXT, additional_info={"a": 1})
    added = add_interaction(bed.store, bed.clock, owner=bed.user, conversation_id=conversation_id, new=new)
    return _read_back(bed, added)


def _add_trace(bed: Bed, given: tuple[str, str]) -> Outcome:
    new = NewTrace(given[1], 1, input=LARGE_TEXT)
    return _read_back(bed, add_trace(bed.store, bed.clock, owner=bed.user, conversation_id=given[0], new=new))


def _change_in_place(bed: Bed, given: tuple[str, str]) -> Outcome:
    change = InteractionChange(additional_info={"b": {"c": 1}}, response=LARGE_TEXT)
    change_interaction(bed.store, bed.clock, owner=bed.user, message_id=given[1], change=change)
    return _read_back(bed, given[1])


def _read_back(bed: Bed, message_id: str) -> Outcome:
    _, found = read_interaction(bed.store, bed.clock, owner=bed.user, message_id=message_id)
    return Outcome(True, (found.input, found.response, found.additional_info, found.version))


OVER = {"outcome": "superseded"}
CASES: dict[str, Case] = {
    "create": Case(_request("POST", "/conversations", {"name": "n"}, key=True)),
    "create long": Case(_request("POST", "/conversations", {"name": LONG_NAME, "sessionId": "s"}, key=True)),
    "create by session": Case(_request("POST", "/conversations", {"sessionId": "s"}), repeat=200),
    "append": Case(_request("POST", f"{C}/messages", MESSAGE, key=True), _made()),
    "append own id": Case(_request("POST", f"{C}/messages", MESSAGE | {"clientMessageId": "m"}), _made()),
    "append large": Case(_request("POST", f"{C}/messages", LARGE, key=True), _made()),
    "append batch": Case(_request("POST", f"{C}/messages", {"messages": [MESSAGE, ANSWER, LARGE]}, key=True), _made()),
    "answer": Case(_request("POST", f"{C}/messages", ANSWER, key=True), _asked),
    "answer by name": Case(
        _request("POST", f"{C}/messages", ANSWER | {"associatedUserMessageId": "{m}"}, key=True), _asked
    ),
    "change": Case(_request("PATCH", C, {"name": "other", "ttlDays": 7}), _made(name="n")),
    "change to long": Case(_request("PATCH", C, {"name": LONG_NAME}), _made(name="n")),
    "change from long": Case(_request("PATCH", C, {"name": "n"}), _made(name=LONG_NAME)),
    "clear": Case(_request("DELETE", f"{C}/messages"), _full),
    "delete": Case(_request("DELETE", C), _full, repeat=404),
    "delete many": Case(_request("POST", "/conversations/delete", {"ids": ["{c}", "made-up"]}, key=True), _made()),
    "ask": Case(_request("POST", f"{C}/turns", {"content": said("q")}, key=True), _made()),
    "ask again": Case(_request("POST", f"{C}/turns/{{m}}", {}, key=True), _failed),
    "cancel": Case(_request("DELETE", f"{C}/turns/{{m}}"), _asked),
    "read": Case(_request("GET", f"{C}/messages"), _full),
    "read one": Case(_request("GET", f"{C}/messages/{{m}}"), _asked),
    "read history": Case(_request("GET", f"{C}/history"), _asked),
    "search": Case(_request("GET", f"{C}/search", query={"q": "q"}), _full),
    "read turn": Case(_request("GET", f"{C}/turns/{{m}}"), _asked),
    "read conversation": Case(_request("GET", C), _made(name=LONG_NAME)),
    "list": Case(_request("GET", "/conversations"), _made(name=LONG_NAME)),
    "list by session": Case(_request("GET", "/conversations", query={"sessionId": "s"}), _made(sessionId="s")),
    "turn": Case(_deliver, _asked, repeat=OVER),
    "turn of a large answer": Case(_deliver_long, _asked, repeat=OVER),
    "turn that fails": Case(_deliver_to_refusal, _asked, repeat=OVER),
    "turn that was given up": Case(_give_up, _asked),
    "clean": Case(_clean, _deleted),
    "clean what expired": Case(_clean, _expired),
    "clean older chains": Case(_clean, _full),
    "bury what expired": Case(_follow, _removed_by_ttl),
}
WITHOUT_A_KEY = {
    # What OpenSearch's dialect does: a repeat would be another request.
    "add interaction": Case(_add_interaction, _made()),
    "add trace": Case(_add_trace, _asked),
    "change interaction": Case(_change_in_place, _asked),
    "change trace": Case(_change_in_place, _asked_with_trace),
}


@pytest.fixture(scope="module")
def shared_tables(dynamodb: Any, s3: Any) -> Iterator[Tables]:
    """For all of these tests together; after them all that is stored is audited."""
    with fresh_tables(dynamodb, s3) as tables:
        yield tables
        assert_sound(dynamodb, s3, **asdict(tables))


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK tries again at once."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)


Record = Callable[[str, object], None]
_numbers = itertools.count()
FOR_EVER = 1_000_000


def _begin(bed: Bed, case: Case) -> Any:
    """A user of its own, and what must be there."""
    bed.user = f"user-{next(_numbers)}"
    bed.api.as_user(bed.user)
    bed.model.scripts.clear()
    return case.prepare(bed)


def _clean_run(bed: Bed, case: Case) -> tuple[Outcome, Any, list[str]]:
    """What the case comes to when nothing goes wrong, and the calls that it makes."""
    given = _begin(bed, case)
    with bed.injector.wrong(KINDS["failed"], range(0)):
        outcome = case.act(bed, given)
        calls = list(bed.injector.calls)
    assert outcome.done
    return outcome, bed.world(), calls


# The way that is hardest to get right is tried in every run.
ways = pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow if kind == "lost" else pytest.mark.faults) for kind in KINDS]
)


@ways
@pytest.mark.parametrize("name", [*CASES, *WITHOUT_A_KEY])
def test_one_fault_at_any_call_is_made_up_for(
    dynamodb_endpoint: str, shared_tables: Tables, record_property: Record, name: str, kind: str
) -> None:
    """With the tries that the functions' clients have, nobody notices."""
    bed, case = Bed(dynamodb_endpoint, shared_tables, tries=3), (CASES | WITHOUT_A_KEY)[name]
    expected, world, calls = _clean_run(bed, case)

    for number, call in enumerate(calls):
        given = _begin(bed, case)
        with bed.injector.wrong(KINDS[kind], range(number, number + 1)):
            outcome = case.act(bed, given)
        assert outcome == expected, (number, call)
        assert bed.world() == world, (number, call)
    assert bed.injector.injected == len(calls) > 0
    record_property(FAULTS, bed.injector.injected)


@pytest.mark.faults
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CASES)
def test_what_stays_down_is_said_and_the_repeat_completes_it(
    dynamodb_endpoint: str, shared_tables: Tables, record_property: Record, name: str, kind: str
) -> None:
    bed, case = Bed(dynamodb_endpoint, shared_tables, tries=1), CASES[name]
    expected, world, calls = _clean_run(bed, case)

    for number, call in enumerate(calls):
        given = _begin(bed, case)
        with bed.injector.wrong(KINDS[kind], range(number, FOR_EVER)):
            first = case.act(bed, given)
        outcome = first
        for _ in range(3):
            if not outcome.done:
                outcome = case.act(bed, given)
        if first.done:
            assert first == expected, (number, call)
        assert outcome.done, (number, call)
        assert outcome.told in (expected.told, case.repeat), (number, call)
        assert bed.world() == world, (number, call)
    record_property(FAULTS, bed.injector.injected)


BROKEN_OFF = {
    "broken off": ResponseStreamingError(error="half of it is missing"),
    "too short": IncompleteReadError(actual_bytes=1, expected_bytes=2),
    "damaged": FlexibleChecksumError(error_msg="another checksum"),
}


@pytest.mark.parametrize("error", BROKEN_OFF.values(), ids=BROKEN_OFF)
@pytest.mark.parametrize(("times", "status"), [(1, 200), (2, 503)])
def test_an_object_whose_reading_breaks_off_is_read_again_once(
    dynamodb_endpoint: str, shared_tables: Tables, monkeypatch: pytest.MonkeyPatch, times: int, status: int, error: Any
) -> None:
    """The SDK repeats calls, not the reading of a body."""
    bed = Bed(dynamodb_endpoint, shared_tables, tries=3)
    conversation_id = _begin(bed, Case(_clean, _made()))
    bed.api.say(conversation_id, LARGE_TEXT)
    left, whole = [1] * times, StreamingBody.read

    def breaks_off(body: StreamingBody, **bounds: Any) -> Any:
        if left:
            left.pop()
            raise error
        return whole(body, **bounds)

    monkeypatch.setattr(StreamingBody, "read", breaks_off)
    page = bed.call("GET", f"/conversations/{conversation_id}/messages")

    assert page.status == status
    if status == 503:
        page = bed.call("GET", f"/conversations/{conversation_id}/messages")
    assert page.body["messages"][0]["content"] == said(LARGE_TEXT)

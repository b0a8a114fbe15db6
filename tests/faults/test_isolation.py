"""Nobody sees, changes or notices what is not theirs: two users, an administrator and a service, in any order of calls.

What a call by someone who may not make it answers is compared with what the same call answers of something that never
was: they must be equal but for the ids that were sent, and the owner must see the same as before.
"""

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import pytest
from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from conversations.dynamo import DynamoStore
from tests.bed.in_process import Answer, Api
from tests.bed.messages import said
from tests.bed.played_model import PLENTY_MS, SETTINGS, PlayedModel
from tests.integration.conftest import TestClock
from turn.worker import Worker

_numbers = itertools.count()
PEOPLE = ("alice", "bob", "admin", "service")
USERS = ("alice", "bob", "service")  # who may touch their own only
MADE_UP = "made-up-made-up-1234"
ODD_IDS = ["#", "/", "%", "%2F", " ", ".", "..", "😀", "a#b", "a/b", "a%00b", "x" * 2049, "\x00", "*", "_", "~1", "'"]


@dataclass
class Known:
    """A conversation as the test knows it."""

    id: str
    owner: str
    session_id: str | None = None
    messages: list[str] = field(default_factory=list)
    deleted: bool = False


@dataclass(frozen=True)
class Probe:
    """A call that concerns a conversation (`{c}`), one of its messages (`{m}`), or both."""

    method: str
    path: str
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


SAID = "what-was-said"
MESSAGE = {"role": "user", "content": said(SAID)}
ANSWER = {"role": "assistant", "content": said("x"), "associatedUserMessageId": "{m}"}
PROBES = [
    Probe("GET", "/conversations/{c}"),
    Probe("PATCH", "/conversations/{c}", {"name": "changed"}),
    Probe("DELETE", "/conversations/{c}"),
    Probe("POST", "/conversations/delete", {"ids": ["{c}"]}),
    Probe("POST", "/conversations/delete", {"ids": ["{c}"]}, {"Idempotency-Key": "k"}),
    Probe("GET", "/conversations/{c}/messages"),
    Probe("GET", "/conversations/{c}/messages/{m}"),
    Probe("GET", "/conversations/{c}/messages/{m}.response"),
    Probe("GET", "/conversations/{c}/messages/{m}.turn"),
    Probe("DELETE", "/conversations/{c}/messages"),
    Probe("POST", "/conversations/{c}/messages", MESSAGE),
    Probe("POST", "/conversations/{c}/messages", MESSAGE, {"Idempotency-Key": "k"}),
    Probe("POST", "/conversations/{c}/messages", MESSAGE | {"clientMessageId": "mine"}),
    Probe("POST", "/conversations/{c}/messages", {"messages": [MESSAGE, MESSAGE]}),
    Probe("POST", "/conversations/{c}/messages", ANSWER),
    Probe("GET", "/conversations/{c}/history"),
    Probe("GET", "/conversations/{c}/history?currentMessageId={m}"),
    Probe("GET", "/conversations/{c}/search?q=secret"),
    Probe("POST", "/conversations/{c}/turns", {"content": said("x")}),
    Probe("GET", "/conversations/{c}/turns/{m}"),
    Probe("POST", "/conversations/{c}/turns/{m}", {}),
    Probe("DELETE", "/conversations/{c}/turns/{m}"),
]
PROBES_WITHIN_ONES_OWN = [
    # `{c}` is one's own, `{m}` is not of it.
    Probe("GET", "/conversations/{c}/messages/{m}"),
    Probe("POST", "/conversations/{c}/messages", ANSWER),
    Probe("GET", "/conversations/{c}/history?currentMessageId={m}"),
    Probe("GET", "/conversations/{c}/turns/{m}"),
    Probe("POST", "/conversations/{c}/turns/{m}", {}),
    Probe("DELETE", "/conversations/{c}/turns/{m}"),
]
DIALECT = "/_plugins/_ml/memory"
EVERYTHING = {"query": {"match_all": {}}, "size": 1000}
PROBES_OF_THE_DIALECT = [
    Probe("GET", "/{c}"),
    Probe("PUT", "/{c}", {"name": "changed"}),
    Probe("DELETE", "/{c}"),
    Probe("GET", "/{c}/messages"),
    Probe("POST", "/{c}/messages", {"input": "x", "response": "y"}),
    Probe("POST", "/{c}/messages", {"input": "x", "parent_message_id": "{m}", "trace_number": 1}),
    Probe("POST", "/{c}/_search", EVERYTHING),
    Probe("GET", "/message/{m}"),
    Probe("PUT", "/message/{m}", {"response": "changed"}),
    Probe("GET", "/message/{m}/traces"),
    Probe("GET", "/message/{m}.response"),
    Probe("GET", "/conversation/{c}"),
    Probe("POST", "/conversation/{c}", {"input": "x"}),
    Probe("DELETE", "/conversation/{c}"),
]
PREFIXES: list[Callable[[str], str]] = [
    lambda id_: id_[:-1],
    lambda id_: id_ + "x",
    lambda id_: id_ + "~1",
    lambda id_: id_ + ".",
    lambda id_: id_.swapcase(),
    lambda id_: f"{id_}/messages",
]


class World:
    """The API over one store, called by different people, and what they must see."""

    def __init__(self, store: DynamoStore, clock: TestClock) -> None:
        self.api = Api(store, clock, auth="jwt")
        logger, metrics = Logger(service="test"), Metrics("test", "test")
        self.turns = Worker(store, clock, PlayedModel(), SETTINGS, logger, metrics)
        self.names: dict[str, str] = {}

    def begin(self) -> None:
        """People of their own for a run."""
        number = next(_numbers)
        self.names = {person: f"{person}-{number}" for person in PEOPLE}

    def call(self, person: str, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """As this person; the service acts for itself, by name."""
        self._be(person)
        address, _, query = path.partition("?")
        parameters = dict(part.split("=", 1) for part in query.split("&")) if query else {}
        own = {"x-owner": self.names["service"]} if person == "service" else {"x-owner": self.names["alice"]}
        prefix = "/service" if person == "service" else ""
        return self.api.call(method, prefix + address, body, query=parameters, headers={**own, **headers})

    def _be(self, person: str) -> None:
        if person == "service":
            self.api.authorizer = {"iam": {"userArn": "arn:aws:iam::1:role/r"}}
        else:
            self.api.as_user(self.names[person], "[admin]" if person == "admin" else "[]")

    def outcome(self, person: str, probe: Probe, conversation_id: str, message_id: str) -> tuple[int, Any]:
        """What a probe comes to, with the ids that were sent replaced by their names."""
        ids = {"{m}": message_id, "{c}": conversation_id}

        def named(text: str) -> str:
            for name, value in ids.items():
                text = text.replace(name, value)
            return text

        body = None if probe.body is None else json.loads(named(json.dumps(probe.body)))
        headers = {name: f"{value}-{next(_numbers)}" for name, value in probe.headers.items()}
        answer = self.call(person, probe.method, named(probe.path), body, **headers)
        told = json.dumps(answer.body)
        for name, value in ids.items():
            told = told.replace(value, name)
        return answer.status, told

    def dialect(self, person: str, method: str, path: str, body: Any = None) -> tuple[int, str]:
        """Status and body of a call of OpenSearch's memory API, as this person."""
        self._be(person)
        headers = {"content-type": "application/json", "x-owner": self.names["service"]}
        address = f"{'/service' if person == 'service' else ''}{DIALECT}{path}"
        text = None if body is None else json.dumps(body)
        answer = self.api.send(method, address, text, {}, headers)
        return answer["statusCode"], answer["body"] or ""


class Isolation(RuleBasedStateMachine):
    """Any calls by anybody, of anything."""

    world: World

    @initialize()
    def begin(self) -> None:
        self.world.begin()
        self.known: list[Known] = []

    # What people do with their own

    @rule(person=st.sampled_from(PEOPLE), session=st.sampled_from([None, "diary", *ODD_IDS[:14]]), data=st.data())
    def create(self, person: str, session: str | None, data: st.DataObject) -> None:
        if session is not None and ("\0" in session or len(session) > 1024):
            session = None
        body = {"name": f"of {person}"} | ({"sessionId": session} if session else {})
        key = data.draw(st.sampled_from([{}, {"Idempotency-Key": f"key-{session}"}]))
        before = self._live(person, session) if session else None
        answer = self.world.call(person, "POST", "/conversations", body, **key)
        if answer.status == 409:  # its own key, of one that was deleted
            assert key
            return
        assert answer.status in (200, 201), answer
        assert answer.body["owner"] == self.world.names[person]
        if before is not None and not key:
            assert answer.body["id"] == before.id
        if answer.body["id"] not in [known.id for known in self.known]:
            self.known.append(Known(answer.body["id"], person, session))
        else:
            assert self._of(answer.body["id"]).owner == person

    @rule(data=st.data())
    def append(self, data: st.DataObject) -> None:
        if known := self._draw(data):
            answer = self.world.call(known.owner, "POST", f"/conversations/{known.id}/messages", MESSAGE)
            assert answer.status == 201
            known.messages.append(answer.body["id"])

    @rule(data=st.data())
    def ask(self, data: st.DataObject) -> None:
        if known := self._draw(data):
            body = {"content": said("secret")}
            answer = self.world.call(known.owner, "POST", f"/conversations/{known.id}/turns", body)
            assert answer.status == 202
            known.messages.append(answer.body["message"]["id"])

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        if known := self._draw(data):
            by = data.draw(st.sampled_from([known.owner, "admin"]))
            assert self.world.call(by, "DELETE", f"/conversations/{known.id}").status == 204
            known.deleted = True

    @rule(data=st.data())
    def clear(self, data: st.DataObject) -> None:
        if known := self._draw(data):
            assert self.world.call(known.owner, "DELETE", f"/conversations/{known.id}/messages").status == 204
            known.messages.clear()

    # What they try with what is not theirs

    @rule(data=st.data(), probe=st.sampled_from(PROBES), person=st.sampled_from(USERS))
    def probe_anothers(self, data: st.DataObject, probe: Probe, person: str) -> None:
        known = self._draw(data, but_of=person)
        if known is None:
            return
        message_id = data.draw(st.sampled_from(known.messages)) if known.messages else f"{known.id}.none"
        before = self._seen(known)

        foreign = self.world.outcome(person, probe, known.id, message_id)
        missing = self.world.outcome(person, probe, MADE_UP, message_id.replace(known.id, MADE_UP))

        assert foreign == missing
        assert foreign[0] == (200 if probe.path == "/conversations/delete" else 404)
        assert self._seen(known) == before

    @rule(
        data=st.data(),
        probe=st.sampled_from(PROBES_OF_THE_DIALECT),
        person=st.sampled_from(USERS),
    )
    def probe_anothers_by_the_dialect(self, data: st.DataObject, probe: Probe, person: str) -> None:
        """OpenSearch tells that there is something, and nothing of it."""
        known = self._draw(data, but_of=person)
        if known is None:
            return
        message_id = data.draw(st.sampled_from(known.messages)) if known.messages else f"{known.id}.none"
        before = self._seen(known)
        path = probe.path.replace("{c}", known.id).replace("{m}", message_id)
        body = None if probe.body is None else json.loads(json.dumps(probe.body).replace("{m}", message_id))

        status, text = self.world.dialect(person, probe.method, path, body)

        missing = self.world.dialect(person, probe.method, path.replace(known.id, MADE_UP), body)
        assert status in (401, 404) or (status, text) == missing, text
        for secret in (self.world.names[known.owner], f"of {known.owner}", "secret", SAID):
            assert secret not in text
        assert self._seen(known) == before

    @rule(person=st.sampled_from(USERS), owner=st.sampled_from(PEOPLE))
    def search_for_what_is_anothers(self, person: str, owner: str) -> None:
        wanted = {"bool": {"should": [{"term": {"user": self.world.names[owner]}}, {"match_all": {}}]}}
        status, text = self.world.dialect(person, "POST", "/_search", {"query": wanted, "size": 1000})
        assert status == 200, text
        assert {hit["_id"] for hit in json.loads(text)["hits"]["hits"]} == self._own(person)

    @rule(data=st.data(), probe=st.sampled_from(PROBES_WITHIN_ONES_OWN), person=st.sampled_from(PEOPLE))
    def probe_within_ones_own(self, data: st.DataObject, probe: Probe, person: str) -> None:
        """An administrator, too, finds a message in its own conversation only."""
        known, own = self._draw(data, but_of=person), self._draw(data, of=person)
        if known is None or own is None or not known.messages:
            return
        message_id = data.draw(st.sampled_from(known.messages))
        before = self._seen(known), self._seen(own)

        foreign = self.world.outcome(person, probe, own.id, message_id)
        missing = self.world.outcome(person, probe, own.id, f"{MADE_UP}.none")

        assert foreign == missing
        assert foreign[0] in (400, 404)
        assert (self._seen(known), self._seen(own)) == before

    @rule(data=st.data(), person=st.sampled_from(PEOPLE))
    def use_a_cursor_of_anothers(self, data: st.DataObject, person: str) -> None:
        known, own = self._draw(data, but_of=person), self._draw(data, of=person)
        if known is None or own is None:
            return
        page = self.world.call(known.owner, "GET", f"/conversations/{known.id}/messages?limit=1").body
        listed = self.world.call(known.owner, "GET", "/conversations?limit=1").body
        tries = [(f"/conversations/{own.id}/messages", page), ("/conversations", listed)]
        for path, found in tries:
            if cursor := found["nextCursor"]:
                answer = self.world.call(person, "GET", f"{path}?cursor={cursor}")
                assert (answer.status, answer.body["error"]["code"]) == (400, "InvalidCursor")

    @rule(data=st.data(), change=st.sampled_from(PREFIXES), person=st.sampled_from(PEOPLE))
    def use_a_prefix(self, data: st.DataObject, change: Callable[[str], str], person: str) -> None:
        if known := self._draw(data):
            answer = self.world.call(person, "GET", f"/conversations/{change(known.id)}")
            assert answer.status == 404

    @rule(odd=st.sampled_from(ODD_IDS), person=st.sampled_from(PEOPLE), probe=st.sampled_from(PROBES))
    def use_an_odd_id(self, odd: str, person: str, probe: Probe) -> None:
        for text in (odd, quote(odd, safe="")):
            if "?" not in probe.path:
                status, _ = self.world.outcome(person, probe, text, f"{text}.m")
                assert status in ((200, 400, 404) if probe.path == "/conversations/delete" else (400, 404)), text

    @rule(data=st.data(), person=st.sampled_from(USERS))
    def invoke_the_turn_of_anothers(self, data: st.DataObject, person: str) -> None:
        known = self._draw(data, but_of=person)
        if known is None or not known.messages:
            return
        before = self._seen(known)
        event = {"conversationId": known.id, "currentMessageId": known.messages[-1], "owner": self.world.names[person]}
        assert self.world.turns.answer(event, PLENTY_MS) == {"outcome": "refused", "code": "NotFound"}
        assert self._seen(known) == before

    @rule(person=st.sampled_from(USERS), of=st.sampled_from([*PEOPLE, "*"]))
    def list_anothers(self, person: str, of: str) -> None:
        owner = self.world.names.get(of, of)
        answer = self.world.call(person, "GET", f"/conversations?owner={owner}")
        assert answer.status == (200 if of == person else 403)

    # What must always be so

    @invariant()
    def everybody_sees_their_own_and_nothing_else(self) -> None:
        for person in self.world.names if hasattr(self, "known") else ():
            listed = self.world.call(person, "GET", "/conversations?limit=1000").body["conversations"]
            assert {conversation["id"] for conversation in listed} == self._own(person)

    @rule(person=st.sampled_from(USERS))
    def list_by_the_dialect(self, person: str) -> None:
        status, text = self.world.dialect(person, "GET", "")
        assert status == 200, text
        assert {memory["memory_id"] for memory in json.loads(text)["memories"]} <= self._own(person)

    def _own(self, person: str) -> set[str]:
        return {known.id for known in self.known if known.owner == person and not known.deleted}

    def _draw(self, data: st.DataObject, *, of: str | None = None, but_of: str | None = None) -> Known | None:
        found = [k for k in self.known if not k.deleted and of in (None, k.owner) and k.owner != but_of]
        return data.draw(st.sampled_from(found)) if found else None

    def _of(self, conversation_id: str) -> Known:
        return next(known for known in self.known if known.id == conversation_id)

    def _live(self, person: str, session: str) -> Known | None:
        own = [k for k in self.known if (k.owner, k.session_id, k.deleted) == (person, session, False)]
        return own[-1] if own else None

    def _seen(self, known: Known) -> Any:
        path = f"/conversations/{known.id}"
        answers = [self.world.call(known.owner, "GET", path), self.world.call(known.owner, "GET", f"{path}/messages")]
        turns = [self.world.call(known.owner, "GET", f"{path}/turns/{message}").body for message in known.messages]
        return [answer.body for answer in answers], turns


@pytest.fixture
def machine(store: DynamoStore, clock: TestClock) -> Iterator[type[Isolation]]:
    class Machine(Isolation):
        world = World(store, clock)

    yield Machine


def _run(machine: type[Isolation], examples: int, steps: int) -> None:
    few = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        derandomize=True,
        phases=[Phase.generate],  # what fails is told as it was met: making it smaller takes minutes
    )
    run_state_machine_as_test(machine, settings=few)  # type: ignore[no-untyped-call]


@pytest.mark.slow
def test_nobody_notices_what_is_not_theirs(machine: type[Isolation]) -> None:
    _run(machine, examples=5, steps=25)


@pytest.mark.faults
def test_nobody_notices_what_is_not_theirs_in_many_orders(machine: type[Isolation]) -> None:
    _run(machine, examples=60, steps=40)

"""No log line holds what somebody said, a name that they gave, a token or a key: all that is sent is marked."""

import io
import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics

from api.app import log_keys
from conversations.dynamo import DynamoStore
from conversations.errors import ModelError
from tests.bed.in_process import Api
from tests.bed.messages import said
from tests.bed.opensearch import ROOT, Cluster
from tests.bed.played_model import PLENTY_MS, SETTINGS, PlayedModel, deltas
from tests.integration.conftest import TestClock
from turn.worker import Worker

MARK = "zq81-confidential"
BODIES: list[tuple[str, str, Any]] = [
    ("POST", "/messages", {"role": "user", "content": said(MARK), "metadata": {MARK: MARK}, "aiContext": {MARK: MARK}}),
    ("POST", "/messages", {"role": MARK, "content": said("x")}),
    ("POST", "/messages", {MARK: 1}),
    ("POST", "/messages", {"role": "user", "content": [{MARK: 1, "text": MARK}]}),
    ("POST", "/messages", {"role": "user", "content": said("x"), "metadata": {MARK: float("1e300") * 10}}),
    ("POST", "/messages", {"role": "user", "content": [{"image": {"format": MARK, "source": {"bytes": MARK}}}]}),
    ("POST", "/messages", {"role": "assistant", "content": said("x"), "associatedUserMessageId": f"{MARK} "}),
    ("POST", "/messages", {"messages": [{"role": "user", "content": said(MARK)}, {MARK: 1}]}),
    ("POST", "/turns", {"content": said(MARK), "toolConfiguration": {"tools": [{MARK: 1}]}}),
    ("POST", "/turns", {"content": said(MARK), "clientMessageId": f"{MARK} "}),
    ("GET", f"/messages/{MARK} and more", None),
    ("GET", f"/messages?cursor={MARK}", None),
    ("GET", f"/messages?{MARK}=1", None),
    ("PATCH", "", {"name": MARK, "metadata": {MARK: [MARK]}}),
    ("PATCH", "", {"name": [MARK]}),
]
RAW = [f'{{"{MARK}": ', f'{{"role": "{MARK}", "role": 1}}', f'"{MARK}"', f'{{"metadata": {{"{MARK}": 1e999}}}}']


_numbers = itertools.count()  # loggers of one service write where the first did


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """All that the functions log."""
    stream = io.StringIO()
    logger = Logger(service=f"quiet-{next(_numbers)}", stream=stream, level="DEBUG")
    monkeypatch.setattr("tests.bed.in_process.Logger", lambda **_: logger)
    yield stream


def test_whatever_is_sent_no_word_of_it_is_logged(store: DynamoStore, clock: TestClock, log: io.StringIO) -> None:
    api = Api(store, clock, auth="jwt")
    api.as_user("alice", f"[{MARK}]")
    conversation_id = api.create(name=MARK, sessionId=MARK, metadata={MARK: MARK})
    headers = {"authorization": f"Bearer {MARK}", "Idempotency-Key": MARK, "x-owner": MARK}
    statuses = set()
    for method, ending, body in BODIES:
        address, _, query = f"/conversations/{conversation_id}{ending}".partition("?")
        parameters = dict([query.split("=")]) if query else {}
        statuses.add(api.call(method, address, body, query=parameters, headers=headers).status)
    for raw in RAW:
        statuses.add(api.call("POST", f"/conversations/{conversation_id}/messages", raw=raw).status)

    assert statuses >= {200, 201, 400, 404}
    assert "refused" in log.getvalue()
    assert MARK not in log.getvalue()


def test_nor_in_the_words_of_opensearch(
    store: DynamoStore, clock: TestClock, log: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster(Api(store, clock))
    memory_id = cluster.memory(name=MARK, additional_info={MARK: MARK})
    message_id = cluster.message(memory_id, input=MARK, response=MARK, prompt_template=MARK, origin=MARK)
    wanted = {"query": {"match": {"input": MARK}}}
    statuses = [
        cluster.call("POST", f"/{memory_id}/_search", wanted).status,
        cluster.call("POST", f"/{memory_id}/_search", {"query": {MARK: {}}}).status,
        cluster.call("POST", f"/{memory_id}/messages", {MARK: MARK}).status,
        cluster.call("POST", f"/{memory_id}/messages", raw=f'{{"{MARK}": ').status,
        cluster.call("PUT", f"/message/{message_id}", {"response": [MARK]}).status,
        cluster.call("GET", f"/{MARK} and more").status,
        cluster.api.send("GET", ROOT, None, {MARK: "1"}, {})["statusCode"],
    ]

    def broken(*_: Any, **__: Any) -> Any:
        raise ValueError(f"cannot handle {MARK}")

    monkeypatch.setattr(store, "snapshot", broken)
    statuses.append(cluster.call("GET", f"/{memory_id}").status)

    assert {200, 400, 404, 500} <= set(statuses)
    assert "refused" in log.getvalue()
    assert '"kind":"ValueError"' in log.getvalue()
    assert MARK not in log.getvalue()


def test_a_fault_of_ours_is_logged_without_its_words(
    store: DynamoStore, clock: TestClock, log: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = Api(store, clock)
    conversation_id = api.create()

    def broken(*_: Any) -> Any:
        raise ValueError(f"cannot handle {MARK}")

    monkeypatch.setattr(store, "append", broken)
    body = {"role": "user", "content": said(MARK)}
    answer = api.call("POST", f"/conversations/{conversation_id}/messages", body)

    assert (answer.status, answer.body["error"]["code"]) == (500, "Internal")
    assert MARK not in json.dumps(answer.body) + log.getvalue()
    assert '"kind":"ValueError"' in log.getvalue()
    assert "broken" in log.getvalue()


def test_a_turn_logs_no_word_of_question_or_answer(store: DynamoStore, clock: TestClock, log: io.StringIO) -> None:
    api, model = Api(store, clock), PlayedModel()
    logger = Logger(service="quiet-turns", stream=log)
    worker = Worker(store, clock, model, SETTINGS, logger, Metrics("test", "test"))

    def refuse() -> Iterator[Any]:
        yield from deltas(MARK, stop=None)
        raise ModelError(f"will not say {MARK}")

    for script in (lambda: deltas(MARK), refuse):
        conversation_id = api.create()
        api.call("POST", f"/conversations/{conversation_id}/turns", {"content": said(MARK)})
        model.scripts = [script]
        worker.answer(dict(api.invocations.descriptors[-1]), PLENTY_MS)

    assert "answered" in log.getvalue()
    assert MARK not in log.getvalue()


def test_a_path_is_logged_as_far_as_it_may_be_an_id() -> None:
    event = {"rawPath": f"/conversations/say {MARK}/<b>/ä", "requestContext": {"http": {"method": "GET"}}}

    assert log_keys(event)["path"] == f"/conversations/say?{MARK}/?b?/?"
    assert len(log_keys({"rawPath": "x" * 10_000})["path"]) == 512

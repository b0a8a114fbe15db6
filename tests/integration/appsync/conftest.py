"""The turn function's worker for events of AppSync, with an API and a model on loopback."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics
from botocore.config import Config
from botocore.session import get_session

from conversations.bedrock import BedrockModel
from conversations.clock import NANOSECONDS, Clock
from conversations.settings import StoreSettings
from tests.bed.appsync import AppSync
from tests.bed.scripted_bedrock import ScriptedBedrock
from tests.integration.conftest import TestClock
from turn.appsync.client import new_pool
from turn.appsync.worker import AppSyncWorker
from turn.reporting import Reports
from turn.settings import TurnSettings

HOSTS = frozenset(("127.0.0.1", "localhost"))


@dataclass
class Turns:
    """Answers events as the handler does."""

    worker: AppSyncWorker
    clock: Clock
    api: AppSync
    outcomes: list[Mapping[str, Any]] = field(default_factory=list)

    def answer(
        self, conversation_id: str = "C", message_id: str = "CUR", *, within_s: float = 60, **members: Any
    ) -> str:
        """How the turn of an event with these members ended."""
        return self.take(self.api.event(conversation_id, message_id, **members), within_s=within_s)

    def take(self, event: Mapping[str, Any], *, within_s: float = 60) -> str:
        sent = json.loads(json.dumps(event))
        self.outcomes.append(self.worker.answer(sent, self.clock.now_ns() + int(within_s * NANOSECONDS)))
        return str(self.outcomes[-1]["outcome"])


@pytest.fixture(scope="module")
def _api() -> Iterator[AppSync]:
    with AppSync() as api:
        yield api


@pytest.fixture
def appsync(_api: AppSync) -> AppSync:
    _api.reset()
    return _api


@pytest.fixture(scope="module")
def _bedrock() -> Iterator[ScriptedBedrock]:
    with ScriptedBedrock() as bedrock:
        yield bedrock


@pytest.fixture
def bedrock(_bedrock: ScriptedBedrock) -> ScriptedBedrock:
    _bedrock.reset()
    return _bedrock


@pytest.fixture(scope="module")
def _model(_bedrock: ScriptedBedrock) -> Iterator[BedrockModel]:
    config = Config(retries={"total_max_attempts": 1})
    client = get_session().create_client("bedrock-runtime", endpoint_url=_bedrock.url, config=config)
    yield BedrockModel(lambda _: client)
    client.close()


@pytest.fixture(autouse=True)
def _short_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is waited for the sake of people and of an API that is down is short."""
    monkeypatch.setattr("conversations.answering.PAUSES_S", (0.01, 0.02, 0.03))
    monkeypatch.setattr("turn.appsync.attempt._ERROR_WITHIN_S", 0.3)
    monkeypatch.setattr("turn.appsync.attempt.SLOW_NS", NANOSECONDS // 2)
    monkeypatch.setattr("turn.appsync.chunks.SLOW_NS", NANOSECONDS // 2)


@pytest.fixture
def settings() -> TurnSettings:
    return TurnSettings(StoreSettings("", "", ""), "model", "", 100_000, None, graphql_hosts=HOSTS)


@pytest.fixture
def turns(_model: BedrockModel, appsync: AppSync, clock: TestClock, settings: TurnSettings) -> Iterator[Turns]:
    pool = new_pool()
    logger = Logger(service="appsync-test")
    reports = Reports(logger, Metrics("test", "test"))
    worker = AppSyncWorker(pool, clock, _model, settings, logger, reports)
    yield Turns(worker, clock, appsync)
    pool.clear()

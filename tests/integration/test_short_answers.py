"""DynamoDB may give less at once than it was asked for: a page ends after a megabyte, whatever was asked for, and of a
batch it may leave keys for later. What callers are answered is the same.
"""

import json
import os
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse
from botocore.httpsession import URLLib3Session

from tests.bed.faults import answering
from tests.bed.in_process import Api
from tests.bed.messages import said, tool_result, tool_use
from tests.bed.opensearch import Cluster
from tests.integration.conftest import TestClock

pytestmark = pytest.mark.slow

LONG_NAME = "Turin " * 100  # stands in an item of its own
ROUNDS = 5
_JSON = "application/x-amz-json-1.0"


class Short:
    """Once begun, queries give two items a page, and batches half of what was asked for, and then the rest."""

    def __init__(self, client: Any) -> None:
        self.pages = self.left = 0
        self._begun = False
        self._later: dict[str, Any] = {}
        client.meta.events.register("before-send.dynamodb.Query", self._cut_query)
        client.meta.events.register("before-send.dynamodb.BatchGetItem", self._cut_batch)

    def begin(self) -> None:
        self._begun = True

    def _cut_query(self, request: Any, **_: Any) -> None:
        asked = json.loads(request.body)
        if self._begun and asked["Limit"] > 2:
            self.pages += 1
            _ask_instead(request, asked | {"Limit": 2})

    def _cut_batch(self, request: Any, **_: Any) -> AWSResponse | None:
        asked = json.loads(request.body)
        is_repeat, self._later = bool(self._later), {}
        for table, of_table in asked["RequestItems"].items() if self._begun and not is_repeat else ():
            half = len(of_table["Keys"]) // 2
            if half:
                self._later[table] = {**of_table, "Keys": of_table["Keys"][:half]}
                of_table["Keys"] = of_table["Keys"][half:]
        if not self._later:
            return None
        self.left += len(self._later)
        _ask_instead(request, asked)
        answer = json.loads(URLLib3Session().send(request).content)
        return answering(200, _JSON, json.dumps(answer | {"UnprocessedKeys": self._later}))(request)


def _ask_instead(request: Any, asked: dict[str, Any]) -> None:
    request.body = json.dumps(asked).encode()
    request.headers["Content-Length"] = str(len(request.body))


@pytest.fixture
def short(own_dynamodb: Any) -> Short:
    return Short(own_dynamodb)


def _everything(api: Api, clock: TestClock) -> tuple[str, str]:
    """Old and new conversations, one of them long; returns its id, and that of a message with traces."""
    for age_s in (3600, 0):
        clock.offset_s = -age_s
        for number in range(4):
            api.create(name=LONG_NAME, sessionId=f"{age_s} {number}")
    conversation_id = api.create()
    batch: list[dict[str, Any]] = [{"role": "system", "content": said("be brief")}]
    for number in range(ROUNDS):
        large = os.urandom(20_000).hex() if number == 1 else "x"
        batch.append({"role": "user", "content": said(f"question {number} {large}")})
        batch.append({"role": "assistant", "content": [tool_use(f"t{number}")]})
        batch.append({"role": "tool", "content": [tool_result(f"t{number}")]})
        batch.append({"role": "assistant", "content": said(f"answer {number}")})
    batch.append({"role": "user", "content": said("and now?")})
    assert api.call("POST", f"/conversations/{conversation_id}/messages", {"messages": batch}).status == 201
    cluster = Cluster(api)
    parent_id = cluster.message(conversation_id, input="q", response="a")
    for number in range(4):
        cluster.message(conversation_id, input=f"step {number}", parent_message_id=parent_id, trace_number=number)
    return conversation_id, parent_id


def _answers(api: Api, conversation_id: str, parent_id: str) -> list[Any]:
    """Everything that can be read, by an API that has read nothing before."""
    path = f"/conversations/{conversation_id}"
    paths = [path, f"{path}/history", f"{path}/messages/{parent_id}", "/conversations"]
    ours = [api.call("GET", each).body for each in paths]
    pages = [
        api.call("GET", f"{path}/messages", query={"order": order, "limit": limit}).body
        for order in ("asc", "desc")
        for limit in (3, 1000)
    ]
    listings = [api.call("GET", "/conversations", query={"owner": "*", "limit": limit}).body for limit in (5, 100)]
    histories = [api.call("GET", f"{path}/history", query={"maxMessages": most}).body for most in (1, 9)]
    found = api.call("GET", f"{path}/search", query={"q": "question answer"}).body
    cluster = Cluster(api)
    theirs = [cluster.get(), cluster.messages(conversation_id), cluster.get(f"/message/{parent_id}/traces")]
    hits = [cluster.search(f"/{conversation_id}", size=1000), cluster.search("", size=1000)]
    return [*ours, *pages, *listings, *histories, found, *theirs, *hits]


def test_answers_are_the_same(api: Api, clock: TestClock, short: Short) -> None:
    conversation_id, parent_id = _everything(api, clock)
    whole = _answers(Api(api.store, clock), conversation_id, parent_id)

    short.begin()
    cut = _answers(Api(api.store, clock), conversation_id, parent_id)

    for expected, answered in zip(whole, cut, strict=True):
        assert answered == expected
    assert short.pages > 50
    assert short.left > 10

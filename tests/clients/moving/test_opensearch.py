"""Memories of OpenSearch are moved: its dialect of another service is the source."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from conversation_memory import Client
from conversation_memory.moving import move
from conversation_memory.moving.exporting import export
from conversation_memory.moving.formats import JsonLines
from conversation_memory.moving.found import SourceError
from conversation_memory.moving.json_lines import JsonLinesFile
from conversation_memory.moving.opensearch import OpenSearchMemory
from conversation_memory.moving.signing import signer
from tests.bed.in_process import Api
from tests.bed.opensearch import Cluster
from tests.bed.served import Served

pytestmark = pytest.mark.slow


class OpenSearch(httpx.BaseTransport):
    """The dialect of a service, as OpenSearch answers without a gateway."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.requests: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.requests.append(request)
        if "bad" in request.headers.get("authorization", ""):
            return httpx.Response(401, text="Unauthorized")
        reply = self._cluster.call(
            request.method, request.url.path, raw=request.content.decode(), headers=dict(request.headers), root=""
        )
        return httpx.Response(reply.status, headers=dict(reply.headers), text=reply.text)


@pytest.fixture
def cluster(other_served: Served) -> Cluster:
    return Cluster(other_served.api)


@pytest.fixture
def opensearch(cluster: Cluster) -> OpenSearch:
    return OpenSearch(cluster)


@pytest.fixture
def source(opensearch: OpenSearch) -> Iterator[Callable[..., OpenSearchMemory]]:
    with httpx.Client(transport=opensearch) as http:
        yield lambda **options: OpenSearchMemory("http://opensearch:9200/", **{"http": http, **options})


def _moved(memory: Client, memory_id: str) -> list[Any]:
    found = memory.find_conversation(memory_id)
    assert found
    return list(memory.messages(found["id"]))


def test_a_memory_becomes_a_conversation(
    memory: Client, cluster: Cluster, source: Callable[..., OpenSearchMemory]
) -> None:
    info = {"k": "v", "deep": {"n": 1.5}}
    memory_id = cluster.memory(name="Trip 😀", application_type="chat", additional_info=info)
    empty = cluster.memory(name="Empty")
    both = cluster.message(
        memory_id,
        input="How is it?",
        response="Sunny.",
        prompt_template="{q}",
        origin="agent",
        additional_info={"a": "1"},
    )
    cluster.message(memory_id, input="Nobody answers.")
    cluster.message(memory_id, response="Welcome.")
    cluster.message(memory_id, additional_info={"only": "this"})
    cluster.message(memory_id, input="step", parent_message_id=both, trace_number=1)

    report = move(source(), memory)

    assert (report.sessions, report.moved, report.skipped) == (2, 5, [])
    question, answer, alone, welcome, only = _moved(memory, memory_id)
    assert (question["role"], question["content"]) == ("user", [{"text": "How is it?"}])
    assert (question["promptTemplate"], question["origin"], question["metadata"]["a"]) == ("{q}", "agent", "1")
    stored = cluster.get(f"/message/{both}")
    assert question["metadata"]["movedFrom"]["createdAt"] == stored["create_time"]
    assert question["metadata"]["movedFrom"]["id"] == both
    assert (answer["content"], answer["associatedUserMessageId"]) == ([{"text": "Sunny."}], question["id"])
    assert alone["content"] == [{"text": "Nobody answers."}]
    assert (welcome["role"], "associatedUserMessageId" in welcome) == ("assistant", False)
    assert (only["content"], only["metadata"]["only"]) == ([{"empty": {}}], "this")
    conversation = memory.find_conversation(memory_id)
    assert conversation
    [origin] = conversation["metadata"].pop("movedFrom")
    assert (conversation["name"], conversation["metadata"]) == ("Trip 😀", info)
    assert (origin["id"], origin["applicationType"]) == (memory_id, "chat")
    assert origin["createdAt"] == cluster.get(f"/{memory_id}")["create_time"]
    assert [c["name"] for c in memory.conversations() if c.get("sessionId") == empty] == ["Empty"]


def _traces(cluster: Cluster, message_id: str) -> list[dict[str, Any]]:
    """The traces of a message, without what is another's elsewhere."""
    found = cluster.get(f"/message/{message_id}/traces")["traces"]
    for trace in found:
        trace.get("additional_info", {}).pop("movedFrom", None)
        trace["additional_info"] = trace.get("additional_info", {})
    others = ("memory_id", "message_id", "parent_message_id", "create_time", "updated_time")
    return [{name: value for name, value in trace.items() if name not in others} for trace in found]


def test_traces_go_with_their_messages_once(
    memory: Client, api: Api, cluster: Cluster, source: Callable[..., OpenSearchMemory], tmp_path: Path
) -> None:
    memory_id = cluster.memory()
    first = cluster.message(memory_id, input="1", response="2")
    second = cluster.message(memory_id, input="3")
    steps = [
        cluster.message(memory_id, input=f"step {n}", origin="tool", parent_message_id=of, trace_number=n)
        for n, of in enumerate((first, first, second), 1)
    ]
    cluster.put(f"/message/{steps[0]}", {"additional_info": {"deep": {"n": [1.5, None]}, "flag": True}})
    here = Cluster(api)

    report = move(source(), memory)

    assert (report.traces, report.skipped) == (3, [])
    question, _, alone = (message["id"] for message in _moved(memory, memory_id))
    assert _traces(here, question) == _traces(cluster, first) != []
    assert _traces(here, alone) == _traces(cluster, second) != []
    assert move(source(), memory).traces == 0
    cluster.message(memory_id, input="late", parent_message_id=second, trace_number=9)
    assert move(source(), memory, is_dry=True).traces == 1
    assert move(source(), memory).traces == 1

    path = tmp_path / "file"
    found = memory.find_conversation(memory_id)
    assert found
    with path.open("w") as file:
        assert export(memory, JsonLines(), file.write, traces=True).traces == 4
    memory.delete_conversation(found["id"])
    again = move(JsonLinesFile(path), memory)
    assert (again.moved, again.traces, again.skipped) == (3, 4, [])
    question, _, alone = (message["id"] for message in _moved(memory, memory_id))
    assert _traces(here, question) == _traces(cluster, first)
    assert _traces(here, alone) == _traces(cluster, second)
    assert move(JsonLinesFile(path), memory).traces == 0


def test_pages_of_many_at_the_same_time_miss_nothing(
    memory: Client, cluster: Cluster, source: Callable[..., OpenSearchMemory], opensearch: OpenSearch
) -> None:
    memory_id = cluster.memory(name="long")
    for _ in range(4):
        cluster.memory()
    cluster.api.call(
        "POST",
        f"/conversations/{memory_id}/messages",
        {"messages": [{"role": "user", "content": [{"text": str(n)}]} for n in range(40)]},
    )
    for n in range(40, 50):
        cluster.message(memory_id, input=str(n))

    report = move(source(page_size=3), memory)

    assert report.sessions == 5
    assert [message["content"][0]["text"] for message in _moved(memory, memory_id)] == [str(n) for n in range(50)]
    assert move(source(page_size=7), memory).moved == 0


def test_what_is_new_since_is_moved_and_an_answer_given_later(
    memory: Client, cluster: Cluster, source: Callable[..., OpenSearchMemory]
) -> None:
    memory_id = cluster.memory()
    question = cluster.message(memory_id, input="How is it?")
    move(source(), memory)

    cluster.put(f"/message/{question}", {"response": "Sunny."})
    cluster.message(memory_id, input="And now?", response="Rain.")
    report = move(source(), memory)

    assert (report.moved, report.present) == (3, 1)
    asked, answer, *_ = _moved(memory, memory_id)
    assert answer["associatedUserMessageId"] == asked["id"]
    cluster.put(f"/message/{question}", {"response": "Changed."})
    assert move(source(), memory).moved == 0
    cluster.delete(f"/{memory_id}")
    assert move(source(), memory).sessions == 0


def test_who_reads_is_told_to_the_source(
    memory: Client, source: Callable[..., OpenSearchMemory], opensearch: OpenSearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    move(source(user="alice", password="s3cret"), memory)
    assert opensearch.requests[-1].headers["authorization"] == "Basic YWxpY2U6czNjcmV0"
    move(source(sign=signer("eu-west-1")), memory)
    assert "/eu-west-1/es/aws4_request" in opensearch.requests[-1].headers["authorization"]

    with pytest.raises(SourceError, match="401 from http://opensearch:9200/"):
        move(source(sign=lambda *_: {"authorization": "bad"}), memory)


def test_a_source_that_is_busy_is_asked_again_and_one_that_is_none_is_said_to_be(
    memory: Client, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conversation_memory.moving.opensearch.time.sleep", lambda _: None)
    cluster.memory(name="one")
    answers = [httpx.Response(503), httpx.Response(429)]

    class Busy(OpenSearch):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            return answers.pop() if answers else super().handle_request(request)

    with httpx.Client(transport=Busy(cluster)) as http:
        assert move(OpenSearchMemory("http://opensearch", http=http), memory).sessions == 1
        answers.append(httpx.Response(200, text="<html>"))
        with pytest.raises(SourceError, match="does not answer as OpenSearch does"):
            move(OpenSearchMemory("http://opensearch", http=http), memory)
        others: list[Any] = [{}, [], {"hits": {"hits": [{"_id": "1"}]}}]
        for document in others:
            answers.append(httpx.Response(200, json=document))
            with pytest.raises(SourceError, match="not answered as OpenSearch does"):
                move(OpenSearchMemory("http://opensearch", http=http), memory)
        answers += [httpx.Response(502)] * 9
        with pytest.raises(SourceError, match="502"):
            move(OpenSearchMemory("http://opensearch", http=http), memory)

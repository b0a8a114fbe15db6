"""OpenSearch's own client, unmodified, on the deployed stack: nothing of it knows that there is no cluster."""

import asyncio
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest
from opensearchpy import AsyncOpenSearch, OpenSearch
from opensearchpy.exceptions import AuthenticationException, NotFoundError, RequestError

from infra.local import environment
from tests.bed.guarded import Guarded
from tests.bed.messages import said
from tests.bed.opensearch import instant
from tests.bed.stack import Stack
from tests.e2e.calls import ask, create, followed
from tests.e2e.test_readme import DEFAULT_ADDRESS, blocks

pytestmark = pytest.mark.stack

ALL: dict[str, Any] = {"match_all": {}}
USE_IT = """
memory = client.plugins.ml.create_memory(body={"name": "by the README"})["memory_id"]
print(client.ping(), client.plugins.ml.get_memory(memory_id=memory)["user"])
"""

LOOPBACK = """
import socket
known = socket.getaddrinfo
socket.getaddrinfo = lambda _, *rest, **options: known("127.0.0.1", *rest, **options)
"""


def client_of(stack: Stack, **options: Any) -> OpenSearch:
    return OpenSearch(hosts=[stack.api_url], timeout=60, **options)


def test_the_twelve_methods(stack: Stack) -> None:
    with client_of(stack) as client:
        ml = client.plugins.ml
        assert client.ping()
        assert client.info()["version"]["number"] == "3.8.0"

        memory_id = ml.create_memory(body={"name": "Henry Conversation"})["memory_id"]
        asked = {"input": "おすすめの映画は？", "origin": "o"}
        message_id = ml.create_message(memory_id=memory_id, body=asked)["message_id"]
        trace = {"input": "step", "parent_message_id": message_id, "trace_number": 1}
        trace_id = ml.create_message(memory_id=memory_id, body=trace)["message_id"]

        assert ml.update_memory(memory_id=memory_id, body={"name": "Renamed"})["result"] == "updated"
        assert ml.update_message(message_id=message_id, body={"response": "r"})["_id"] == message_id
        assert ml.get_memory(memory_id=memory_id)["name"] == "Renamed"
        message = ml.get_message(message_id=message_id)
        assert (message["input"], message["response"]) == ("おすすめの映画は？", "r")
        assert ml.get_all_memories(params={"max_results": 1})["memories"][0]["memory_id"] == memory_id
        listed = ml.get_all_messages(memory_id=memory_id, params={"max_results": 1})
        assert (listed["messages"], listed["next_token"]) == ([message], 1)
        assert [one["message_id"] for one in ml.get_message_traces(message_id=message_id)["traces"]] == [trace_id]
        found = ml.search_memory(body={"query": {"match": {"name": "renamed"}}})["hits"]["hits"]
        assert memory_id in [hit["_id"] for hit in found]
        found = ml.search_message(memory_id=memory_id, body={"query": {"match": {"input": "映画"}}})["hits"]["hits"]
        assert [hit["_id"] for hit in found] == [message_id]
        assert ml.delete_memory(memory_id=memory_id) == {"success": True}
        with pytest.raises(NotFoundError):
            ml.get_memory(memory_id=memory_id)


def test_the_twelve_methods_asynchronously(stack: Stack) -> None:
    async def use_all() -> None:
        async with AsyncOpenSearch(hosts=[stack.api_url], timeout=60) as client:
            ml = client.plugins.ml
            assert await client.ping()
            memory_id = (await ml.create_memory(body={"name": "asynchronous"}))["memory_id"]
            message = {"input": "q", "response": "a"}
            message_id = (await ml.create_message(memory_id=memory_id, body=message))["message_id"]
            await ml.update_memory(memory_id=memory_id, body={"additional_info": {"a": 1}})
            await ml.update_message(message_id=message_id, body={"additional_info": {"b": 2}})
            assert (await ml.get_memory(memory_id=memory_id))["additional_info"] == {"a": 1}
            assert (await ml.get_message(message_id=message_id))["additional_info"] == {"b": 2}
            assert (await ml.get_all_memories())["memories"]
            assert len((await ml.get_all_messages(memory_id=memory_id))["messages"]) == 1
            assert await ml.get_message_traces(message_id=message_id) == {"traces": []}
            assert (await ml.search_memory(body={"query": ALL}))["hits"]["hits"]
            assert (await ml.search_message(memory_id=memory_id, body={"query": ALL}))["hits"]["total"]["value"] == 1
            assert (await ml.delete_memory(memory_id=memory_id))["success"]
            with pytest.raises(NotFoundError):
                await ml.get_all_messages(memory_id=memory_id)

    asyncio.run(use_all())


def test_errors_as_the_client_tells_them(stack: Stack) -> None:
    with client_of(stack) as client:
        ml = client.plugins.ml
        with pytest.raises(NotFoundError) as missing:
            ml.get_memory(memory_id="a/b c")
        assert (missing.value.status_code, missing.value.error) == (404, "resource_not_found_exception")
        info: Any = missing.value.info
        assert info["error"]["reason"] == "Memory [a/b c] not found"
        memory_id = ml.create_memory(body={"name": "映画" * 100})["memory_id"]
        assert ml.get_memory(memory_id=memory_id)["name"] == "映画" * 100
        with pytest.raises(RequestError) as empty:
            ml.create_message(memory_id=memory_id, body={"input": " "})
        assert empty.value.error == "illegal_argument_exception"
        with pytest.raises(RequestError) as query:
            ml.search_message(memory_id=memory_id, body={"query": {"unknown": {}}})
        assert query.value.error == "parsing_exception"
        with pytest.raises(RequestError):
            client.transport.perform_request("GET", "/_cat/nothing")
        with pytest.raises(RequestError):
            ml.get_all_memories(params={"max_results": 0})


def test_a_turn_of_our_own_api_is_seen_with_the_model_as_its_origin(stack: Stack) -> None:
    with stack.http() as http, client_of(stack) as client:
        path = create(http, name="ours")
        followed(http, path, ask(http, path, "Who are you?"))
        http.post(f"{path}/messages", json={"role": "user", "content": said("more")}).raise_for_status()

        answered, open_ = client.plugins.ml.get_all_messages(memory_id=path.rpartition("/")[2])["messages"]

    assert (answered["input"], answered["response"]) == ("Who are you?", "You said: Who are you?")
    assert answered["origin"]
    assert open_["input"] == "more"
    assert "response" not in open_


def test_twenty_interactions_of_ten_clients_at_once(stack: Stack) -> None:
    clients = [client_of(stack) for _ in range(10)]
    memory_id = clients[0].plugins.ml.create_memory(body={"name": "busy"})["memory_id"]

    def post(number: int) -> str:
        body = {"input": f"q{number}", "response": f"a{number}"}
        ml = clients[number % len(clients)].plugins.ml
        return str(ml.create_message(memory_id=memory_id, body=body)["message_id"])

    with ThreadPoolExecutor(len(clients)) as pool:
        ids = list(pool.map(post, range(20)))

    ml = clients[0].plugins.ml
    messages = ml.get_all_messages(memory_id=memory_id, params={"max_results": 100})["messages"]
    assert sorted(message["message_id"] for message in messages) == sorted(ids)
    assert {message["input"][1:] for message in messages} == {message["response"][1:] for message in messages}
    memory = ml.get_memory(memory_id=memory_id)
    assert instant(memory["updated_time"]) >= max(instant(message["create_time"]) for message in messages)
    [hit] = ml.search_memory(body={"query": {"ids": {"values": [memory_id]}}})["hits"]["hits"]
    assert hit["_version"] == 21
    for client in clients:
        client.close()


def test_the_session_of_the_first_generation_by_curl(stack: Stack) -> None:
    def curl(path: str, *options: str) -> Any:
        command = ["curl", "-sS", "--noproxy", "*", f"{stack.api_url}/_plugins/_ml/memory/conversation{path}", *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        return json.loads(done.stdout)

    def post(path: str, body: Any = None) -> Any:
        data = ["-H", "Content-Type: application/json", "-d", json.dumps(body)] if body else []
        return curl(path, "-X", "POST", *data)

    named = post("", {"name": "some name"})["conversation_id"]
    unnamed = post("")["conversation_id"]
    assert [one["name"] for one in curl("?max_results=2")["conversations"]] == ["", "some name"]
    interaction = {
        "input": "question",
        "prompt_template": "template about bees or something",
        "response": "answer to the question",
        "origin": "botanical index pipeline",
        "additional_info": '{"documents": [doc1, doc2,...]}',
    }
    first = post(f"/{unnamed}", interaction)["interaction_id"]
    second = post(f"/{unnamed}", interaction | {"input": "follow-up question"})["interaction_id"]
    listed = curl(f"/{unnamed}")["interactions"]
    assert [one["interaction_id"] for one in listed] == [second, first]
    assert {name: listed[1][name] for name in interaction} == interaction
    assert curl(f"/{unnamed}", "-X", "DELETE") == {"success": True}
    assert curl(f"/{unnamed}") == {"interactions": []}
    assert curl("?max_results=1")["conversations"][0]["conversation_id"] == named


# The two constructors of the README


def _run(script: str, **variables: str) -> str:
    known = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False, env=known | variables)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _constructor(word: str) -> str:
    [found] = [block for block in blocks("python") if "opensearchpy" in block and word in block]
    return found


def test_a_client_of_the_service_on_this_machine(stack: Stack) -> None:
    assert _run(_constructor("search_message").replace(DEFAULT_ADDRESS, stack.api_url)) == "七人の侍です。\n"


def test_a_client_with_a_token(secured: Stack) -> None:
    token = secured.token("henry")
    with OpenSearch(hosts=[secured.api_url], headers={"authorization": f"Bearer {token}"}) as henry:
        subject = henry.plugins.ml.get_memory(memory_id=henry.plugins.ml.create_memory()["memory_id"])["user"]

    printed = _run(_constructor("Bearer") + USE_IT, API=secured.api_url, TOKEN=token)

    assert printed.split() == ["True", subject]


def test_without_a_token_the_client_is_told_that_it_is_not_authenticated(secured: Stack) -> None:
    with client_of(secured) as nobody, pytest.raises(AuthenticationException):
        nobody.plugins.ml.get_all_memories()


def test_a_client_that_signs(guarded: Guarded) -> None:
    """The name of the API is resolved to this machine, as its host is signed and not every resolver knows it."""
    key_id, secret = guarded.user("signer", {"Action": "execute-api:Invoke", "Resource": guarded.service_routes})
    port = urlsplit(guarded.endpoint_url).port
    script = LOOPBACK + _constructor("execute-api") + USE_IT.replace("client.ping()", "True")

    printed = _run(
        script,
        API=f"http://{guarded.outputs['ApiId']}.execute-api.localhost:{port}",
        AWS_REGION=environment.REGION,
        AWS_ACCESS_KEY_ID=key_id,
        AWS_SECRET_ACCESS_KEY=secret,
    )

    assert printed.split() == ["True", "ada"]

"""`make run` as a real process in a terminal: what it prints works, every way of stopping it keeps the conversations.

The instance of most tests is started once. The last test stops it, and starts it again, in every way that a person has.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import httpx
import pytest

from infra.local import sockets
from infra.local.clients import client as aws_client
from tests.local.make_run import MakeRun, make_run, run_to_its_end, shell
from tests.local.openai_server import ANSWER, UNANSWERED, openai_server

pytestmark = [pytest.mark.stack, pytest.mark.timeout(400)]

LOOPBACK = "0100007F"


def free_port() -> int:
    with sockets.listening() as opened:
        return sockets.port_of(opened)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeRun]:
    folder = tmp_path_factory.mktemp("first")
    with make_run(PORT=free_port(), LOCAL_DIR=folder) as run:
        yield run


def client(run: MakeRun, token: str | None = None) -> httpx.Client:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return httpx.Client(base_url=run.api_url, headers=headers, timeout=60, trust_env=False)


def asked(http: httpx.Client, conversation: str, text: str) -> dict[str, Any]:
    """Send a message and wait for the end of its turn."""
    sent = http.post(f"/conversations/{conversation}/turns", json={"content": [{"text": text}]})
    assert sent.status_code == 202, sent.text
    turn = f"/conversations/{conversation}/turns/{sent.json()['message']['id']}"
    deadline = time.monotonic() + 60
    while (state := http.get(turn, params={"wait": 20}).json())["turn"]["status"] in ("pending", "running"):
        assert time.monotonic() < deadline, state
    ended: dict[str, Any] = state
    return ended


def answered(http: httpx.Client, conversation: str, text: str) -> str:
    """Send a message and wait for its answer."""
    state = asked(http, conversation, text)
    assert state["turn"]["status"] == "complete", state
    return str(state["message"]["content"][0]["text"])


def texts(http: httpx.Client, conversation: str) -> list[str]:
    messages = http.get(f"/conversations/{conversation}/messages").json()["messages"]
    return [message["content"][0]["text"] for message in messages if message["role"] == "user"]


def test_the_three_printed_commands_work_in_a_shell(first: MakeRun) -> None:
    assert len(first.printed_commands) == 3

    *_, history = shell(*first.printed_commands).splitlines()

    assert json.loads(history)["messages"][0] == {"role": "user", "content": [{"text": "My name is Ada."}]}


def test_the_stack_file_says_where_everything_is(first: MakeRun) -> None:
    stack = json.loads((first.folder / "stack.json").read_text())

    assert stack["apiUrl"] == first.api_url
    assert httpx.get(f"{stack['awsEndpointUrl']}/_ministack/health", trust_env=False).status_code == 200
    assert {
        "region",
        "messagesTable",
        "conversationsTable",
        "apiFunctionName",
        "turnFunctionName",
        "cleanupFunctionName",
        "userPoolId",
        "userPoolClientId",
    } < set(stack)


def test_nothing_listens_beyond_loopback(first: MakeRun) -> None:
    assert first.listening_addresses() == {LOOPBACK}


def test_a_page_of_another_origin_may_call_it(first: MakeRun) -> None:
    asking = {"origin": "https://page.example", "access-control-request-method": "POST"}
    with client(first) as http:
        preflight = http.options("/conversations", headers=asking | {"access-control-request-headers": "content-type"})
        call = http.post("/conversations", json={}, headers={"origin": "https://page.example"})

    assert preflight.status_code == 204
    assert "POST" in preflight.headers["access-control-allow-methods"]
    assert call.status_code == 201
    assert preflight.headers["access-control-allow-origin"] == call.headers["access-control-allow-origin"] == "*"


def test_every_path_reaches_the_service_and_not_the_emulator(first: MakeRun) -> None:
    with client(first) as http:
        for path in ("/health", "/logout", "/restapis/x/y/_user_request_/z"):
            assert http.get(path).status_code == 404, path
        refused = http.get("/_ministack/health")
        assert (refused.status_code, list(refused.json())) == (400, ["error"])  # as OpenSearch says it


def test_a_port_in_use_is_named_before_anything_starts(first: MakeRun, tmp_path: Path) -> None:
    port = first.api_url.rsplit(":", 1)[1]

    refused = run_to_its_end("run", PORT=port, LOCAL_DIR=tmp_path)

    assert refused.returncode != 0
    assert refused.stdout.startswith(f"port {port} on 127.0.0.1 is in use")
    assert not (tmp_path / "emulator.log").exists()


def test_a_folder_in_use_is_refused(first: MakeRun) -> None:
    refused = run_to_its_end("run", PORT=free_port(), LOCAL_DIR=first.folder)

    assert refused.returncode != 0
    assert f"{first.folder} is in use by another local stack" in refused.stdout


def test_a_model_server_that_does_not_answer_is_named_before_anything_starts(tmp_path: Path) -> None:
    nobody = f"http://127.0.0.1:{free_port()}"

    refused = run_to_its_end("run", PORT=free_port(), LOCAL_DIR=tmp_path, MODEL_URL=nobody)

    assert refused.returncode != 0
    assert f"{nobody}/v1/models does not answer" in refused.stdout
    assert not (tmp_path / "emulator.log").exists()


def test_another_runs_beside_it_with_tokens_and_a_model_server(first: MakeRun, tmp_path: Path) -> None:
    with (
        openai_server() as model,
        make_run(PORT=free_port(), LOCAL_DIR=tmp_path, AUTH="jwt", MODEL_URL=model) as second,
    ):
        token = run_to_its_end("token", USER="alice", GROUPS="admin", LOCAL_DIR=tmp_path).stdout.strip()
        with client(second, token) as http:
            created = http.post("/conversations", json={})
            answer = answered(http, created.json()["id"], "Who are you?")
            failed = asked(http, created.json()["id"], UNANSWERED)["turn"]
        with client(second) as nobody:
            refused = nobody.post("/conversations", json={})
        with client(first) as http:
            elsewhere = http.get(f"/conversations/{created.json()['id']}")
        second.terminate()
        second.wait_until_ended()

    assert (created.status_code, refused.status_code, elsewhere.status_code) == (201, 401, 404)
    assert answer == ANSWER
    assert (failed["status"], failed["error"]["code"]) == ("failed", "ModelError")
    assert "gave no answer" in failed["error"]["message"]
    assert second.processes() == []


WAYS: list[tuple[str, Callable[[MakeRun], None]]] = [
    ("Ctrl-C", MakeRun.press_ctrl_c),
    ("a closed terminal", MakeRun.close_terminal),
    ("SIGTERM", MakeRun.terminate),
]


def deleted(http: httpx.Client) -> str:
    """A conversation of 300 messages that has just been deleted: there has been no time to remove them."""
    conversation: str = http.post("/conversations", json={}).json()["id"]
    batch = [{"role": "user", "content": [{"text": "deleted"}]}] * 75
    for _ in range(4):
        assert http.post(f"/conversations/{conversation}/messages", json={"messages": batch}).status_code == 201
    assert http.delete(f"/conversations/{conversation}").status_code == 204
    return conversation


def left_of(run: MakeRun, conversation: str) -> set[str]:
    """The ids of the items of a conversation that stand in the tables."""
    stack = json.loads((run.folder / "stack.json").read_text())
    pages = [
        page
        for table in ("messagesTable", "conversationsTable")
        for page in aws_client("dynamodb", stack["awsEndpointUrl"])
        .get_paginator("scan")
        .paginate(TableName=stack[table])
    ]
    ids = {item["id"]["S"] for page in pages for item in page["Items"]}
    return {id_ for id_ in ids if id_.startswith(conversation)}


def wait_until_cleaned(run: MakeRun, conversation: str) -> None:
    """Only its tombstone stays."""
    deadline = time.monotonic() + 60
    while (left := left_of(run, conversation)) != {conversation}:
        assert time.monotonic() < deadline, f"{len(left)} items are left"
        time.sleep(0.5)


def test_however_it_stops_nothing_is_left_and_the_next_run_goes_on(first: MakeRun) -> None:
    """Three lives on one folder, each ended in another way, each with a turn and a deletion of its own."""
    with client(first) as http:
        conversation = http.post("/conversations", json={}).json()["id"]
    gone: list[str] = []
    for number, (way, stop) in enumerate(WAYS):
        with make_run(PORT=free_port(), LOCAL_DIR=first.folder) if number else nullcontext(first) as run:
            with client(run) as http:
                assert texts(http, conversation) == [f"before {earlier}" for earlier, _ in WAYS[:number]]
                for earlier in gone:
                    assert http.get(f"/conversations/{earlier}").status_code == 404
                    wait_until_cleaned(run, earlier)
                answered(http, conversation, f"before {way}")
                gone.append(deleted(http))
            stop(run)
            run.wait_until_ended()

            assert run.processes() == [], way
            assert not (run.folder / "stack.json").exists(), way
            assert "Error" not in run.output, way
            assert "Traceback" not in run.output, way

"""Two minutes of eight clients who write, read, clear, delete and ask, while the stack is stopped and started again.

Each client sends every request with a key, and sends it again until it is answered. Whatever was acknowledged must be
there in the end, unless it was cleared or deleted.
"""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.bed import processes
from tests.bed.audited import assert_sound
from tests.bed.messages import said
from tests.bed.stack import Stack, deployed
from tests.e2e.calls import append, create

pytestmark = [pytest.mark.stack, pytest.mark.faults]

CLIENTS = 8
SECONDS = 120
RESTARTS = 2
MARK = "confidential-9f3b"


@dataclass
class Shared:
    """What the clients have in common: where the service is, the conversations, and what was acknowledged."""

    url: str = ""
    stops: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    conversations: list[str] = field(default_factory=list)
    acknowledged: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)


class Client:
    """One of those who load the service."""

    def __init__(self, shared: Shared, seed: int) -> None:
        self._shared = shared
        self._random = random.Random(seed)
        self._http = httpx.Client(timeout=60, trust_env=False)

    def run(self) -> None:
        acts: list[tuple[Callable[[str], None], int]] = [
            (self._append, 40),
            (self._append_large, 5),
            (self._append_batch, 10),
            (self._ask, 10),
            (self._read, 20),
            (self._clear, 3),
            (self._replace, 3),
            (self._change, 5),
        ]
        with self._http:
            while not self._shared.stops.is_set():
                (act,) = self._random.choices([act for act, _ in acts], [weight for _, weight in acts])
                act(self._random.choice(self._shared.conversations))

    def _send(self, method: str, path: str, body: Any = None) -> httpx.Response:
        """Send a request again until it is answered, whatever happens to the service meanwhile."""
        headers = {"Idempotency-Key": uuid4().hex} if method == "POST" else {}
        while True:
            try:
                answer = self._http.request(method, self._shared.url + path, json=body, headers=headers)
            except httpx.TransportError:
                self._count("cut off")
            else:
                if "x-amzn-requestid" in answer.headers or answer.status_code < 500:
                    self._count(f"{method} {answer.status_code}")
                    if answer.status_code != 503:
                        return answer
                else:
                    self._count("gateway")
            time.sleep(0.2)

    def _append(self, conversation: str) -> None:
        self._write(f"/conversations/{conversation}/messages", _message("short"))

    def _append_large(self, conversation: str) -> None:
        text = "".join(self._random.choices("abcdefghij ", k=90_000))
        self._write(f"/conversations/{conversation}/messages", _message(text))

    def _append_batch(self, conversation: str) -> None:
        batch = [_message(f"one of {place}") for place in range(self._random.randint(2, 20))]
        self._write(f"/conversations/{conversation}/messages", {"messages": batch})

    def _ask(self, conversation: str) -> None:
        self._write(f"/conversations/{conversation}/turns", {"content": said(f"{MARK} question")})

    def _write(self, path: str, body: Any) -> None:
        answer = self._send("POST", path, body)
        assert answer.status_code in (201, 202, 404), answer.text
        if answer.status_code == 404:
            return
        document = answer.json()
        written = document.get("messages") or [document.get("message") or document]
        with self._shared.lock:
            self._shared.acknowledged.update(message["id"] for message in written)

    def _read(self, conversation: str) -> None:
        order = self._random.choice(["asc", "desc"])
        answer = self._send("GET", f"/conversations/{conversation}/messages?order={order}&limit=200")
        if answer.status_code == 200:
            positions = [message["position"] for message in answer.json()["messages"]]
            assert positions == sorted(positions, reverse=order == "desc")
            assert not positions or len(positions) == abs(positions[0] - positions[-1]) + 1

    def _clear(self, conversation: str) -> None:
        assert self._send("DELETE", f"/conversations/{conversation}/messages").status_code in (204, 404)

    def _change(self, conversation: str) -> None:
        name = MARK * self._random.choice([1, 30])
        assert self._send("PATCH", f"/conversations/{conversation}", {"name": name}).status_code in (200, 404)

    def _replace(self, conversation: str) -> None:
        """Delete a conversation, and begin another in its place."""
        with self._shared.lock:
            if conversation not in self._shared.conversations or len(self._shared.conversations) < 3:
                return
            self._shared.conversations.remove(conversation)
            self._shared.deleted.add(conversation)
        assert self._send("DELETE", f"/conversations/{conversation}").status_code in (204, 404)
        made = self._send("POST", "/conversations", {"name": "anew", "ttlDays": 5})
        with self._shared.lock:
            self._shared.conversations.append(made.json()["id"])

    def _count(self, what: str) -> None:
        with self._shared.lock:
            self._shared.counts[what] += 1


def _message(text: str) -> dict[str, Any]:
    return {"role": "user", "content": said(f"{MARK} {text}")}


@pytest.mark.timeout(900)
def test_what_was_acknowledged_is_there_whatever_happens(tmp_path: Path) -> None:
    shared = Shared()
    clients: list[Future[None]] = []
    with ThreadPoolExecutor(CLIENTS) as pool:
        try:
            for run in range(RESTARTS + 1):
                with deployed(tmp_path) as stack:
                    shared.url = stack.api_url
                    if not clients:
                        shared.conversations = [_new(stack) for _ in range(6)]
                        clients = [pool.submit(Client(shared, seed).run) for seed in range(CLIENTS)]
                    time.sleep(SECONDS / (RESTARTS + 1))
                    if run == RESTARTS:
                        shared.stops.set()
                        for client in clients:
                            client.result(90)
                        _assert_nothing_is_lost(stack, shared)
                logs = (tmp_path / "emulator.log").read_text(errors="replace")
                assert MARK not in logs
        finally:
            shared.stops.set()
    print(dict(shared.counts), len(shared.acknowledged))
    assert not any(what.split()[-1] in ("500", "502", "504") for what in shared.counts)
    assert shared.counts["cut off"] > 0
    assert len(shared.acknowledged) > 500


def _new(stack: Stack) -> str:
    with stack.http() as http:
        return create(http).rpartition("/")[2]


def _assert_nothing_is_lost(stack: Stack, shared: Shared) -> None:
    with stack.http() as http:
        for conversation in set(shared.conversations):
            listed = set(_listed(http, conversation))
            chain = _chain_of(stack, conversation)
            wanted = {id_ for id_ in shared.acknowledged if id_.partition(".")[0] == chain}
            assert wanted - listed == set()
        for conversation in shared.deleted:
            assert http.get(f"/conversations/{conversation}").status_code == 404
    _wait_for_turns(stack)
    clients = stack.client("dynamodb"), stack.client("s3")
    names = {"messages": stack.messages_table, "conversations": stack.conversations_table}
    assert assert_sound(*clients, **names, bodies=stack.bodies_bucket) > len(shared.conversations)


def _listed(http: httpx.Client, conversation: str) -> Iterator[str]:
    cursor: dict[str, str] = {}
    while True:
        page = http.get(f"/conversations/{conversation}/messages", params={"limit": 1000, **cursor}).json()
        yield from (message["id"] for message in page["messages"])
        if page["nextCursor"] is None:
            return
        cursor = {"cursor": page["nextCursor"]}


def _chain_of(stack: Stack, conversation: str) -> str:
    item = stack.client("dynamodb").get_item(TableName=stack.conversations_table, Key={"id": {"S": conversation}})
    chain = int(item["Item"]["chain"]["N"])
    return f"{conversation}~{chain}" if chain else conversation


def _wait_for_turns(stack: Stack) -> None:
    """Until the functions are idle: the last turns are answered, and what was deleted is cleaned."""
    calls, until = -1, time.monotonic() + 90
    while len(stack.meter.calls) != calls and time.monotonic() < until:
        calls = len(stack.meter.calls)
        time.sleep(3)


@pytest.mark.timeout(600)
def test_the_memory_of_a_process_does_not_grow(http: httpx.Client, stack: Stack) -> None:
    """From request 500 to 5,000 by less than a tenth."""
    paths = [create(http) for _ in range(5)]
    _use(http, paths, 500)
    before = _resident(stack)
    _use(http, paths, 4500)
    after = _resident(stack)

    print({worker: (before[worker], after[worker]) for worker in before})
    busiest = max(before, key=lambda worker: after[worker])
    assert after[busiest] < 1.1 * before[busiest]


def _use(http: httpx.Client, paths: list[str], requests: int) -> None:
    """Write and read, without letting the conversations grow for ever."""
    for number in range(requests // 5):
        path = paths[number % len(paths)]
        if number % 50 == 0:
            http.delete(f"{path}/messages").raise_for_status()
        else:
            append(http, path, said("large " * (6000 if number % 10 == 0 else 10)))
        http.get(f"{path}/messages", params={"limit": 20}).raise_for_status()
        http.get("/conversations").raise_for_status()
        http.get(path).raise_for_status()
        http.patch(path, json={"name": str(number)}).raise_for_status()


def _resident(stack: Stack) -> dict[int, int]:
    return {worker: processes.resident_kb(worker) for worker in stack.workers(stack.api_function)}

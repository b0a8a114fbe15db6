"""Bodies that mean harm get a 4xx, at once, and cost the function's process nothing that stays."""

import gzip
import json
import time
import zlib
from pathlib import Path

import httpx
import pytest

from tests.bed import processes
from tests.bed.fuzzer import fuzz
from tests.bed.stack import Stack
from tests.e2e.calls import create

pytestmark = pytest.mark.stack

MESSAGE = '{"role": "user", "content": [{"text": "x"}]%s}'
BOMB = gzip.compress(b" " * 200_000_000, 9)  # 200 KB that become 200 MB
DIGITS = "9" * 5000
HOSTILE: dict[str, tuple[bytes, dict[str, str]]] = {
    "nested lists": (b"[" * 10_000, {}),
    "nested objects": (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, {}),
    "nested in a member": ((MESSAGE % (', "metadata": {"a": ' + "[" * 10_000 + "]" * 10_000 + "}")).encode(), {}),
    "a number of 5,000 digits": ((MESSAGE % f', "metadata": {{"a": {DIGITS}}}').encode(), {}),
    "a fraction of 5,000 digits": ((MESSAGE % f', "metadata": {{"a": 1e{DIGITS}}}').encode(), {}),
    "a member twice": ((MESSAGE % ', "role": "user"').encode(), {}),
    "Latin-1": ((MESSAGE % ', "metadata": {"a": "\xe9"}').encode("latin-1"), {}),
    "UTF-16": ((MESSAGE % "").encode("utf-16"), {}),
    "UTF-32": ((MESSAGE % "").encode("utf-32"), {}),
    "half of a character": ((MESSAGE % "").encode() + b"\xf0\x9f", {}),
    "a byte order mark": (b"\xef\xbb\xbf" + (MESSAGE % "").encode(), {}),
    "gzip": (gzip.compress((MESSAGE % "").encode()), {"content-encoding": "gzip"}),
    "a gzip bomb": (BOMB, {"content-encoding": "gzip"}),
    "a deflate bomb": (zlib.compress(b"[" * 200_000_000, 9), {"content-encoding": "deflate"}),
    "compressed twice": (gzip.compress(BOMB), {"content-encoding": "gzip, gzip"}),
    "half of a surrogate pair": ((MESSAGE % ', "metadata": {"a": "\\ud83d"}').encode(), {}),
    "not JSON": (b"\x00\x01\x02", {}),
}


# As text, bytes that are no UTF-8 arrive as U+FFFD: the gateway makes that of them.
SENT = [(name, kind) for name in HOSTILE for kind in ("text", "bytes") if (name, kind) != ("Latin-1", "text")]


@pytest.mark.parametrize(("name", "kind"), SENT)
def test_a_hostile_body_is_refused(http: httpx.Client, name: str, kind: str) -> None:
    """Whether the gateway takes it for text or for bytes, which it hands over in base64."""
    body, headers = HOSTILE[name]
    kinds = {"content-type": "application/json"} if kind == "text" else {}
    path = f"{create(http)}/messages"

    answer = http.post(path, content=body, headers={**headers, **kinds})

    assert 400 <= answer.status_code < 500, answer.text
    assert http.get(path).json()["messages"] == []


@pytest.mark.faults
def test_hostile_bodies_leave_nothing_in_memory(http: httpx.Client, stack: Stack) -> None:
    path = f"{create(http)}/messages"
    http.post(path, content=b"[" * 10_000)
    before = {worker: processes.resident_kb(worker) for worker in stack.workers(stack.api_function)}

    for _ in range(5):
        for body, headers in HOSTILE.values():
            started = time.monotonic()
            assert http.post(path, content=body, headers=headers).status_code < 500
            assert time.monotonic() - started < 29

    after = {worker: processes.resident_kb(worker) for worker in stack.workers(stack.api_function)}
    assert before.keys() <= after.keys()  # nobody was ended for want of memory
    assert max(after[worker] - before[worker] for worker in before) < 30_000


@pytest.mark.faults
@pytest.mark.timeout(600)
def test_every_documented_operation_answers_as_documented(http: httpx.Client, stack: Stack, tmp_path: Path) -> None:
    document = http.get("/openapi.json")
    assert len(json.loads(document.text)["paths"]) > 8

    done = fuzz(f"{stack.api_url}/openapi.json", seed=20261130, most_s=150, folder=tmp_path)

    print(done.stdout[-20_000:], done.stderr[-2_000:])
    assert done.returncode == 0

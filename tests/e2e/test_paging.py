"""Three thousand messages: paged both ways while others write, and as cheap at the end as at the beginning."""

import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.bed.dynamodb_meter import Call
from tests.bed.messages import said
from tests.bed.stack import Stack
from tests.e2e.calls import append, create

pytestmark = pytest.mark.stack

MANY = 3000
BATCH = 98
LENGTHS = (10, 100, MANY)
LAST: dict[str, str | int] = {"order": "desc", "limit": 20}


def _fill(http: httpx.Client, path: str, first: int, last: int) -> None:
    """Messages whose texts are their places in the conversation, all of the same length."""
    for start in range(first, last, BATCH):
        batch = [{"role": "user", "content": said(_text(place))} for place in range(start, min(last, start + BATCH))]
        assert http.post(f"{path}/messages", json={"messages": batch}).status_code == 201


def _text(place: int) -> str:
    return f"message {place:05} " + "lorem ipsum " * 20


@pytest.fixture(scope="module")
def many(_deployed_stack: Stack) -> Iterator[tuple[str, dict[int, list[Call]]]]:
    """A conversation of 3,000 messages, and the calls that reading its last 20 took on the way there."""
    stack = _deployed_stack
    calls: dict[int, list[Call]] = {}
    with stack.http() as http:
        path = create(http)
        length = 0
        for wanted in LENGTHS:
            _fill(http, path, length, wanted)
            length = wanted
            stack.meter.reset()
            assert http.get(f"{path}/messages", params=LAST).status_code == 200
            calls[wanted] = stack.meter.calls
        yield path, calls


def _pages(http: httpx.Client, path: str, order: str, limit: int) -> Iterator[list[dict[str, Any]]]:
    cursor: dict[str, str] = {}
    while True:
        page = http.get(f"{path}/messages", params={"order": order, "limit": limit, **cursor})
        assert page.status_code == 200, page.text
        body = page.json()
        yield body["messages"]
        if body["nextCursor"] is None:
            return
        cursor = {"cursor": body["nextCursor"]}


def _positions(pages: Iterator[list[dict[str, Any]]]) -> list[int]:
    return [message["position"] for page in pages for message in page]


class _Writer:
    """Appends one message after the other, in a thread of its own, until it is stopped."""

    def __init__(self, http: httpx.Client, path: str) -> None:
        self._http, self._path = http, path
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._write)
        self.written = 0

    def __enter__(self) -> "_Writer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _write(self) -> None:
        while not self._stopped.is_set():
            append(self._http, self._path, said("meanwhile"))
            self.written += 1


@pytest.mark.parametrize("limit", [1000, 250])
def test_nothing_is_lost_or_twice_when_others_write_while_it_is_paged(
    http: httpx.Client, many: tuple[str, Any], limit: int
) -> None:
    path, _ = many
    before = http.get(path).json()["messageCount"]

    with _Writer(http, path) as writer:
        backward = _positions(_pages(http, path, "desc", limit))
        forward = _positions(_pages(http, path, "asc", limit))
    after = http.get(path).json()["messageCount"]

    assert writer.written > 1
    assert after == before + writer.written
    assert backward == list(range(backward[0], 0, -1))
    assert before <= backward[0] <= after
    assert forward == list(range(1, forward[-1] + 1))
    assert before <= forward[-1] <= after


def test_every_message_is_where_it_was_written(http: httpx.Client, many: tuple[str, Any]) -> None:
    path, _ = many
    listed = [message for page in _pages(http, path, "asc", 1000) for message in page][:MANY]

    assert [message["content"][0]["text"] for message in listed] == [_text(place) for place in range(MANY)]
    assert [message["previousMessageId"] for message in listed] == [None, *(m["id"] for m in listed)][:-1]
    times = [message["createdAt"] for message in listed]
    assert times == sorted(set(times))


def test_a_page_is_cut_to_what_an_answer_holds_and_the_next_goes_on(http: httpx.Client) -> None:
    path = create(http)
    for _ in range(9):
        append(http, path, said("x" * 1_000_000))

    for order in ("asc", "desc"):
        pages = list(_pages(http, path, order, 1000))
        positions = [message["position"] for page in pages for message in page]
        assert len(pages) > 1
        assert sorted(positions) == list(range(1, 10))
        assert positions == sorted(positions, reverse=order == "desc")


def test_the_last_twenty_take_the_same_calls_and_bytes_at_any_length(many: tuple[str, dict[int, list[Call]]]) -> None:
    _, calls = many
    taken = {length: [call.operation for call in found] for length, found in calls.items()}
    size = {length: sum(call.answer_bytes for call in found) for length, found in calls.items()}

    # The ten of a short conversation are all that there are.
    assert taken == {length: ["GetItem", "Query"] for length in LENGTHS}
    assert size[10] < size[100]
    assert abs(size[MANY] - size[100]) < 0.01 * size[100]

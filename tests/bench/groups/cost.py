"""What the service costs in request units, counted from the real calls of its functions."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tests.bench import turns
from tests.bench.bed import engine, text
from tests.bench.measuring import Count
from tests.bench.metered import Metered, Usage, metered
from tests.bench.titles import OURS

TURNS = 200
LATEST = 1000
_ANSWERS = (1024, 20_480)
_LISTED = (1, 10, 50, 200)
_AFTER_S = 180  # those created in the last minute are read besides


@contextmanager
def rows(folder: Path) -> Iterator[list[Count]]:
    with engine(folder) as url, metered(url) as service:
        yield [*_turns(service), *_following(service), *_answers(service), *_listings(service)]


def _turns(service: Metered) -> Iterator[Count]:
    """The first 200 turns one by one, then the 1,000th."""
    conversation_id = service.request("POST", "/conversations", {})["id"]
    found = {turn: _turn(service, conversation_id, turn) for turn in range(1, TURNS + 1)}
    service.unmetered.extend(conversation_id, 2 * TURNS, 2 * (LATEST - 1), turns.SIZE)
    found[LATEST] = _turn(service, conversation_id, LATEST)
    yield from turns.counts(f"{OURS}, a window of {turns.WINDOW}", found)


def _turn(service: Metered, conversation_id: str, number: int) -> Usage:
    question, answer = text(2 * number, turns.SIZE), text(2 * number + 1, turns.SIZE)
    return service.usage(lambda: service.turn(conversation_id, question, answer, window=turns.WINDOW))


def _following(service: Metered) -> Iterator[Count]:
    """Whoever waits for an answer has the function look for news, at first five times a second, later once."""
    conversation_id = service.request("POST", "/conversations", {})["id"]
    service.ask(conversation_id, text(1, turns.SIZE))
    path = f"/conversations/{conversation_id}/turns/{service.api.invocations.descriptors[-1]['currentMessageId']}"
    group = "A client that waits for an answer"
    looked = service.usage(lambda: service.request("GET", path))
    waited = service.usage(lambda: service.request("GET", path, wait=8))
    yield Count(group, "one look", looked.read_units, "read units")
    yield Count(group, "8 seconds of waiting", waited.read_units, "read units")


def _answers(service: Metered) -> Iterator[Count]:
    """One answer, stored at once and streamed; with the conversation that it moves."""
    group = "Write units of an answer, by its bytes"
    for size in _ANSWERS:
        answer = text(7, size)
        conversation_id = service.request("POST", "/conversations", {})["id"]
        path = f"/conversations/{conversation_id}/messages"
        service.request("POST", path, {"role": "user", "content": [{"text": "q"}]})
        stored = {"role": "assistant", "content": [{"text": answer}]}
        once = service.usage(partial(service.request, "POST", path, stored))
        yield Count(group, "stored at once", once.write_units, "write units", size)
        service.ask(conversation_id, "q")
        streamed = service.usage(partial(service.answer, answer))
        yield Count(group, "streamed in pieces of 20 bytes", streamed.write_units, "write units", size)
        yield Count(group, "the second, of the first", streamed.write_units / once.write_units, "times", size)


def _listings(service: Metered) -> Iterator[Count]:
    """The newest 50 conversations of an owner, by how many there are."""
    group = "A page of an owner's 50 newest conversations, by how many there are"
    service.api.as_user("lister")
    made = 0
    for number in _LISTED:
        for _ in range(made, number):
            service.request("POST", "/conversations", {"name": "a name of usual length"})
        made = number
        service.wait(_AFTER_S)
        usage = service.usage(lambda: service.request("GET", "/conversations", limit=50))
        yield Count(group, "calls", usage.calls, "calls", number)
        yield Count(group, "read units", usage.read_units, "read units", number)

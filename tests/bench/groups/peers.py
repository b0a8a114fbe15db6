"""The peers, unmodified, on the same engine: what their turns cost, and the processor time of reading and appending."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from conversations.clients import DATA
from tests.bed.dynamodb_meter import DynamoDBMeter
from tests.bench import plain, turns
from tests.bench.bed import client, engine, text
from tests.bench.groups.cost import TURNS
from tests.bench.measuring import Count, Row
from tests.bench.metered import Usage
from tests.bench.peers.amplify import amplify_turns
from tests.bench.peers.workers import KINDS, PeerError, PeerKind, Worker, worker
from tests.bench.titles import APPEND, READ

_CONVERSATION = "12345678-1234-4123-8123-123456789012"  # as long as the names that people give are
_TOO_LARGE = "does not fit its 400 KB"


@contextmanager
def rows(folder: Path) -> Iterator[list[Row | Count]]:
    with ExitStack() as ready:
        url = ready.enter_context(engine(folder))
        dynamodb = client("dynamodb", url, DATA)
        found: list[Row | Count] = [*plain.rows(dynamodb), *amplify_turns()]
        for kind in KINDS:
            log = folder / f"{kind.module}.log"
            _make_table(dynamodb, kind)
            found += _turns(kind, url, log)
            found += _rows(kind, ready.enter_context(worker(kind, url, log)))
        yield found


def _make_table(dynamodb: Any, kind: PeerKind) -> None:
    dynamodb.create_table(
        TableName=kind.module,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[
            {"AttributeName": key, "KeyType": key_type}
            for key, key_type in zip(kind.keys, ("HASH", "RANGE"), strict=False)
        ],
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in kind.keys],
    )


def _turns(kind: PeerKind, url: str, log: Path) -> Iterator[Count]:
    """What the first 200 turns take, or as many as there can be."""
    with DynamoDBMeter(counts_reads=True) as meter:
        meter.upstream = url
        found: dict[int, Usage] = {}
        with worker(kind, meter.url, log) as peer:
            for turn in range(1, TURNS + 1):
                meter.reset()
                if _is_refused(peer, meter, turn):
                    yield from turns.counts(kind.name, found, f"breaks at turn {turn}")
                    return
                found[turn] = Usage.of(meter.calls)
    yield from turns.counts(kind.name, found)


def _is_refused(peer: Worker, meter: DynamoDBMeter, turn: int) -> bool:
    """Let the peer have a turn. Whether DynamoDB refused a part of it: the peer raises, or logs that and loses it.

    Raises:
        PeerError: it failed for another reason.
    """
    try:
        peer.do("turn", _CONVERSATION, [text(2 * turn, turns.SIZE), text(2 * turn + 1, turns.SIZE)])
    except PeerError:
        if all(call.status == 200 for call in meter.calls):
            raise
    return any(call.status != 200 for call in meter.calls)


def _rows(kind: PeerKind, peer: Worker) -> Iterator[Row | Count]:
    for length in plain.LENGTHS:
        texts = [text(place, plain.SIZE) for place in range(length)]
        conversation = f"read-{length}"
        try:
            assert peer.do("fill", conversation, texts)["messages"] == length
        except PeerError:
            yield Count(READ, kind.name, None, "us", length, _TOO_LARGE)
            yield Count(APPEND, kind.name, None, "us", length, _TOO_LARGE)
            continue
        read = partial(_read, peer, conversation, plain.TIMES[length])
        yield Row(READ, kind.name, read, plain.YARDSTICK_READ, "us", length)
        append = partial(_append, peer, f"append-{length}", texts)
        yield Row(APPEND, kind.name, append, plain.YARDSTICK_APPEND, "us", length)


def _read(peer: Worker, conversation: str, times: int) -> float:
    return float(peer.do("read", conversation, times=times)["us"])


def _append(peer: Worker, conversation: str, texts: list[str]) -> float:
    """Some appends to a conversation of that length, which they lengthen."""
    times = 3
    done = peer.do("append", conversation, texts, times=times)
    assert done["messages"] == len(texts) + 1 + times, "a message was lost"
    return float(done["us"])

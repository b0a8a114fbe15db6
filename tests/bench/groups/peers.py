"""The peers, unmodified, on the same engine: what their turns cost, and the processor time of reading and appending."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from conversations.clients import DATA
from tests.bed.dynamodb_meter import DynamoDBMeter
from tests.bench import plain, turns
from tests.bench.bed import ROLES, client, engine, text
from tests.bench.canned import canned
from tests.bench.groups.cost import TURNS
from tests.bench.measuring import Count, Row, report
from tests.bench.metered import Usage
from tests.bench.peers.amplify import amplify_turns
from tests.bench.peers.workers import KINDS, PeerError, PeerKind, Worker, worker
from tests.bench.titles import APPEND, READ

_CONVERSATION = "12345678-1234-4123-8123-123456789012"  # as long as the names that people give are
_TOO_LARGE = "does not fit its 400 KB"
_APPENDS_AT_ONCE = 5


@contextmanager
def rows(folder: Path) -> Iterator[list[Row | Count]]:
    with ExitStack() as ready:
        url = ready.enter_context(engine(folder))
        dynamodb = client("dynamodb", url, DATA)
        bare = plain.bare(ready.enter_context(canned(url)))
        found: list[Row | Count] = [*plain.yardsticks(dynamodb, bare), *amplify_turns()]
        for kind in KINDS:
            log = folder / f"{kind.module}.log"
            _make_table(dynamodb, kind)
            report(f"counting the turns of {kind.name}")
            found += _turns(kind, url, log)
            again = ready.enter_context(worker(kind, ready.enter_context(canned(url)), log))
            with worker(kind, url, log) as peer:
                found += _rows(kind, peer, again)
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


def _fill(peer: Worker, conversation: str, length: int) -> bool:
    """Make a conversation. Whether there is room for it."""
    texts = [text(place, plain.SIZE) for place in range(length)]
    try:
        peer.do("fill", conversation, texts)
        peer.do("fill", f"{conversation}-longer", [*texts, texts[0]])
    except PeerError:
        return False
    return bool(peer.do("count", conversation)["messages"] == length)


def _rows(kind: PeerKind, peer: Worker, again: Worker) -> Iterator[Row | Count]:
    """``peer`` writes to the engine, ``again`` gets its answers a second time, so that appending lengthens nothing."""
    for length in plain.READ_LENGTHS:
        if _fill(peer, f"read-{length}", length):
            read = partial(_us, again, "read", f"read-{length}", [], plain.reads_at_once(length))
            yield Row(READ, kind.name, read, plain.YARDSTICK_READ, at=length)
        else:
            yield Count(READ, kind.name, None, "us", length, _TOO_LARGE)
    for length in plain.APPEND_LENGTHS:
        if _fill(peer, f"append-{length}", length):
            said = [ROLES[length % 2], text(length, plain.SIZE)]
            append = partial(_us, again, "append", f"append-{length}", said, _APPENDS_AT_ONCE)
            yield Row(APPEND, kind.name, append, plain.YARDSTICK_APPEND, at=length)
        else:
            yield Count(APPEND, kind.name, None, "us", length, _TOO_LARGE)


def _us(peer: Worker, what: str, conversation: str, texts: list[str], times: int) -> float:
    return float(peer.do(what, conversation, texts, times=times)["us"])

"""What it costs to search a memory of 10,000 stored messages: processor time, calls and memory, cold and warm.

    python tests/bench/search/bench_stored.py

The real store on an engine in a process of its own, so that only the function's part is measured: botocore, the items,
the index, the search. 5,000 interactions (two messages of 500 bytes each) are written first. Cold is the first search
of a process, warm the next; then one interaction is added, one is changed in place, and each is searched again. The
API's function has 1 GB, and at that size somewhat more than half a processor. It takes about a minute.
"""

import gc
import random
import resource
import sys
import tempfile
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))
sys.path.insert(0, str(Path(__file__).parents[3] / "functions"))

import boto3

from conversations import ids
from conversations.access import read_head
from conversations.amending import InteractionChange, change_interaction
from conversations.appending import Appending, append
from conversations.clock import SystemClock
from conversations.creating import NewConversation, create
from conversations.dynamo import DynamoStore, Tables
from conversations.interactions import NewInteraction, add_interaction
from conversations.model import About, Draft
from conversations.objects import Objects
from conversations.search_cache import SearchCache
from conversations.searching import MessageSearches
from infra.local import environment
from infra.local.emulator import Emulator, EmulatorSettings
from tests.bed.tables import fresh_tables

INTERACTIONS, BYTES, VOCABULARY, AT_ONCE = 5_000, 500, 30_000, 49
CLOCK = SystemClock()


def sentences(chance: random.Random) -> Callable[[], str]:
    """Texts of words with Zipf's frequencies."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(chance.choices(letters, k=chance.randint(2, 9))) for _ in range(VOCABULARY)]
    weights = [1 / (rank + 1) for rank in range(VOCABULARY)]
    return lambda: " ".join(chance.choices(words, weights, k=85))[:BYTES]


def fill(store: DynamoStore, conversation_id: str, sentence: Callable[[], str]) -> None:
    """Write the messages, questions and answers by turns."""
    for first in range(0, INTERACTIONS, AT_ONCE):
        roles = ("user", "assistant") * min(AT_ONCE, INTERACTIONS - first)
        drafts = [Draft(ids.new_local(), role, [{"text": sentence()}]) for role in roles]  # type: ignore[arg-type]
        append(store, CLOCK, Appending(None, conversation_id, drafts, "bench"))


def measured(name: str, calls: Counter[str], work: Callable[[], object]) -> None:
    """Print what some work takes."""
    calls.clear()
    gc.collect()
    start, wall = time.process_time(), time.perf_counter()
    work()
    cpu, elapsed = time.process_time() - start, time.perf_counter() - wall
    made = ", ".join(f"{count} {operation}" for operation, count in sorted(calls.items()))
    print(f"{name:46} {cpu * 1000:9.1f} ms CPU  {elapsed * 1000:9.1f} ms in all  {made}")


def run(store: DynamoStore, conversation_id: str, calls: Counter[str]) -> None:
    cache = SearchCache()
    searches = MessageSearches(cache)
    words = {"query": {"match": {"response": "message"}}, "highlight": {"fields": {"response": {}}}}
    newest = {"query": {"match_all": {}}, "sort": [{"create_time": "desc"}]}

    def search(body: dict[str, Any] = words) -> int:
        head = read_head(store, CLOCK, owner=None, conversation_id=conversation_id)
        found = searches.search(store, head, body, CLOCK.now_ns() // 1_000_000)
        assert found.results.total is not None
        return found.results.total.value

    def added() -> str:
        new = NewInteraction(input="a new message", response="a new answer")
        return add_interaction(store, CLOCK, owner=None, conversation_id=conversation_id, new=new)

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    measured("cold: everything is read", calls, search)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    measured("warm: nothing is new", calls, search)
    measured("warm, newest first", calls, lambda: search(newest))
    message_id = added()
    measured("one interaction is new", calls, search)
    change = InteractionChange(response="a changed answer")
    change_interaction(store, CLOCK, owner=None, message_id=message_id, change=change)
    measured("one interaction was changed", calls, search)
    assert search({"query": {"match_all": {}}}) == INTERACTIONS + 1
    print(f"\nthe cache says {cache.memory_bytes / 1e6:.0f} MB; the process grew by {(after - before) / 1024:.0f} MB")


def traced(store: DynamoStore, conversation_id: str) -> None:
    """Print the memory that Python itself counts, which takes its time."""
    head = read_head(store, CLOCK, owner=None, conversation_id=conversation_id)
    tracemalloc.start()
    cache = SearchCache()
    MessageSearches(cache).search(store, head, {"query": {"match_all": {}}}, 0)
    gc.collect()
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    print(f"kept {kept / 1e6:.0f} MB, at most {peak / 1e6:.0f} MB while it was built, as Python counts")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, Emulator(EmulatorSettings(folder=Path(folder))) as emulator:
        credentials = environment.aws_settings()
        region = credentials["AWS_DEFAULT_REGION"]
        keys = {"aws_access_key_id": "local", "aws_secret_access_key": "local", "region_name": region}
        dynamodb, s3 = (boto3.client(name, endpoint_url=emulator.endpoint_url, **keys) for name in ("dynamodb", "s3"))
        calls: Counter[str] = Counter()
        dynamodb.meta.events.register(
            "before-send.dynamodb.*", lambda event_name, **_: calls.update([event_name.rpartition(".")[2]])
        )
        with fresh_tables(dynamodb, s3) as tables:
            names = Tables(tables.messages, tables.conversations)
            store = DynamoStore(dynamodb, names, Objects(lambda: s3, tables.bodies), CLOCK)
            conversation, _ = create(store, CLOCK, NewConversation("bench", About()))
            fill(store, conversation.id, sentences(random.Random(1)))
            run(store, conversation.id, calls)
            traced(store, conversation.id)


if __name__ == "__main__":
    main()

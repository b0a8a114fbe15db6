"""What the search engine costs for 10,000 documents of 500 bytes, as processor time and as ratios to a plain scan.

The scan does what one would do without an index: take every text apart with a regular expression (words, Han and
Hiragana by character) and look for one word, the commonest.

    python tests/bench/search/bench_search.py

Budgets: building under 2.5 s, a query under 30 ms, adding a document under 1 ms, 100 MB. Each figure is the best of
some runs of the whole request, ten hits shown; the words are drawn with Zipf's frequencies, so that the commonest stand
in nearly all documents. What is over its budget says so: wide slops between the commonest words, and sloppy phrases
that repeat one. It takes half a minute.
"""

import gc
import random
import re
import sys
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3] / "functions"))

from conversations.search import Index

DOCUMENTS, BYTES, VOCABULARY = 10_000, 500, 30_000
JAPANESE = "今日は映画の推薦をお願いします東京大学カタカナひらがな天気予報によると明日は雨が降るでしょう"
MAPPING: dict[str, Any] = {
    "properties": {
        "input": {"type": "text"},
        "memory_id": {"type": "keyword"},
        "create_time": {"type": "date"},
        "trace_number": {"type": "long"},
        "additional_info": {"type": "flat_object"},
    }
}
Source = dict[str, Any]


def documents(sentence: Callable[[], str]) -> list[tuple[str, Source]]:
    rest = {"memory_id": "m1", "trace_number": None, "additional_info": {"k": "v"}}
    return [(f"d{n}", {"input": sentence(), "create_time": 1_700_000_000_000 + n, **rest}) for n in range(DOCUMENTS)]


def english(chance: random.Random) -> tuple[list[str], Callable[[], str]]:
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(chance.choices(letters, k=chance.randint(2, 9))) for _ in range(VOCABULARY)]
    weights = list(accumulate(1 / (rank + 1) for rank in range(VOCABULARY)))
    return words, lambda: " ".join(chance.choices(words, cum_weights=weights, k=85))[:BYTES]


def japanese(chance: random.Random) -> tuple[list[str], Callable[[], str]]:
    """Words of two characters, as common as each other; the last is rare."""
    words = ["映画", "の推", *(JAPANESE[at : at + 2] for at in range(42)), "寿司"]
    return words, lambda: "".join(chance.choices(JAPANESE, k=BYTES // 3)) + "寿司" * (chance.random() < 0.001)


def seconds(work: Callable[[], object], repeat: int = 1) -> float:
    """The best processor time of a few runs."""
    best = float("inf")
    for _ in range(repeat):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def scan(sources: list[tuple[str, Source]], pattern: str, text: str) -> int:
    words = re.compile(pattern).findall
    wanted = set(words(text))
    return sum(wanted.issubset(words(source["input"].lower())) for _, source in sources)


def report(name: str, cost: float, plain: float, budget: float) -> None:
    over = "  OVER" if cost > budget else ""
    print(f"{name:44} {cost * 1000:9.2f} ms  {cost / plain:7.3f} of a scan  (budget {budget * 1000:5.0f} ms){over}")


def queries(words: list[str]) -> list[tuple[str, Source]]:
    common, some, rare = words[0], words[40], words[-1]
    pair = f"{common} {words[1]}"
    return [
        ("match, the commonest word", {"match": {"input": common}}),
        ("match, four common words", {"match": {"input": " ".join(words[:4])}}),
        ("match, a rare word", {"match": {"input": rare}}),
        ("match in a memory, as the dialect asks", in_memory({"match": {"input": f"{some} {words[41]}"}})),
        ("match_phrase, the two commonest words", phrase(pair)),
        ("match_phrase with slop 2, the same", phrase(pair, slop=2)),
        ("match_phrase with slop 20, the same", phrase(pair, slop=20)),
        ("match_phrase with slop 2, a repeated word", phrase(f"{pair} {common}", slop=2)),
        ("match_phrase with slop 2, five words", phrase(f"{pair} {words[30]} {some} {words[41]}", slop=2)),
        ("match_phrase_prefix", {"match_phrase_prefix": {"input": f"{common} {some[:1]}"}}),
        (f"wildcard *{some[1]}*", {"wildcard": {"input": f"*{some[1]}*"}}),
        (f"prefix {some[0]}", {"prefix": {"input": some[0]}}),
        ("range over dates", {"range": {"create_time": {"gte": 1_700_000_005_000}}}),
        ("match_all", {"match_all": {}}),
    ]


def phrase(text: str, slop: int = 0) -> Source:
    return {"match_phrase": {"input": {"query": text, "slop": slop}}}


def in_memory(query: Source) -> Source:
    return {"bool": {"must": [query, {"term": {"memory_id": "m1"}}]}}


def run(title: str, words: list[str], sources: list[tuple[str, Source]], pattern: str) -> None:
    plain = seconds(lambda: scan(sources, pattern, words[0]), repeat=3)
    print(f"\n{title}: a plain scan takes {plain * 1000:.0f} ms")
    report("build", seconds(lambda: Index(MAPPING, sources)), plain, 2.5)
    index = Index(MAPPING, sources)
    for name, query in queries(words):
        report(name, seconds(partial(index.search, {"query": query}, now_ms=0), repeat=5), plain, 0.03)
    newest = {"query": {"match_all": {}}, "sort": [{"create_time": "desc"}]}
    report("newest first", seconds(lambda: index.search(newest, now_ms=0), repeat=5), plain, 0.03)
    marked = {"query": {"match": {"input": words[0]}}, "highlight": {"fields": {"input": {}}}}
    report("match with highlights", seconds(lambda: index.search(marked, now_ms=0), repeat=5), plain, 0.03)
    report("change a document", seconds(lambda: changed(index, sources[:1000])) / 1000, plain, 0.001)
    report("remove a document", seconds(lambda: [index.remove(id_) for id_, _ in sources[:1000]]) / 1000, plain, 0.001)


def changed(index: Index, sources: list[tuple[str, Source]]) -> None:
    for id_, source in sources:
        index.add(id_, source)


def memory(sentence: Callable[[], str]) -> None:
    gc.collect()
    tracemalloc.start()
    index = Index(MAPPING, documents(sentence))
    gc.collect()
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    print(
        f"\nmemory with sources: {taken / 1e6:.0f} MB; the index says {index.memory_bytes / 1e6:.0f} MB (budget 100 MB)"
    )


def main() -> None:
    chance = random.Random(1)
    words, sentence = english(chance)
    run("English", words, documents(sentence), r"\w+")
    memory(sentence)
    words, sentence = japanese(chance)
    run("Japanese", words, documents(sentence), "[ぁ-ゖ一-鿿]|[ァ-ヴー]+")
    memory(sentence)


if __name__ == "__main__":
    main()

"""Makes `golden.json`: what Lucene itself answers to random documents, queries and texts.

The Python package pyserini brings Lucene 9.9.1 in its `anserini-*-fatjar.jar`; with a JDK 21 or newer:

    pip download --no-deps pyserini==0.40.0 && unzip -j pyserini-0.40.0-*.whl '*-fatjar.jar'
    javac -cp anserini-0.38.0-fatjar.jar -d . tests/unit/search/lucene/Golden.java
    PYTHONPATH=functions python tests/unit/search/lucene/make_golden.py java -cp anserini-0.38.0-fatjar.jar:. Golden \
        > tests/unit/search/lucene/golden.json
"""

import json
import random
import subprocess
import sys
from itertools import accumulate
from typing import Any

from conversations.search.word_break_table import CLASSES, GAPS

WORDS = ["a", "b", "c", "d", "e", "aa", "ab", "ac", "fox", "dog", "über", "映", "画", "don't", "3.14"]
FIELDS = ("a", "b", "c")
SEEDS = range(16)
BOOSTS = (0.1, 0.5, 1.7, 2, 3.3)
Query = dict[str, Any]


class Maker:
    """Random documents and queries over few words, so that much matches."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def pick(self, *options: Any) -> Any:
        return self._random.choice(options)

    def maybe(self, chance: float) -> bool:
        return self._random.random() < chance

    def words(self, most: int) -> str:
        return " ".join(self.pick(*WORDS[: self.pick(3, 6, 14)]) for _ in range(self._random.randint(0, most)))

    def weighted(self, options: Query) -> Query:
        return options | ({"boost": self.pick(*BOOSTS)} if self.maybe(0.3) else {})

    def document(self) -> Query:
        document: Query = {field: self.words(self.pick(3, 10, 60, 300)) for field in FIELDS if self.maybe(0.8)}
        if self.maybe(0.2):
            document["a"] = [self.words(4) for _ in range(3)]
        return document | ({"k": self.pick(*WORDS)} if self.maybe(0.7) else {})

    def query(self, depth: int = 0) -> Query:
        leaves = [self.match] * 3 + [self.phrase] * 2 + [self.phrase_prefix, *[self.of_terms] * 2, self.multi_match]
        compounds = [self.constant] + [self.boolean] * (6 if depth < 2 else 0)
        place = self._random.randrange(len(leaves) + len(compounds))
        return leaves[place]() if place < len(leaves) else compounds[place - len(leaves)](depth)

    def match(self) -> Query:
        options = self.weighted({"query": self.words(5)})
        if self.maybe(0.4):
            return {"match": {self.pick(*FIELDS, "k"): options}}
        extra = self.pick({"operator": "and"}, {"minimum_should_match": self.pick(1, 2, 3)}, {})
        return {"match": {self.pick(*FIELDS): options | extra}}

    def phrase(self) -> Query:
        options = self.weighted({"query": self.words(4), "slop": self.pick(0, 0, 1, 2, 5, 100)})
        return {"match_phrase": {self.pick(*FIELDS): options}}

    def phrase_prefix(self) -> Query:
        options = {"query": self.words(4), "max_expansions": self.pick(1, 2, 50), "slop": self.pick(0, 0, 0, 2, 5)}
        return {"match_phrase_prefix": {self.pick(*FIELDS): self.weighted(options)}}

    def of_terms(self) -> Query:
        bounds = {name: self.pick(*WORDS) for name in ("gte", "lte") if self.maybe(0.7)}
        kind, options = self.pick(
            ("term", {"value": self.pick(*WORDS)}),
            ("prefix", {"value": self.pick("a", "", "d", "ü", "映", "zz")}),
            ("wildcard", {"value": self.pick("a*", "*", "?", "*o*", "?o?", "a?", "*'*", "\\*")}),
            ("range", bounds),
        )
        return {kind: {self.pick(*FIELDS, "k"): self.weighted(options)}}

    def multi_match(self) -> Query:
        fields = [f"{field}{self.pick('', '^2', '^0.3')}" for field in FIELDS if self.maybe(0.7)] or ["a"]
        options = {"query": self.words(4), "fields": fields, "type": self.pick("best_fields", "most_fields")}
        extra = {"tie_breaker": self.pick(0.0, 0.3, 0.7, 1.0)} if self.maybe(0.5) else {}
        return {"multi_match": self.weighted(options | extra)}

    def constant(self, depth: int) -> Query:
        return {"constant_score": self.weighted({"filter": self.query(depth + 1)})}

    def boolean(self, depth: int) -> Query:
        names = [name for name in ("must", "filter", "should", "must_not") if self.maybe(0.4)]
        clauses: Query = {name: [self.query(depth + 1) for _ in range(self.pick(1, 2, 3))] for name in names}
        if "should" in clauses and self.maybe(0.4):
            clauses["minimum_should_match"] = self._random.randint(1, len(clauses["should"]) + 1)
        return {"bool": self.weighted(clauses)}


def texts() -> list[str]:
    """Texts of characters of all classes, in which the tokenizer's rules meet each other."""
    chance = random.Random(0)
    starts = [*accumulate(int(gap, 36) for gap in GAPS.split()), 0x110000]
    runs: dict[str, list[range]] = {}
    for start, end, kind in zip(starts, starts[1:], CLASSES, strict=False):
        runs.setdefault(kind, []).append(range(start, end))
    made = []
    for number in range(1500):
        kinds = chance.sample(sorted(runs), chance.randint(2, 6)) if number % 3 else sorted(runs)
        points = [chance.choice(chance.choice(runs[chance.choice(kinds)])) for _ in range(chance.randint(1, 24))]
        made.append("".join("a" if 0xD800 <= point < 0xE000 else chr(point) for point in points))
    long = ["a" * 254 + "'a", "_" * 300 + "a", "é" + "_" * 300 + "b", "映" * 300, "\u200d" * 300 + "😀", "x" * 300]
    return made + long


def main() -> None:
    collections: list[Query] = []
    for seed in SEEDS:
        maker = Maker(seed)
        documents = [maker.document() for _ in range(maker.pick(1, 5, 12, 25))]
        collections.append({"documents": documents, "queries": [maker.query() for _ in range(40)]})
    requests = [json.dumps(request) for request in (*collections, {"texts": texts()})]
    process = subprocess.run(
        sys.argv[1:], input="\n".join(requests) + "\n", stdout=subprocess.PIPE, text=True, check=True
    )
    *answers, terms = map(json.loads, process.stdout.splitlines())
    for collection, answer in zip(collections, answers, strict=True):
        collection["answers"] = answer
    analysis = [list(pair) for pair in zip(texts(), terms, strict=True)]
    print(json.dumps({"lucene": "9.9.1", "collections": collections, "analysis": analysis}, separators=(",", ":")))


if __name__ == "__main__":
    main()

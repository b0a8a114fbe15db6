"""Fragments of a text with the words of the query marked: Lucene's plain highlighter, as OpenSearch uses it.

The text is cut between words wherever another `fragment_size` is full; a span fragmenter cuts no phrase. A fragment
scores the weight of the different marked words in it, and the best fragments are returned, the best first.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cmp_to_key
from itertools import accumulate
from math import floor

from conversations.search import analysis
from conversations.search.analysis import Token
from conversations.search.budget import Budget
from conversations.search.errors import ShardError
from conversations.search.highlight_options import FieldOptions, Highlight
from conversations.search.json_values import JsonObject
from conversations.search.mapping import Field, FieldType, Mapping, string_values, values_at
from conversations.search.marks import Marks, Wanted, wanted
from conversations.search.nodes import Node
from conversations.search.single_precision import single

__all__ = ["Highlighter"]

MAX_ANALYZED_UNITS = 1_000_000
"""UTF-16 units of a text that may be highlighted: `index.highlight.max_analyzed_offset`."""

_CHEAP = 32
"""Characters that cost one step."""

_HTML = str.maketrans({'"': "&quot;", "&": "&amp;", "<": "&lt;", ">": "&gt;", "'": "&#x27;", "/": "&#x2F;"})


class Highlighter:
    """Marks hits for one query and one set of options."""

    def __init__(self, highlight: Highlight, query: Node, mapping: Mapping, budget: Budget) -> None:
        sought = list(wanted(query))
        self._budget = budget
        self._jobs: list[tuple[Field, FieldOptions, list[Wanted]]] = []
        for pattern, options in highlight.fields:
            for target in mapping.matching(pattern):
                if target.type in (FieldType.TEXT, FieldType.KEYWORD):
                    mine = [each for each in sought if each.field == target.name or not options.require_field_match]
                    self._jobs.append((target, options, mine))

    def fragments(self, source: JsonObject) -> dict[str, list[str]]:
        """The fragments of a document by field; fields without any are left out."""
        found = {}
        for target, options, sought in self._jobs:
            most = options.analyzed if target.type is FieldType.TEXT else None
            texts = [text[:most] for text in string_values(target, values_at(source, target.name))]
            self._budget.spend(1 + sum(map(len, texts)) // _CHEAP)
            found[target.name] = _of_field(target, options, sought, texts)
        return {name: fragments for name, fragments in found.items() if fragments}


def _of_field(target: Field, options: FieldOptions, sought: list[Wanted], texts: list[str]) -> list[str]:
    limit = options.number_of_fragments or 1
    best = [fragment for text in texts for fragment in _best(_cut(target, options, sought, text), limit)]
    if options.by_score:
        best.sort(key=cmp_to_key(lambda one, other: floor(other.score - one.score + 0.5)))
    if best:
        whole = options.number_of_fragments == 0 and len(texts) > 1
        return [fragment.text for fragment in (best if whole else best[:limit])]
    return list(_beginning(target, options, texts[0])) if texts and options.no_match_size else []


class _Fragment:
    def __init__(self, number: int) -> None:
        self.number = number
        self.parts: list[str] = []
        self.score = 0.0
        self._found: set[str] = set()

    def mark(self, word: str, weight: float) -> None:
        """Count a marked word, once."""
        if word not in self._found:
            self._found.add(word)
            self.score = single(self.score + weight)

    @property
    def text(self) -> str:
        return "".join(self.parts)


def _best(fragments: Iterator[_Fragment], limit: int) -> list[_Fragment]:
    marked = [fragment for fragment in fragments if fragment.score > 0]
    return sorted(marked, key=lambda fragment: (-fragment.score, fragment.number))[:limit]


def _tokens(target: Field, text: str) -> list[Token]:
    return list(analysis.tokens(text)) if target.type is FieldType.TEXT else [Token(text, 0, len(text))]


def _cut(target: Field, options: FieldOptions, sought: list[Wanted], text: str) -> Iterator[_Fragment]:
    """The fragments of one text. A fragment ends behind a word: what stands between two words begins the next."""
    units = _units_of(text)
    if units(len(text)) > MAX_ANALYZED_UNITS:
        raise ShardError(
            "illegal_argument_exception",
            f"The length of [{target.name}] field has exceeded [{MAX_ANALYZED_UNITS}] - maximum allowed to be analyzed "
            "for highlighting.",
        )
    tokens = _tokens(target, text)
    marks = Marks([token.text for token in tokens], sought)
    fragmenter = _Fragmenter(options, marks, units(len(text)))
    encode: Callable[[str], str] = (lambda part: part.translate(_HTML)) if options.html else str
    fragment, end = _Fragment(0), 0
    for position, token in enumerate(tokens):
        if position and fragmenter.begins_fragment(token.text, units(token.end)):
            yield fragment
            fragment = _Fragment(fragment.number + 1)
        weight, word = marks.weight(token.text, position), encode(text[token.start : token.end])
        if weight:
            fragment.mark(token.text, weight)
            word = f"{options.pre_tag}{word}{options.post_tag}"
        fragment.parts += [encode(text[end : token.start]), word]
        end = token.end
    fragment.parts.append(encode(text[end:]))
    yield fragment


class _Fragmenter:
    """Decides at each word but the first whether a fragment begins (`SimpleSpanFragmenter`, `SimpleFragmenter`)."""

    def __init__(self, options: FieldOptions, marks: Marks, text_units: int) -> None:
        self._options, self._marks, self._text_units = options, marks, text_units
        self._fragments = 1
        self._position = -1
        self._wait_for = -1

    def begins_fragment(self, word: str, end_units: int) -> bool:
        size = self._options.fragment_size
        if not self._options.number_of_fragments or (self._options.spans and self._is_inside_phrase(word)):
            return False
        begins = end_units >= size * self._fragments
        if self._options.spans:
            begins = begins and self._text_units - end_units >= size // 2
        self._fragments += begins
        return begins

    def _is_inside_phrase(self, word: str) -> bool:
        """Whether a phrase is not over yet. As in Lucene the position lags behind by one: the first word is never
        asked."""
        self._position += 1
        if self._wait_for <= self._position:
            self._wait_for = -1
        elif self._wait_for != -1:
            return True
        end = self._marks.phrase_end(word, self._position)
        if end is not None:
            self._wait_for = end
        return False


def _units_of(text: str) -> Callable[[int], int]:
    """From an offset in code points to one in UTF-16 units."""
    if not text or max(text) <= "\uffff":
        return int
    ends = [0, *accumulate(2 if character > "\uffff" else 1 for character in text)]
    return ends.__getitem__


def _beginning(target: Field, options: FieldOptions, text: str) -> Sequence[str]:
    """The start of a text without marks, up to the last word that ends within `no_match_size`."""
    units, end = _units_of(text), 0
    for token in _tokens(target, text):
        if units(token.end) > options.no_match_size:
            break
        end = token.end
    return [text[:end]] if end else []

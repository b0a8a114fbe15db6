"""Word boundaries: where Lucene's standard tokenizer begins and ends a token.

The rules are UAX #29 with Lucene's additions, as its grammar states them (`StandardTokenizerImpl.jflex` of Lucene 9
and 10, Unicode 12.1): at each place the longest match of any rule is a token, and where no rule matches one character
is passed over. Han and Hiragana make one token per character, Katakana and Hangul one per run, Thai and its
neighbours one per run, an emoji sequence is one token.

A text is first turned into a string of character classes, one letter for each character, in which regular expressions
then find the tokens. Text in ASCII goes straight to an expression of its own. Lucene reads through a buffer of 255
UTF-16 units and ends a token where the buffer ends, so a longer one is looked for again in such windows.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from itertools import accumulate

from conversations.search.word_break_table import CLASSES, GAPS, ROLES

__all__ = ["MAX_TOKEN_UNITS", "Span", "ascii_words", "spans"]

Span = tuple[int, int]

MAX_TOKEN_UNITS = 255
"""UTF-16 units that the tokenizer's buffer holds: no token is longer."""

_REMEMBERED_CHARACTERS = 20_000
"""Characters whose class is kept once looked up, so that hostile text cannot fill the memory."""

_ASCII_WORD = re.compile(
    r"(?<!_)_*[a-z0-9]+(?:(?:_+|(?<=[a-z])[.:'](?=[a-z])|(?<=[0-9])[.,;'](?=[0-9]))[a-z0-9]+)*_*", re.ASCII
)


def ascii_words(text: str) -> list[str] | None:
    """The tokens of a lower-cased ASCII text; None if one is longer than a token may be."""
    words = _ASCII_WORD.findall(text)
    return None if len(text) > MAX_TOKEN_UNITS and max(map(len, words), default=0) > MAX_TOKEN_UNITS else words


def spans(text: str) -> Iterator[Span]:
    """The start and end of each token, in code points."""
    grammar, classes = _grammar(), text.translate(_classes())
    if grammar.overlapping.search(classes):
        yield from grammar.longest_in_windows(text, classes, 0, len(text))
        return
    position = 0
    while match := grammar.token.search(classes, position):
        start, position = match.span()
        if match.lastgroup == "junk":
            continue
        if position - start <= MAX_TOKEN_UNITS // 2 or _units(text, start, position) <= MAX_TOKEN_UNITS:
            yield start, position
            continue
        for span in grammar.longest_in_windows(text, classes, start, position):
            yield span
            position = max(position, span[1])


def _units(text: str, start: int, end: int) -> int:
    return sum(2 if character > "\uffff" else 1 for character in text[start:end])


def _window_end(text: str, start: int) -> int:
    """The end of the 255 units from `start`; a surrogate pair that does not fit whole is left out."""
    room, end = MAX_TOKEN_UNITS, start
    for character in text[start : start + MAX_TOKEN_UNITS]:
        room -= 2 if character > "\uffff" else 1
        if room < 0:
            break
        end += 1
    return end


class _Classes(dict[int, str]):
    """Code point -> class, looked up in the table of runs when first met."""

    def __init__(self) -> None:
        super().__init__()
        self._starts = list(accumulate(int(gap, 36) for gap in GAPS.split()))

    def __missing__(self, code_point: int) -> str:
        found = CLASSES[bisect_right(self._starts, code_point) - 1]
        if len(self) < _REMEMBERED_CHARACTERS:
            self[code_point] = found
        return found


@cache
def _classes() -> _Classes:
    return _Classes()


class _Grammar:
    """The tokenizer's rules over class strings.

    Repetitions are possessive wherever what follows cannot begin with what they repeat, so that none is tried twice. A
    run of joiners or of zero-width joiners that begins no token is passed over whole (`junk`), not once from each
    place.
    """

    def __init__(self) -> None:
        word, emoji, others = _word_rule(), _emoji_rule(), _single_rules()
        joined = f"{_any('joiner')}{_any('extend', but='south_east_asian modifier zwj')}*+"
        junk = f"{_many(joined)}|{_any('zwj')}++"
        self.token = re.compile(f"{word}|{emoji}|{others}|(?P<junk>{junk})")
        self.overlapping = re.compile(_any("emoji", also="letter"))
        self._junk = re.compile(junk)
        self._marks = re.compile(f"{_any('extend', but='south_east_asian modifier zwj')}++")
        self._rules = tuple(map(re.compile, (word, emoji, others)))

    def longest_in_windows(self, text: str, classes: str, start: int, end: int) -> Iterator[Span]:
        """The tokens that begin in `[start, end)`, each the longest of all rules in the tokenizer's buffer."""
        while start < end:
            stop = self._longest(classes, start, start + MAX_TOKEN_UNITS)
            if stop > start + MAX_TOKEN_UNITS // 2:
                stop = self._longest(classes, start, _window_end(text, start))
            if stop > start:
                yield start, stop
                start = stop
            else:
                start = self._passed(classes, start)

    def _longest(self, classes: str, start: int, end: int) -> int:
        """The end of the longest token from `start`, none reaching beyond `end`; `start` if there is none."""
        return max([match.end() for rule in self._rules if (match := rule.match(classes, start, end))], default=start)

    def _passed(self, classes: str, start: int) -> int:
        """Where to look next if no token begins at `start`. One may where a run of joiners just fills the buffer."""
        if marks := self._marks.match(classes, start):
            return marks.end()
        junk = self._junk.match(classes, start)
        return max(start + 1, junk.end() - MAX_TOKEN_UNITS + 1 if junk else 0)


@cache
def _grammar() -> _Grammar:
    return _Grammar()


def _any(role: str, *, also: str = "", but: str = "") -> str:
    """A character set of the classes that have a role (and another), and none of those in `but`."""
    wanted, unwanted = {role, *also.split()}, set(but.split())
    classes = ((letter, set(roles.split())) for letter, roles in ROLES.items())
    return f"[{''.join(letter for letter, roles in classes if wanted <= roles and not unwanted & roles)}]"


def _any_many(rule: str) -> str:
    """The rule as often as it goes, never fewer times.

    As an atomic group: a possessive repetition of a group goes wrong before Python 3.11.5 (CPython issue 106052).
    """
    return f"(?>(?:{rule})*)"


def _many(rule: str) -> str:
    """The rule once at least, and as often as it goes."""
    return f"(?>(?:{rule})+)"


def _word_rule() -> str:
    """WB5 to WB13b. A Hebrew letter takes a quote with it unless it came in behind a mark, as Lucene's rule has it."""
    extend = f"{_any('extend')}*+"
    hebrew, numeric, katakana = _any("hebrew") + extend, _any("numeric") + extend, _any("katakana") + extend
    letter = f"(?:{_any('letter')}|{_any('hebrew')}){extend}"
    joiners = f"(?:{_any('joiner')}{extend})"
    numbers = numeric + _any_many(_any("mid_number") + extend + numeric)
    quoted = f"{hebrew}(?:{_any('double_quote')}{extend}{hebrew}|{_any('single_quote')}{extend})"
    letters = letter + _any_many(_any("mid_letter") + extend + letter)
    group = f"(?:{katakana}{_any_many(_any_many(joiners) + katakana)}|{_many(f'{numbers}|{quoted}|{letters}')})"
    return _any_many(joiners) + group + _any_many(_many(joiners) + group) + _any_many(joiners)


def _emoji_rule() -> str:
    """Emoji sequences of UTS #51: pictures with style or skin tone (which extends), joined or tagged."""
    extend, style, joiner = _any("extend", but="text_style emoji_style"), _any("emoji_style"), _any("zwj")
    picture = f"{joiner}*{_any('emoji')}{extend}*"
    tone = f"{_any('modifier')}{extend}*"
    styled = f"{picture}(?:{style}(?:{joiner}{tone})?)?"
    tagged = f"{picture}{style}{_any('tag')}++{_any('tag_end')}"
    return f"(?:{tagged}|(?:{tone}{joiner})?(?:{styled}{joiner})*{styled}|{tone})"


def _single_rules() -> str:
    """Key caps, flags, runs of South East Asian scripts, and single Han and Hiragana characters."""
    extend, plain = f"{_any('extend')}*+", _any("extend", but="text_style emoji_style")
    base, keycap = _any("keycap_base"), f"{_any('keycap')}{plain}*+"
    keys = f"{base}{plain}*+{_any('emoji_style')}{keycap}|{base}{plain}*{keycap}"
    flags = f"{_any('regional')}{extend}{_any('regional')}{extend}"
    return f"{keys}|{flags}|{_many(_any('south_east_asian') + extend)}|(?:{_any('han')}|{_any('hiragana')}){extend}"

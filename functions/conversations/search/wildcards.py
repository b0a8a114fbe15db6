"""Patterns with `*` (any text) and `?` (any one character), matched in time proportional to the text for each `*`.

Between two stars the first place where the part fits is as good as any other, so that nothing is ever tried twice:
`*a*b*c*...` costs no more than looking for each part in turn.
"""

import re
from collections.abc import Iterator

__all__ = ["Wildcard"]


class Wildcard:
    """A pattern. A backslash takes the character behind it literally."""

    def __init__(self, pattern: str, *, any_one: str = "?", escape: str = "\\") -> None:
        self._parts: list[_Part] = [_Part()]
        characters = iter(pattern)
        for character in characters:
            if character == escape:
                self._parts[-1].add(next(characters, escape))
            elif character == "*":
                self._parts.append(_Part())
            elif character == any_one:
                self._parts[-1].add(None)
            else:
                self._parts[-1].add(character)
        self._parts = [self._parts[0], *filter(len, self._parts[1:-1]), *self._parts[1:][-1:]]
        self._shortest = sum(map(len, self._parts))
        self._needed = max((part.prefix for part in self._parts), key=len)

    @property
    def prefix(self) -> str:
        """What every match begins with."""
        return self._parts[0].prefix

    def matches(self, text: str) -> bool:
        """Whether the whole text fits."""
        first, last = self._parts[0], self._parts[-1]
        if len(text) < self._shortest or self._needed not in text or not first.fits(text, 0):
            return False
        if first is last:
            return len(text) == len(first)
        end = len(text) - len(last)
        return last.fits(text, end) and self._fit_between(text, len(first), end)

    def may_match_below(self, path: str) -> bool:
        """Whether a longer text that begins with this one might fit."""
        return self.prefix.startswith(path) or (len(self._parts) > 1 and path.startswith(self.prefix))

    def _fit_between(self, text: str, start: int, end: int) -> bool:
        for part in self._parts[1:-1]:
            found = part.find(text, start, end)
            if found < 0:
                return False
            start = found + len(part)
        return True


class _Part:
    """What stands between two stars."""

    def __init__(self) -> None:
        self._characters: list[str | None] = []
        self._literal: str | None = None
        self._pattern: re.Pattern[str] | None = None

    def __len__(self) -> int:
        return len(self._characters)

    def add(self, character: str | None) -> None:
        self._characters.append(character)

    @property
    def prefix(self) -> str:
        return "".join(self._literals())

    def _literals(self) -> Iterator[str]:
        for character in self._characters:
            if character is None:
                return
            yield character

    def _compile(self) -> str | None:
        """The part as a plain string; None if it has a `?`, and then it is a pattern without repetitions."""
        if self._literal is None and self._pattern is None:
            if None in self._characters:
                expression = "".join("." if each is None else re.escape(each) for each in self._characters)
                self._pattern = re.compile(expression, re.DOTALL)
            else:
                self._literal = self.prefix
        return self._literal

    def fits(self, text: str, position: int) -> bool:
        literal = self._compile()
        if literal is not None:
            return text.startswith(literal, position)
        return self._pattern is not None and self._pattern.match(text, position) is not None

    def find(self, text: str, start: int, end: int) -> int:
        literal = self._compile()
        if literal is not None:
            return text.find(literal, start, end)
        match = self._pattern.search(text, start, end) if self._pattern else None
        return match.start() if match else -1

"""``filter_path``: which members of an answer are shown, by the rules of OpenSearch's ``FilterPath``.

A path's steps are names, in which ``*`` stands for any text; ``**`` stands for any number of steps, but at least one.
A path that begins with ``-`` leaves out what it names. What becomes empty by that goes, too, but for the whole.
"""

from typing import Any

Path = tuple[str, ...]
Paths = tuple[Path, ...]
_NOTHING = object()
_ANY_DEPTH = "**"
_DOT = "\0"


def filtered(document: dict[str, Any], parameter: str) -> dict[str, Any]:
    """The document as ``filter_path`` wants it; commas separate the paths."""
    paths = [path.strip() for path in parameter.split(",") if path.strip()]
    excluded = tuple(_steps(path[1:]) for path in paths if path.startswith("-") and len(path) > 1)
    included = tuple(_steps(path) for path in paths if not path.startswith("-"))
    if excluded:
        document = _Filter(shows_named=False).whole(document, excluded)
    if included:
        document = _Filter(shows_named=True).whole(document, included)
    return document


def _steps(path: str) -> Path:
    return tuple(step.replace(_DOT, ".") for step in path.replace("\\.", _DOT).split("."))


class _Filter:
    """One walk over a document, which shows what paths name, or all but that.

    What becomes of a name under certain paths is found out once: the objects of a list are much alike.
    """

    def __init__(self, *, shows_named: bool) -> None:
        self._shows_named = shows_named
        self._known: dict[tuple[Paths, str], Paths | None] = {}

    def whole(self, document: dict[str, Any], paths: Paths) -> dict[str, Any]:
        return dict(self._members(document, paths))

    def _members(self, value: dict[str, Any], paths: Paths) -> list[tuple[str, Any]]:
        shown = ((name, self._member(name, inner, paths)) for name, inner in value.items())
        return [(name, inner) for name, inner in shown if inner is not _NOTHING]

    def _member(self, name: str, value: Any, paths: Paths) -> Any:
        following = self._following(paths, name)
        if following is None:  # a path ends here
            return value if self._shows_named else _NOTHING
        if not following:  # no path leads here
            return _NOTHING if self._shows_named else value
        return self._value(value, following)

    def _value(self, value: Any, paths: Paths) -> Any:
        if isinstance(value, dict):
            return dict(self._members(value, paths)) or _NOTHING
        if isinstance(value, list):
            items = (self._value(item, paths) for item in value)
            return [item for item in items if item is not _NOTHING] or _NOTHING
        return _NOTHING if self._shows_named else value

    def _following(self, paths: Paths, name: str) -> Paths | None:
        """What is left of the paths behind a name, or ``None`` if one of them ends with it."""
        if (paths, name) not in self._known:
            self._known[paths, name] = _after(paths, name)
        return self._known[paths, name]


def _after(paths: Paths, name: str) -> Paths | None:
    following: dict[Path, None] = {}  # ordered, and each once: ``**`` makes many of few
    for path in paths:
        step, rest = path[0], path[1:]
        if step == _ANY_DEPTH or _fits(step, name):
            if not rest:
                return None
            following[rest] = None
        if step == _ANY_DEPTH:
            following[path] = None
    return tuple(following)


def _fits(pattern: str, name: str) -> bool:
    """Whether a name is of a pattern, in time that grows with their lengths only."""
    first, *others = pattern.split("*")
    if not others:
        return name == pattern
    *inner, last = others
    if not name.startswith(first):
        return False
    place = len(first)
    for part in inner:
        found = name.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return name.endswith(last) and len(name) - place >= len(last)

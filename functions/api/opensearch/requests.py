"""A request of this dialect while it is read: what nobody reads of it is refused."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

from api.identity import Caller
from api.memory import Memory
from api.opensearch.errors import DialectError, illegal_argument, plain
from api.opensearch.zipped import unzipped
from api.strict_json import read_text

Action = Callable[[], Mapping[str, Any]]
"""What is left to do when all of the request has been read; returns the answer's body."""

OF_ANSWER = frozenset(("pretty", "human", "error_trace", "filter_path", "format"))
"""The parameters of every request; ``rendering`` reads them."""
_JSON_TYPES = ("application/json", "application/x-ndjson", "application/*")
_ALIKE = 0.5


@dataclass(slots=True)
class Request:
    """The request in hand. ``path`` is without prefix of a stage, ``uri`` as it was sent, with the query."""

    memory: Memory
    caller: Caller
    method: str
    path: str
    uri: str
    query: Mapping[str, str]
    event: Mapping[str, Any]
    _body: str | None = None
    _read: set[str] = field(default_factory=set)
    _has_read_body: bool = False

    @property
    def has_body(self) -> bool:
        """Whether a body of one byte or more was sent."""
        return bool(self.event.get("body"))

    def body(self) -> str:
        """The body as text, which counts as read from now on.

        Raises:
            TooLargeError, InvalidRequestError: see ``strict_json.read_text`` and ``zipped.unzipped``.
        """
        self._has_read_body = True
        if self._body is None:
            self._body = read_text(unzipped(self.event))
        return self._body

    def parameter(self, name: str) -> str | None:
        """A parameter of the query, which counts as read from now on."""
        self._read.add(name)
        return self.query.get(name)

    def check_content_type(self) -> None:
        """Raises ``DialectError`` for a body of a type that cannot be read; without a body the type does not matter."""
        if not self.has_body:
            return
        sent = (self.event.get("headers") or {}).get("content-type")
        if not sent:
            raise plain(406, "Content-Type header is missing")
        if not is_json(sent):
            raise plain(406, f"Content-Type header [{sent}] is not supported")

    def check_all_read(self) -> None:
        """Raises ``DialectError`` for parameters and a body that mean nothing here."""
        unread = sorted(name for name in self.query if name not in self._read | OF_ANSWER)
        if unread:
            raise _unrecognized(self.path, unread, self._read | OF_ANSWER)
        if self.has_body and not self._has_read_body:
            raise illegal_argument(f"request [{self.method} {self.path}] does not support having a body")


def is_json(media_type: str) -> bool:
    """Whether a content type is JSON, whatever its parameters are."""
    return media_type.partition(";")[0].strip().lower() in _JSON_TYPES


def _unrecognized(path: str, unread: list[str], known: set[str] | frozenset[str]) -> DialectError:
    plural = "s" if len(unread) > 1 else ""
    told = ", ".join(f"[{name}]{_hint(name, known)}" for name in unread)
    return illegal_argument(f"request [{path}] contains unrecognized parameter{plural}: {told}")


def _hint(name: str, known: set[str] | frozenset[str]) -> str:
    alike = {other: SequenceMatcher(None, name[:64], other).ratio() for other in known}
    near = sorted((other for other, ratio in alike.items() if ratio > _ALIKE), key=lambda other: (-alike[other], other))
    if not near:
        return ""
    return f" -> did you mean [{near[0]}]?" if len(near) == 1 else f" -> did you mean any of [{', '.join(near)}]?"

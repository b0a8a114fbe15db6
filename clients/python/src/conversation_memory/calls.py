"""How the operations write their requests and read the answers."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from conversation_memory.errors import BadAnswerError, NotFoundError
from conversation_memory.steps import Answer, Emit, Request, Steps
from conversation_memory.types import Content

_JSON = {"content-type": "application/json"}
_NO_IDS = {"", ".", ".."}
"""HTTP libraries take such a segment out of a path, and what was before it."""


def path(*segments: str, **query: object) -> str:
    """``/conversations/{id}``, with what is given of the query; spaces are ``%20``, as signatures want them.

    Raises:
        NotFoundError: an id is none: in an address it would stand for another thing, such as what holds it.
    """
    if not _NO_IDS.isdisjoint(segments):
        raise NotFoundError(404, "NotFound", "No id is empty, or made of dots.")
    steps = "".join(f"/{quote(segment, safe='')}" for segment in segments)
    given = [f"{name}={quote(str(value), safe='')}" for name, value in sorted(query.items()) if value is not None]
    return f"{steps}?{'&'.join(given)}" if given else steps


def get(path: str, *, waits_s: float = 0) -> Steps[Any]:
    """Read JSON."""
    answer = yield Request("GET", path, waits_s=waits_s)
    return read(answer)


def post(path: str, body: Mapping[str, Any], idempotency_key: str | None) -> Steps[Any]:
    """Send JSON. The key is made here, once, however often the request is sent."""
    headers = {**_JSON, "idempotency-key": idempotency_key or uuid.uuid4().hex}
    answer = yield Request("POST", path, headers, to_json(body))
    return read(answer)


def patch(path: str, body: Mapping[str, Any]) -> Steps[Any]:
    """Send JSON that replaces what was."""
    answer = yield Request("PATCH", path, _JSON, to_json(body))
    return read(answer)


def remove(path: str) -> Steps[None]:
    """Take away; no matter if that was done before and the answer was lost."""
    yield Request("DELETE", path, is_removal=True)


def all_of(listed: str, page_from: Callable[[str | None], Steps[Any]]) -> Steps[None]:
    """Emit what stands on all pages under that name."""
    cursor: str | None = None
    while True:
        page = yield from page_from(cursor)
        for item in page[listed]:
            yield Emit(item)
        cursor = page["nextCursor"]
        if cursor is None:
            return


def read(answer: Answer) -> Any:
    """The JSON object of an answer.

    Raises:
        BadAnswerError: it is none.
    """
    try:
        document = json.loads(answer.body)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        shown = answer.body[:100].decode("utf-8", "replace")
        raise BadAnswerError(f"{answer.status} without a JSON object, so it is not the API that answers: {shown!r}")
    return document


def given(**members: Any) -> dict[str, Any]:
    """The members that are there."""
    return {name: value for name, value in members.items() if value is not None}


def to_json(value: object) -> bytes:
    """JSON in UTF-8, not ASCII-escaped: an emoji takes four bytes.

    Raises:
        ValueError: a number is not finite, or a text holds half of a surrogate pair.
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def blocks(content: Content) -> Any:
    """Content blocks; a text stands for one block of text."""
    return [{"text": content}] if isinstance(content, str) else content

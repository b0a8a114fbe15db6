"""The answer on the wire: JSON as the request wants it shown."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from api.opensearch.errors import DialectError, failure, illegal_argument
from api.opensearch.filter_path import filtered
from api.strict_json import escaped_size
from api.wire import LARGEST_ANSWER_BYTES
from conversations.codec import to_json

_JSON = "application/json; charset=UTF-8"
_TEXT = "text/plain; charset=UTF-8"
_EMPTY = re.compile(r"([\[{])([\]}],?)$", re.MULTILINE)  # at the end of a line: a text ends with its quote
_BINARY_FORMATS = ("cbor", "smile", "application/cbor", "application/smile")


@dataclass(frozen=True, slots=True)
class Shown:
    """How an answer is to be shown."""

    pretty: bool = False
    filter_path: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "Shown":
        """Reads the parameters that every request may have.

        ``human`` and ``error_trace`` change nothing: no answer has figures for people, and faults say nothing internal.
        YAML is answered with JSON, which it includes.

        Raises:
            DialectError: one of them is not true or false, or a format is wanted that is not text.
        """
        flags = {name: _flag(query, name) for name in ("pretty", "human", "error_trace")}
        if query.get("format", "").lower() in _BINARY_FORMATS:
            raise illegal_argument(f"format [{query['format']}] is not supported: answers are JSON")
        return cls(flags["pretty"], query.get("filter_path", ""))


def answer(body: Mapping[str, Any], shown: Shown) -> dict[str, Any]:
    """An answer that is no error, as Lambda hands it to the gateway."""
    document = filtered(dict(body), shown.filter_path) if shown.filter_path else body
    text = None if _is_too_long(document) else _text_of(document, shown)
    if text is None or escaped_size(text) > LARGEST_ANSWER_BYTES:
        limit = f"{LARGEST_ANSWER_BYTES} bytes as an escaped JSON string"
        return error(
            failure(413, "content_too_long_exception", f"The answer is larger than {limit}: ask for less."), shown
        )
    return _response(200, _JSON, text)


def error(refused: DialectError, shown: Shown) -> dict[str, Any]:
    """An error, which ``filter_path`` leaves whole (as OpenSearch does)."""
    if refused.body is None:
        return _response(refused.status, _TEXT, "", refused.headers)
    return _response(refused.status, _JSON, _text_of(refused.body, shown), refused.headers)


def headers_only(response: dict[str, Any]) -> dict[str, Any]:
    """What HEAD gets of an answer."""
    return {**response, "body": ""}


def _is_too_long(document: Mapping[str, Any]) -> bool:
    """Whether its texts alone are more than an answer holds: of a search they may be as much as there is memory."""
    left, unread = LARGEST_ANSWER_BYTES, list[Any]((document,))
    while unread and left >= 0:
        value = unread.pop()
        if isinstance(value, Mapping | list):
            unread += value.values() if isinstance(value, Mapping) else value
        else:
            left -= len(value) if isinstance(value, str) else 1
    return left < 0


def _text_of(document: Mapping[str, Any], shown: Shown) -> str:
    if shown.pretty:
        text = json.dumps(document, ensure_ascii=False, indent=2, separators=(",", " : "))
        return _EMPTY.sub(r"\1 \2", text) + "\n"
    return to_json(document)


def _response(status: int, content_type: str, body: str, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
    return {
        "statusCode": status,
        "headers": {"Content-Type": content_type, **(headers or {})},
        "body": body,
        "isBase64Encoded": False,
    }


def _flag(query: Mapping[str, str], name: str) -> bool:
    """Whether a flag is set, which it is by being there."""
    value = query.get(name, "false") or "true"
    if value not in ("true", "false"):
        raise illegal_argument(f"Failed to parse value [{value[:100]}] as only [true] or [false] are allowed.")
    return value == "true"

"""Pages by offset: full ones name the next, and so do those that an answer has no more room for."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from api.opensearch.parameters import PageAsked, token_of
from api.strict_json import LARGEST_ESCAPED_BYTES, escaped_size
from conversations.codec import to_json

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Part:
    """The first items of a page, as they are shown, and whether the answer had no room for the others."""

    shown: list[dict[str, Any]]
    is_cut: bool


def fitting(items: Iterable[Item], show: Callable[[Item], dict[str, Any]]) -> Part:
    """As many of the first items as an answer has room for, one at least. No more than one beyond is taken of them."""
    shown: list[dict[str, Any]] = []
    left = LARGEST_ESCAPED_BYTES
    for item in items:
        document = show(item)
        left -= escaped_size(to_json(document)) + 1
        if left < 0 and shown:
            return Part(shown, is_cut=True)
        shown.append(document)
    return Part(shown, is_cut=False)


def envelope(name: str, found: Part, asked: PageAsked) -> dict[str, Any]:
    """``{<name>: [...], next_token?, next_page_token?}``; the second only if tokens are in use."""
    body: dict[str, Any] = {name: found.shown}
    if found.is_cut or len(found.shown) == asked.size:
        following = asked.offset + len(found.shown)
        body["next_token"] = following
        if asked.token is not None:
            body["next_page_token"] = token_of(following)
    return body

"""Query parameters: pages by offset, and their tokens."""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass

from api.opensearch.errors import failure, illegal_argument, invalid, shards_failed
from api.opensearch.requests import Request

DEFAULT_RESULTS = 10
RESULT_WINDOW = 10_000
"""How deep pages may go: ``index.max_result_window``."""
_INT32 = 2**31
_INTEGER = re.compile(r"[+-]?[0-9]{1,12}\Z", re.ASCII)
_LONGEST_SHOWN = 100


@dataclass(frozen=True, slots=True)
class PageAsked:
    """Which part of a list is asked for. ``token`` is the ``next_page_token`` that came, ``None`` if that is not used.

    The offset is that of the token, if it is one.
    """

    size: int
    offset: int
    token: str | None

    def check(self, *, nothing: str, negative: str | None) -> None:
        """Raises ``DialectError`` with these complaints: of a page of nothing, and of a negative offset.

        Without a complaint of its own the search refuses that offset.
        """
        complaints = [nothing] * (self.size <= 0) + [negative or ""] * (negative is not None and self.offset < 0)
        if complaints:
            raise invalid(*complaints)

    def check_window(self, index: str) -> None:
        """Raises ``DialectError`` for what the search of such a page would refuse."""
        if self.offset < 0:
            raise illegal_argument(f"[from] parameter cannot be negative, found [{self.offset}]")
        if self.offset + self.size > RESULT_WINDOW:
            raise shards_failed(
                index,
                "illegal_argument_exception",
                "Result window is too large, from + size must be less than or equal to: "
                f"[{RESULT_WINDOW}] but was [{self.offset + self.size}]. See the scroll api for a more efficient way "
                "to request large data sets. This limit can be set by changing the [index.max_result_window] index "
                "level setting.",
            )


def page(request: Request, *, has_tokens: bool = True) -> PageAsked:
    """``max_results``, ``next_token`` and ``next_page_token``, which wins and is answered with when it is given.

    Raises:
        DialectError: one of them cannot be read.
    """
    size = _int32(request, "max_results", DEFAULT_RESULTS)
    offset = _int32(request, "next_token", 0)
    token = request.parameter("next_page_token") if has_tokens else None
    return PageAsked(size, offset, token)


def offset_of(token: str) -> int | None:
    """The offset that a token stands for: its decimal digits in Base64 without padding; ``None`` for another token."""
    try:
        text = urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode("ascii")
    except ValueError:
        return None
    is_offset = text.isdigit() and len(text) <= 10 and token_of(int(text)) == token
    return int(text) if is_offset and int(text) < _INT32 else None


def token_of(offset: int) -> str:
    """The inverse of ``offset_of``."""
    return urlsafe_b64encode(str(offset).encode()).decode().rstrip("=")


def by_offset(asked: PageAsked) -> PageAsked:
    """The page with the offset that its token stands for, if it has one that is not empty.

    Raises:
        DialectError: the token is no such one.
    """
    if not asked.token:
        return asked
    offset = offset_of(asked.token)
    if offset is None:
        raise invalid_token(asked.token)
    return PageAsked(asked.size, offset, asked.token)


def invalid_token(token: str) -> Exception:
    """What a token gets that is none of ours."""
    return illegal_argument(f"Invalid next_page_token: {token[:_LONGEST_SHOWN]}")


def _int32(request: Request, name: str, default: int) -> int:
    text = request.parameter(name)
    if text is None:
        return default
    if not _INTEGER.match(text) or not -_INT32 <= int(text) < _INT32:
        raise failure(400, "number_format_exception", f'For input string: "{text[:_LONGEST_SHOWN]}"')
    return int(text)

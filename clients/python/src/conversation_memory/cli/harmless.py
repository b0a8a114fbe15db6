"""Text of others, made fit for a terminal: what would steer it is shown and not obeyed."""

from __future__ import annotations

import re

# Control characters but for tab and line feed, and the two that turn the order of what follows.
_STEERING = re.compile("\r\n?|[\0-\b\v\f\x0e-\x1f\x7f-\x9f\u202d\u202e]")
_STEERING_IN_JSON = re.compile("[\x7f-\x9f\u202d\u202e]")
_BREAKS = re.compile(r"\s+")


def harmless(text: str) -> str:
    r"""The text with ``\x1b`` for an escape, and so on. Line ends of Windows become those of the terminal."""
    return _STEERING.sub(_shown, text)


def on_one_line(text: str) -> str:
    """The same for a name in a list: white space of any kind is a space."""
    return harmless(_BREAKS.sub(" ", text))


def harmless_json(document: str) -> str:
    """A JSON document whose strings are as they were: ``json`` itself escapes the other control characters."""
    return _STEERING_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


def _shown(found: re.Match[str]) -> str:
    character = found[0]
    if character == "\r\n":
        return "\n"
    return f"\\x{ord(character):02x}" if ord(character) < 0x100 else f"\\u{ord(character):04x}"

"""Estimates of how many tokens a model sees. Providers publish no common tokenizer, so these are rules of thumb.

English and code come to about four characters a token; scripts beyond Latin to about one token a character.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

_ASCII_CHARACTERS_PER_TOKEN = 4
_BLOCK_OVERHEAD = 3
_MEDIA_TOKENS = {"image": 1600, "video": 6000}
_DOCUMENT_BASE64_CHARACTERS_PER_TOKEN = 8


def of_text(text: str) -> int:
    """Tokens of a text: a quarter of its ASCII characters and all of its others."""
    if text.isascii():
        return -(-len(text) // _ASCII_CHARACTERS_PER_TOKEN)
    ascii_characters = len(text.encode("ascii", "ignore"))
    return len(text) - ascii_characters + -(-ascii_characters // _ASCII_CHARACTERS_PER_TOKEN)


def of_json(value: object) -> int:
    """Tokens of a value that is shown to the model as JSON."""
    return of_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def of_blocks(blocks: Iterable[Mapping[str, Any]]) -> int:
    """Tokens of content blocks."""
    total = 0
    for block in blocks:
        total += _BLOCK_OVERHEAD + _of_content(block)
    return total


def _of_content(block: Mapping[str, Any]) -> int:
    text = block.get("text")
    if isinstance(text, str):
        return of_text(text)
    for kind, tokens in _MEDIA_TOKENS.items():
        if kind in block:
            return tokens
    if "document" in block:
        return _of_document(block["document"])
    if "toolResult" in block:
        result = block["toolResult"]
        parts = result.get("content", ()) if isinstance(result, Mapping) else ()
        return sum(_of_content(part) for part in parts if isinstance(part, Mapping)) + _BLOCK_OVERHEAD
    return of_json(block)


def _of_document(document: object) -> int:
    source = document.get("source") if isinstance(document, Mapping) else None
    data = source.get("bytes", "") if isinstance(source, Mapping) else ""
    return len(str(data)) // _DOCUMENT_BASE64_CHARACTERS_PER_TOKEN

"""Content blocks of the Bedrock Converse API: what is refused when a message is stored, and what counts as blank.

Unknown kinds are kept as they are. What is known is checked here, since a block that Converse refuses would make every
later turn of the conversation fail.
"""

import binascii
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from conversations.errors import InvalidRequestError
from conversations.model import Block

TEXT = "text"
TOOL_USE = "toolUse"
TOOL_RESULT = "toolResult"
REASONING = "reasoningContent"
MEDIA_KINDS = ("image", "document", "video")
KNOWN_KINDS = frozenset(
    (TEXT, TOOL_USE, TOOL_RESULT, REASONING, *MEDIA_KINDS, "cachePoint", "guardContent", "citationsContent")
)


def kind_of(block: Block) -> str | None:
    """The known kind of a block, if it is of one."""
    return next((member for member in block if member in KNOWN_KINDS), None)


def is_blank(blocks: Iterable[Block]) -> bool:
    """Whether nothing but blank text stands in these blocks."""
    return all(is_blank_text(block) for block in blocks)


def is_blank_text(block: Block) -> bool:
    """Whether the block is text without anything visible, which Converse refuses."""
    text = block.get(TEXT)
    return isinstance(text, str) and not text.strip()


def check_content(content: object, *, field: str = "content") -> Sequence[Block]:
    """The content as blocks.

    Raises:
        InvalidRequestError: it is missing, not a list of objects, blank, or a known block is not shaped as Converse
        wants it.
    """
    if content is None:
        raise InvalidRequestError(f"{field} is required: a list of content blocks.", field=field)
    if not isinstance(content, list) or not content:
        raise InvalidRequestError(f"{field} must be a list of content blocks that is not empty.", field=field)
    for place, block in enumerate(content):
        _check_block(block, f"{field}[{place}]")
    if is_blank(content):
        raise InvalidRequestError(f"{field} is blank.", field=field)
    return content


def check_tool_results_only(blocks: Sequence[Block], *, field: str = "content") -> None:
    """Raises ``InvalidRequestError`` when a tool message holds anything but tool results."""
    for place, block in enumerate(blocks):
        if TOOL_RESULT not in block:
            name = f"{field}[{place}]"
            raise InvalidRequestError(f"{name}: a tool message holds toolResult blocks only.", field=name)


def _check_block(block: object, field: str) -> None:
    if not isinstance(block, dict) or not block:
        raise InvalidRequestError(f"{field} must be an object with a member that tells its kind.", field=field)
    kinds = [member for member in block if member in KNOWN_KINDS]
    if len(kinds) > 1:
        raise InvalidRequestError(f"{field} holds {kinds[0]} and {kinds[1]}: one kind a block.", field=field)
    if not kinds:
        return
    kind = kinds[0]
    value, name = block[kind], f"{field}.{kind}"
    if kind == TEXT:
        _require_type(value, str, "a string", name)
        return
    _require_type(value, dict, "an object", name)
    if kind in MEDIA_KINDS:
        _check_media(value, name)
    elif kind == TOOL_USE:
        _check_tool_use(value, name)
    elif kind == TOOL_RESULT:
        _check_tool_result(value, name)


def _check_media(media: Mapping[str, Any], field: str) -> None:
    _require_text(media.get("format"), f"{field}.format")
    source = media.get("source")
    _require_type(source, dict, "an object", f"{field}.source")
    assert isinstance(source, dict)
    if "bytes" in source:
        _check_base64(source["bytes"], f"{field}.source.bytes")
    elif not source:
        raise InvalidRequestError(f"{field}.source is empty.", field=f"{field}.source")


def _check_base64(data: object, field: str) -> None:
    _require_type(data, str, "base64 text", field)
    assert isinstance(data, str)
    try:
        binascii.a2b_base64(data, strict_mode=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidRequestError(f"{field} is not base64: {error}.", field=field) from error


def _check_tool_use(tool_use: Mapping[str, Any], field: str) -> None:
    _require_text(tool_use.get("toolUseId"), f"{field}.toolUseId")
    _require_text(tool_use.get("name"), f"{field}.name")
    if "input" not in tool_use:
        raise InvalidRequestError(f"{field}.input is required.", field=f"{field}.input")


def _check_tool_result(result: Mapping[str, Any], field: str) -> None:
    _require_text(result.get("toolUseId"), f"{field}.toolUseId")
    parts = result.get("content")
    _require_type(parts, list, "a list", f"{field}.content")
    assert isinstance(parts, list)
    for place, part in enumerate(parts):
        name = f"{field}.content[{place}]"
        _require_type(part, dict, "an object", name)
        for kind in MEDIA_KINDS:
            if kind in part:
                _require_type(part[kind], dict, "an object", f"{name}.{kind}")
                _check_media(part[kind], f"{name}.{kind}")
        if TEXT in part:
            _require_type(part[TEXT], str, "a string", f"{name}.{TEXT}")


def _require_type(value: object, wanted: type, described: str, field: str) -> None:
    if not isinstance(value, wanted):
        raise InvalidRequestError(f"{field} must be {described}.", field=field)


def _require_text(value: object, field: str) -> None:
    if not isinstance(value, str) or not value:
        raise InvalidRequestError(f"{field} must be a string that is not empty.", field=field)

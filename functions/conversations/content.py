"""Content blocks of the Bedrock Converse API: what is refused when a message is stored, and what counts as blank.

Unknown kinds and members are kept as they are. What is known is checked here by name, so that nothing is accepted that
a model could never be sent; whatever is stored all the same is left out when a history is arranged.
"""

from collections.abc import Iterable, Sequence

from conversations.converse import KINDS, block_shape
from conversations.errors import InvalidRequestError
from conversations.model import Block
from conversations.shapes import Complaints

TEXT = "text"
TOOL_USE = "toolUse"
TOOL_RESULT = "toolResult"
REASONING = "reasoningContent"
GUARDED = "guardContent"
IMAGE = "image"
DOCUMENT = "document"
MEDIA_KINDS = (IMAGE, DOCUMENT, "video")
KNOWN_KINDS = frozenset(KINDS)


def is_blank(blocks: Iterable[Block]) -> bool:
    """Whether nothing but blank text stands in these blocks."""
    return all(map(is_blank_text, blocks))


def is_blank_text(block: Block) -> bool:
    """Whether the block is text without anything visible, which Converse refuses."""
    text = block.get(TEXT)
    return isinstance(text, str) and (not text or text.isspace())


def visible(text: str | None) -> str | None:
    """The text, unless it is blank."""
    return text if text and not text.isspace() else None


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
    complaints: Complaints = []
    for place, block in enumerate(content):
        block_shape(block, f"{field}[{place}]", complaints)
    if complaints:
        where, rule = complaints[0]
        raise InvalidRequestError(f"{where} {rule}.", field=where)
    if is_blank(content):
        raise InvalidRequestError(f"{field} is blank.", field=field)
    return content


def check_tool_results_only(blocks: Sequence[Block], *, field: str = "content") -> None:
    """Raises ``InvalidRequestError`` when a tool message holds anything but tool results."""
    for place, block in enumerate(blocks):
        if TOOL_RESULT not in block:
            name = f"{field}[{place}]"
            raise InvalidRequestError(f"{name}: a tool message holds toolResult blocks only.", field=name)

"""Images and documents of a request: what Converse says of them as a whole.

The page ``Message`` of the Amazon Bedrock API Reference allows 20 images and 5 documents, and wants a text beside a
document; the service refuses two documents of one name anywhere in a request. All is decided from the newest back, so
that a window on a history does not change what is in it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from conversations.content import DOCUMENT, GUARDED, IMAGE, TEXT, TOOL_RESULT
from conversations.converse import LONGEST_DOCUMENT_NAME
from conversations.model import Block

MOST_IMAGES = 20
MOST_DOCUMENTS = 5
_LEFT_OUT: Block = {TEXT: "(Older attachments are left out.)"}
_MAY_HOLD = frozenset((IMAGE, DOCUMENT, TOOL_RESULT, GUARDED))


def fitted(contents: Sequence[list[Block]]) -> list[list[Block]]:
    """The contents of a request's messages, oldest first, with no more attachments than Converse takes, and with names
    and texts as it wants them. None becomes empty by it.
    """
    places = [place for place, content in enumerate(contents) if any(map(_may_hold, content))]
    if not places:  # nearly always
        return list(contents)
    fit, attachments = list(contents), _Attachments()
    for place in reversed(places):
        fit[place] = _with_text(attachments.taken(contents[place]) or [_LEFT_OUT])
    return fit


def _may_hold(block: Block) -> bool:
    return not _MAY_HOLD.isdisjoint(block)


class _Attachments:
    """Those taken so far, newest first."""

    def __init__(self) -> None:
        self._left = {IMAGE: MOST_IMAGES, DOCUMENT: MOST_DOCUMENTS}
        self._names: set[str] = set()

    def taken(self, blocks: Sequence[Block]) -> list[Block]:
        """The blocks without the older of what is too many."""
        taken = [self._take(block) for block in reversed(blocks)]
        return [block for block in reversed(taken) if block is not None]

    def _take(self, block: Block) -> Block | None:
        if TOOL_RESULT in block:
            result = block[TOOL_RESULT]
            return {TOOL_RESULT: {**result, "content": self.taken(result["content"])}}
        if GUARDED in block:
            return block if self._take(block[GUARDED]) else None
        kind = next((kind for kind in self._left if kind in block), None)
        if kind is None:
            return block
        self._left[kind] -= 1
        if self._left[kind] < 0:
            return None
        return {DOCUMENT: self._named(block[DOCUMENT])} if kind == DOCUMENT else block

    def _named(self, document: Mapping[str, Any]) -> Mapping[str, Any]:
        """The document under a name that none of the others has."""
        wanted = name = document["name"]
        count = 1
        while name in self._names:
            count += 1
            suffix = f" ({count})"
            name = wanted[: LONGEST_DOCUMENT_NAME - len(suffix)].rstrip() + suffix
        self._names.add(name)
        return {**document, "name": name}


def _with_text(blocks: list[Block]) -> list[Block]:
    """The blocks, with the names of the documents as text where there is no other text."""
    names = [block[DOCUMENT]["name"] for block in blocks if DOCUMENT in block]
    if not names or any(TEXT in block for block in blocks):
        return blocks
    return [*blocks, {TEXT: ", ".join(names)}]

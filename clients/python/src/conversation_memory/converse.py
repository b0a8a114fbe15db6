"""Content blocks of the Converse API, as far as the messages of frameworks are shown by them; and how a framework's own
message is carried beside them.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Any

_TOOL_USE_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
_NOT_IN_A_TOOL_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_TOOL_NAME = 64
_IMAGES = {"image/png": "png", "image/jpeg": "jpeg", "image/jpg": "jpeg", "image/gif": "gif", "image/webp": "webp"}
_DOCUMENTS = {
    "application/pdf": "pdf",
    "text/csv": "csv",
    "text/html": "html",
    "text/markdown": "md",
    "text/plain": "txt",
    "application/msword": "doc",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
}


def text(value: str) -> list[dict[str, Any]]:
    """A block of text; none for one that shows nothing. What is no Unicode becomes question marks."""
    return [{"text": value.encode(errors="replace").decode()}] if value.strip() else []


def tool_use(tool_use_id: str, name: str, arguments: Any) -> dict[str, Any]:
    """The model asks for a tool. ``arguments`` are JSON."""
    shown = _NOT_IN_A_TOOL_NAME.sub("_", name)[:_LONGEST_TOOL_NAME] or "_"
    return {"toolUse": {"toolUseId": _tool_use_id(tool_use_id), "name": shown, "input": arguments}}


def tool_result(tool_use_id: str, content: list[dict[str, Any]], *, is_error: bool = False) -> dict[str, Any]:
    """What a tool has come to."""
    status = "error" if is_error else "success"
    return {"toolResult": {"toolUseId": _tool_use_id(tool_use_id), "content": content, "status": status}}


def media(mime_type: object, data: object, name: object = None) -> list[dict[str, Any]]:
    """An image or a document of base64 text, if a model can be shown it."""
    kind = str(mime_type).partition(";")[0].strip().lower()
    if not isinstance(data, str) or not _is_base64(data):
        return []
    if kind in _IMAGES:
        return [{"image": {"format": _IMAGES[kind], "source": {"bytes": data}}}]
    if kind in _DOCUMENTS:
        shown = text(str(name or ""))
        document = {"format": _DOCUMENTS[kind], "name": shown[0]["text"] if shown else "Document"}
        return [{"document": {**document, "source": {"bytes": data}}}]
    return []


def mime_type(kind: str, media: Mapping[str, Any]) -> str | None:
    """The MIME type of an ``image`` or ``document`` block's format."""
    known = _IMAGES if kind == "image" else _DOCUMENTS
    return next((mime for mime, name in known.items() if name == media.get("format")), None)


def carrying(blocks: list[dict[str, Any]], member: str, carried: Any) -> list[dict[str, Any]]:
    """The blocks with something beside them that no model is sent: at the first text, or else at the first block.

    What replaces the text so replaces what is carried, too.
    """
    place = next((place for place, block in enumerate(blocks) if "text" in block), 0)
    carrier = {**blocks[place], member: carried} if blocks else {member: carried}
    return [*blocks[:place], carrier, *blocks[place + 1 :]]


def carried(blocks: Sequence[Mapping[str, Any]], member: str) -> Any:
    """What is carried; ``None`` if nothing is, or if somebody has written a text since then."""
    carrier = next((block for block in blocks if member in block), {})
    is_true = "text" in carrier or not any("text" in block for block in blocks)
    return carrier.get(member) if is_true else None


def _tool_use_id(tool_use_id: str) -> str:
    """The id, or one that is made from it where Converse would not take it."""
    if _TOOL_USE_ID.fullmatch(tool_use_id):
        return tool_use_id
    return hashlib.sha256(tool_use_id.encode(errors="surrogatepass")).hexdigest()


def _is_base64(data: str) -> bool:
    try:
        return bool(b64decode(data, validate=True))
    except ValueError:
        return False

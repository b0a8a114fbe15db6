"""What a conversation's name and metadata are to be once it has been moved: what the source says, under what the target
has been told by others.
"""

from __future__ import annotations

import json
from typing import Any

from conversation_memory.moving.found import MOVED_FROM, Session
from conversation_memory.moving.target import is_known, origins, was_begun
from conversation_memory.types import Conversation, ConversationChange

_LONGEST_NAME = 1024
_LARGEST_METADATA_BYTES = 64 * 1024


def described(conversation: Conversation, session: Session, *, is_begun: bool) -> tuple[ConversationChange, str]:
    """What is to be changed (most often nothing, the second time), and what could not be taken over."""
    known = conversation["metadata"]
    if was_begun(conversation, session.source, session.key) or (
        is_known(known, session.source, session.key) and not is_begun
    ):
        return {}, ""
    own = {"source": session.source, "key": session.key, **session.origin, **({"begun": True} if is_begun else {})}
    others = [one for one in origins(known) if not is_known({MOVED_FROM: [one]}, session.source, session.key)]
    before = {MOVED_FROM: session.metadata[MOVED_FROM]} if MOVED_FROM in session.metadata else {}
    listed = [*others, {**own, **before}]
    metadata, complaint = {**session.metadata, **known, MOVED_FROM: listed}, ""
    if _size(metadata) > _LARGEST_METADATA_BYTES:
        metadata, complaint = {**known, MOVED_FROM: [*others, own]}, "its metadata are too large, and left out"
    change: ConversationChange = {"metadata": metadata}
    if conversation["name"] is None and session.name:
        change["name"] = session.name[:_LONGEST_NAME]
        if len(session.name) > _LONGEST_NAME:
            complaint = complaint or f"its name is cut to {_LONGEST_NAME} characters"
    return change, complaint


def _size(metadata: dict[str, Any]) -> int:
    return len(json.dumps(metadata, ensure_ascii=False).encode())

"""Messages and conversations as the documents that OpenSearch keeps of them, and the mappings of its two indexes."""

from collections.abc import Mapping
from typing import Any

from conversations.clock import shown_time
from conversations.interactions import Interaction
from conversations.model import Conversation, Trace

_TEXT, _KEYWORD, _DATE = {"type": "text"}, {"type": "keyword"}, {"type": "date"}

MESSAGES_MAPPING: Mapping[str, Any] = {
    "properties": {
        "memory_id": _KEYWORD,
        "create_time": _DATE,
        "updated_time": _DATE,
        "input": _TEXT,
        "prompt_template": _TEXT,
        "response": _TEXT,
        "origin": _KEYWORD,
        "additional_info": {"type": "flat_object"},
        "parent_message_id": _KEYWORD,
        "trace_number": {"type": "long"},
    }
}
MEMORIES_MAPPING: Mapping[str, Any] = {
    "properties": {
        "name": _TEXT,
        "create_time": _DATE,
        "updated_time": _DATE,
        "user": _KEYWORD,
        "application_type": _KEYWORD,
        "additional_info": {"type": "flat_object"},
    }
}

Document = dict[str, Any]


def message_document(message: Interaction | Trace) -> Document:
    """A message or trace: what is blank is left out, but that it has no parent is said."""
    parent, number = (message.parent_id, message.number) if isinstance(message, Trace) else (None, None)
    times = {"create_time": message.created_at, "updated_time": message.updated_at}
    optional = {
        "input": message.input,
        "prompt_template": message.prompt_template,
        "response": message.response,
        "origin": message.origin,
        "additional_info": message.additional_info or None,
    }
    return {
        "memory_id": message.conversation_id,
        **{name: shown_time(time) for name, time in times.items() if time},
        "parent_message_id": parent,
        "trace_number": number,
        **{name: value for name, value in optional.items() if value is not None},
    }


def memory_document(conversation: Conversation, *, user: str | None) -> Document:
    """A conversation. ``user`` is its owner as callers know him, ``None`` where nobody is told from another."""
    about = conversation.about
    optional = {
        "name": about.name if about else None,
        "user": user,
        "application_type": about.application_type if about else None,
        "additional_info": (about.metadata if about else None) or None,
    }
    return {
        "create_time": shown_time(conversation.created_at),
        "updated_time": shown_time(conversation.updated_at),
        **{name: value for name, value in optional.items() if value is not None},
    }

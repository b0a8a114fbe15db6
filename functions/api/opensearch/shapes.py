"""Memories, messages and updates as OpenSearch answers them."""

from collections.abc import Mapping
from typing import Any

from api.identity import ANONYMOUS
from conversations.clock import shown_time
from conversations.interactions import Interaction
from conversations.model import Conversation, Trace


def memory(conversation: Conversation) -> dict[str, Any]:
    """``{memory_id, create_time, updated_time, name, user?, additional_info?}``"""
    about = conversation.about
    return {
        "memory_id": conversation.id,
        "create_time": shown_time(conversation.created_at),
        "updated_time": shown_time(conversation.updated_at),
        "name": about.name if about else None,
        **_said({"user": user_of(conversation), "additional_info": about.metadata if about else None}),
    }


def user_of(conversation: Conversation) -> str | None:
    """The owner, where there are owners: without security nobody has a name."""
    return None if conversation.owner == ANONYMOUS else conversation.owner


def message(found: Interaction | Trace, *, with_updated_time: bool) -> dict[str, Any]:
    """``{memory_id, message_id, create_time, updated_time?, input?, ..., parent_message_id?, trace_number?}``

    What is blank is left out.
    """
    texts = {
        "input": found.input,
        "prompt_template": found.prompt_template,
        "response": found.response,
        "origin": found.origin,
    }
    of_trace = {"parent_message_id": found.parent_id, "trace_number": found.number} if isinstance(found, Trace) else {}
    return {
        "memory_id": found.conversation_id,
        "message_id": found.id,
        "create_time": shown_time(found.created_at),
        **({"updated_time": shown_time(found.updated_at)} if with_updated_time else {}),
        **{member: text for member, text in texts.items() if text and text.strip()},
        **_said({"additional_info": found.additional_info}),
        **of_trace,
    }


def updated(index: str, id_: str, version: int, sequence: int) -> dict[str, Any]:
    """The answer to an update of a document."""
    return {
        "_index": index,
        "_id": id_,
        "_version": version,
        "result": "updated",
        "forced_refresh": True,
        "_shards": {"total": 1, "successful": 1, "failed": 0},
        "_seq_no": sequence,
        "_primary_term": 1,
    }


def conversation(found: Conversation) -> dict[str, Any]:
    """The same memory in 2.10: ``{conversation_id, create_time, name, user?}``"""
    return {
        "conversation_id": found.id,
        "create_time": shown_time(found.created_at),
        "name": (found.about.name if found.about else None) or "",
        **_said({"user": user_of(found)}),
    }


def interaction(found: Interaction, additional_info: str | None) -> dict[str, Any]:
    """The same message in 2.10, where every member was always there."""
    return {
        "conversation_id": found.conversation_id,
        "interaction_id": found.id,
        "create_time": shown_time(found.created_at),
        "input": found.input,
        "prompt_template": found.prompt_template,
        "response": found.response,
        "origin": found.origin,
        "additional_info": additional_info,
    }


def _said(members: Mapping[str, Any]) -> dict[str, Any]:
    return {member: value for member, value in members.items() if value}

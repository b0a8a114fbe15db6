"""The event of the turn function: which message to answer and which history to fetch, and nothing of the history.

Names in it select from a fixed set: an event never names a table. Unknown members are passed over.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conversations import ids
from conversations.errors import InvalidRequestError
from conversations.history import DEFAULT_LIST_LIMIT
from conversations.turns import HISTORY_QUERY_NAMES

_LONGEST_TEXT = 100_000
_BOUNDS = {"maxTokens": (1, 10_000_000), "temperature": (0, 1), "topP": (0, 1)}


@dataclass(frozen=True, slots=True)
class Descriptor:
    """The parsed event; what is ``None`` follows the deployment."""

    conversation_id: str
    current_message_id: str
    owner: str
    list_limit: int = DEFAULT_LIST_LIMIT
    model_id: str | None = None
    system_prompt: str | None = None
    region: str | None = None
    inference_configuration: Mapping[str, Any] = field(default_factory=dict)
    client_tools: tuple[Mapping[str, Any], ...] = ()
    stream_response: bool = True
    asked_key: str | None = None


def parse_descriptor(event: object) -> Descriptor:
    """The descriptor in an event.

    Raises:
        InvalidRequestError: it is malformed; names the field.
    """
    if not isinstance(event, dict):
        raise InvalidRequestError("The event must be an object.", field="event")
    if "graphqlApiEndpoint" in event:
        raise InvalidRequestError("Events of AppSync are not taken here yet.", field="graphqlApiEndpoint")
    query = _object(event, "messageHistoryQuery")
    model = _object(event, "modelConfiguration")
    inference = _object(model, "inferenceConfiguration", "modelConfiguration.")
    _check_names(query)
    return Descriptor(
        conversation_id=_conversation_id(event),
        current_message_id=_text(event, "currentMessageId", longest=ids.LONGEST_MESSAGE_ID),
        owner=_text(event, "owner", longest=256),
        list_limit=_list_limit(query),
        model_id=_optional_text(model, "modelId", "modelConfiguration."),
        system_prompt=_optional_text(model, "systemPrompt", "modelConfiguration."),
        region=_optional_text(model, "region", "modelConfiguration."),
        inference_configuration=_inference(inference),
        client_tools=_client_tools(_object(event, "toolsConfiguration")),
        stream_response=event.get("streamResponse") is not False,
        asked_key=_optional_text(event, "askedKey", ""),
    )


def _conversation_id(event: Mapping[str, Any]) -> str:
    conversation_id = _text(event, "conversationId", longest=ids.CONVERSATION_ID_LENGTH)
    if not ids.is_conversation_id(conversation_id):
        raise InvalidRequestError("conversationId is not an id of a conversation.", field="conversationId")
    return conversation_id


def _check_names(query: Mapping[str, Any]) -> None:
    for name, expected in HISTORY_QUERY_NAMES.items():
        if query.get(name) not in (None, expected):
            field_name = f"messageHistoryQuery.{name}"
            raise InvalidRequestError(f"{field_name} must be {expected!r}.", field=field_name)


def _list_limit(query: Mapping[str, Any]) -> int:
    limit = query.get("listQueryLimit")
    if limit is None:
        return DEFAULT_LIST_LIMIT
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= DEFAULT_LIST_LIMIT:
        name = "messageHistoryQuery.listQueryLimit"
        raise InvalidRequestError(f"{name} must be a whole number from 1 to {DEFAULT_LIST_LIMIT}.", field=name)
    return limit


def _inference(configuration: Mapping[str, Any]) -> Mapping[str, Any]:
    for name, (least, most) in _BOUNDS.items():
        value = configuration.get(name)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is not None and not (is_number and least <= value <= most):
            field_name = f"modelConfiguration.inferenceConfiguration.{name}"
            raise InvalidRequestError(f"{field_name} must be a number from {least} to {most}.", field=field_name)
    return {name: configuration[name] for name in _BOUNDS if configuration.get(name) is not None}


def _client_tools(configuration: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    tools = configuration.get("clientTools")
    if tools is None:
        return ()
    name = "toolsConfiguration.clientTools"
    if not isinstance(tools, list) or not all(isinstance(tool, dict) and tool.get("name") for tool in tools):
        raise InvalidRequestError(f"{name} must be a list of tools with names.", field=name)
    return tuple(
        {member: tool[member] for member in ("name", "description", "inputSchema") if tool.get(member)}
        for tool in tools
    )


def _object(parent: Mapping[str, Any], name: str, prefix: str = "") -> Mapping[str, Any]:
    value = parent.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidRequestError(f"{prefix}{name} must be an object.", field=f"{prefix}{name}")
    return value


def _text(parent: Mapping[str, Any], name: str, *, longest: int, prefix: str = "") -> str:
    value = parent.get(name)
    if not isinstance(value, str) or not value or len(value) > longest:
        raise InvalidRequestError(f"{prefix}{name} must be text of 1 to {longest} characters.", field=f"{prefix}{name}")
    return value


def _optional_text(parent: Mapping[str, Any], name: str, prefix: str) -> str | None:
    return None if parent.get(name) is None else _text(parent, name, longest=_LONGEST_TEXT, prefix=prefix)

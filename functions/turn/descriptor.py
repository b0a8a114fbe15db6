"""The event of the turn function: which message to answer and which history to fetch, and nothing of the history.

Names in it select from a fixed set: an event never names a table. Unknown members are passed over.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conversations import ids
from conversations.errors import InvalidRequestError
from conversations.handing_over import HISTORY_QUERY_NAMES
from conversations.history_query import DEFAULT_LIST_LIMIT
from conversations.language_model import PLAIN, Features
from conversations.turn_options import TurnOptions, options_in_event
from turn.fields import (
    features_in,
    inference_in,
    list_limit_in,
    object_in,
    optional_text_in,
    region_in,
    specification_of,
    text_in,
    tools_in,
)


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
    features: Features = PLAIN
    options: TurnOptions = field(default_factory=TurnOptions)
    client_tools: tuple[Mapping[str, Any], ...] = ()
    stream_response: bool = True
    asked_key: str | None = None


def is_of_appsync(event: object) -> bool:
    """Whether an event is that of an Amplify conversation route, which ``turn.appsync`` takes."""
    return isinstance(event, dict) and "graphqlApiEndpoint" in event


def parse_descriptor(event: object, features: Features = PLAIN) -> Descriptor:
    """The descriptor in an event. ``features`` are the deployment's.

    Raises:
        InvalidRequestError: it is malformed; names the field.
    """
    if not isinstance(event, dict):
        raise InvalidRequestError("The event must be an object.", field="event")
    query = object_in(event, "messageHistoryQuery")
    model = object_in(event, "modelConfiguration")
    _check_names(query)
    return Descriptor(
        conversation_id=_conversation_id(event),
        current_message_id=text_in(event, "currentMessageId", longest=ids.LONGEST_MESSAGE_ID),
        owner=text_in(event, "owner", longest=256),
        list_limit=list_limit_in(query),
        model_id=optional_text_in(model, "modelId", "modelConfiguration."),
        system_prompt=optional_text_in(model, "systemPrompt", "modelConfiguration."),
        region=region_in(model),
        inference_configuration=inference_in(model),
        features=features_in(model, features),
        options=options_in_event(event),
        client_tools=tuple(map(specification_of, tools_in(object_in(event, "toolsConfiguration"), "clientTools"))),
        stream_response=event.get("streamResponse") is not False,
        asked_key=optional_text_in(event, "askedKey"),
    )


def _conversation_id(event: Mapping[str, Any]) -> str:
    conversation_id = text_in(event, "conversationId", longest=ids.CONVERSATION_ID_LENGTH)
    if not ids.is_conversation_id(conversation_id):
        raise InvalidRequestError("conversationId is not an id of a conversation.", field="conversationId")
    return conversation_id


def _check_names(query: Mapping[str, Any]) -> None:
    for name, expected in HISTORY_QUERY_NAMES.items():
        if query.get(name) not in (None, expected):
            field_name = f"messageHistoryQuery.{name}"
            raise InvalidRequestError(f"{field_name} must be {expected!r}.", field=field_name)

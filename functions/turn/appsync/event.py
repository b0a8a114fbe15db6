"""The event of an Amplify conversation route, as its AppSync resolver sends it (``ConversationTurnEvent``).

It is taken as it is. Members that are not known are passed over; what goes into GraphQL documents, headers and the
address is held to what may stand there. Parsed in two steps: once the channel is known, whatever else is wrong can be
told to the client.
"""

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from conversations.errors import InvalidRequestError
from turn.appsync.endpoint import check_endpoint
from turn.appsync.graphql import check_name, check_selection, check_type
from turn.fields import (
    inference_in,
    list_limit_in,
    object_in,
    optional_text_in,
    region_in,
    specification_of,
    text_in,
    tools_in,
)

_LONGEST_ID = 2048  # of a DynamoDB partition key
_LONGEST_TOKEN = 16_384
_LONGEST_USER_AGENT = 1024
_HEADER = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class ResponseMutation:
    """The mutation that takes the answer: its name, the type of its input, and what is selected of it."""

    name: str
    input_type: str
    selection: str


@dataclass(frozen=True, slots=True)
class Channel:
    """The way to the client: which message is answered, through which API, in whose name.

    The token stands in no representation, so that it gets into no log.
    """

    conversation_id: str
    current_message_id: str
    endpoint: str
    response: ResponseMutation
    token: str = field(repr=False)
    user_agent: str | None


@dataclass(frozen=True, slots=True)
class HistoryQueries:
    """The names of the queries for messages, and of the types of their arguments."""

    get_name: str
    get_input_type: str
    list_name: str
    list_input_type: str


@dataclass(frozen=True, slots=True)
class DataToolDefinition:
    """A tool that is a query of the API. ``arguments`` are its names with their types; scalars have no selection."""

    specification: Mapping[str, Any]
    query_name: str
    arguments: Mapping[str, str]
    selection: str


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be done for the message; what is ``None`` follows the deployment."""

    queries: HistoryQueries
    list_limit: int
    model_id: str | None
    system_prompt: str | None
    region: str | None
    inference_configuration: Mapping[str, Any]
    data_tools: tuple[DataToolDefinition, ...]
    client_tools: tuple[Mapping[str, Any], ...]
    streams: bool


def parse_channel(event: Mapping[str, Any], trusted_hosts: Set[str]) -> Channel:
    """How to reach the client of an event.

    Raises:
        InvalidRequestError: it cannot be known or must not be used; names the field.
    """
    mutation = object_in(event, "responseMutation")
    headers = object_in(object_in(event, "request"), "headers", "request.")
    token = _header(headers, "authorization", _LONGEST_TOKEN)
    if token is None:
        raise InvalidRequestError("request.headers.authorization is missing.", field="request.headers.authorization")
    return Channel(
        conversation_id=text_in(event, "conversationId", longest=_LONGEST_ID),
        current_message_id=text_in(event, "currentMessageId", longest=_LONGEST_ID),
        endpoint=check_endpoint(event.get("graphqlApiEndpoint"), trusted_hosts),
        response=ResponseMutation(
            name=check_name(mutation.get("name"), "responseMutation.name"),
            input_type=check_name(mutation.get("inputTypeName"), "responseMutation.inputTypeName"),
            selection=check_selection(mutation.get("selectionSet"), "responseMutation.selectionSet"),
        ),
        token=token,
        user_agent=_header(headers, "x-amz-user-agent", _LONGEST_USER_AGENT),
    )


def parse_task(event: Mapping[str, Any]) -> Task:
    """What an event asks for.

    Raises:
        InvalidRequestError: it is malformed; names the field.
    """
    query, model = object_in(event, "messageHistoryQuery"), object_in(event, "modelConfiguration")
    tools = object_in(event, "toolsConfiguration")
    names = ("getQueryName", "getQueryInputTypeName", "listQueryName", "listQueryInputTypeName")
    data_tools = tools_in(tools, "dataTools")
    return Task(
        queries=HistoryQueries(*(check_name(query.get(name), f"messageHistoryQuery.{name}") for name in names)),
        list_limit=list_limit_in(query),
        model_id=optional_text_in(model, "modelId", "modelConfiguration."),
        system_prompt=_prompt(model),
        region=region_in(model),
        inference_configuration=inference_in(model),
        data_tools=tuple(
            _data_tool(tool, f"toolsConfiguration.dataTools[{place}]") for place, tool in enumerate(data_tools)
        ),
        client_tools=tuple(map(specification_of, tools_in(tools, "clientTools"))),
        streams=bool(event.get("streamResponse")),
    )


def _data_tool(tool: Mapping[str, Any], field_name: str) -> DataToolDefinition:
    request = object_in(tool, "graphqlRequestInputDescriptor", f"{field_name}.")
    schema = object_in(object_in(tool, "inputSchema", f"{field_name}."), "json", f"{field_name}.inputSchema.")
    types = object_in(request, "propertyTypes", f"{field_name}.graphqlRequestInputDescriptor.")
    properties = object_in(schema, "properties", f"{field_name}.inputSchema.json.")
    prefix = f"{field_name}.graphqlRequestInputDescriptor"
    if not isinstance(tool["name"], str) or not _TOOL_NAME.fullmatch(tool["name"]):
        raise InvalidRequestError(f"{field_name}.name must be 1 to 64 of A-Z, a-z, 0-9, _ and -.", field=field_name)
    if not isinstance(tool.get("description"), str | None):
        raise InvalidRequestError(f"{field_name}.description must be text.", field=f"{field_name}.description")
    return DataToolDefinition(
        specification={**specification_of(tool), "inputSchema": {"json": schema or {"type": "object"}}},
        query_name=check_name(request.get("queryName"), f"{prefix}.queryName"),
        arguments={
            check_name(name, f"{field_name}.inputSchema.json.properties"): check_type(
                types.get(name), f"{prefix}.propertyTypes.{name[:64]}"
            )
            for name in properties
        },
        selection=check_selection(request.get("selectionSet") or "", f"{prefix}.selectionSet"),
    )


def _prompt(model: Mapping[str, Any]) -> str | None:
    """A route may have an empty prompt, which is none."""
    return "" if model.get("systemPrompt") == "" else optional_text_in(model, "systemPrompt", "modelConfiguration.")


def _header(headers: Mapping[str, Any], name: str, longest: int) -> str | None:
    """A header's value. AppSync writes names in lower case; events made by hand may not."""
    value = next((value for given, value in headers.items() if given.lower() == name), None)
    if value is None or value == "":
        return None
    if not isinstance(value, str) or len(value) > longest or not _HEADER.fullmatch(value):
        raise InvalidRequestError(f"request.headers.{name} is no header's value.", field=f"request.headers.{name}")
    return value

"""What of an event of AppSync is taken, and what must not get into a document, a header or an address."""

import copy
from typing import Any

import pytest

from conversations.errors import InvalidRequestError
from turn.appsync import documents
from turn.appsync.event import parse_channel, parse_task

EVENT: dict[str, Any] = {
    "conversationId": "c6192a07-8df3-4bff-b87b-3fbb4346fd97",
    "currentMessageId": "cdc53fde-6b05-4e5b-a2d3-b13a1f308eb3",
    "responseMutation": {
        "name": "createAssistantResponseStreamPirateChat",
        "inputTypeName": "CreateConversationMessagePirateChatAssistantStreamingInput",
        "selectionSet": "associatedUserMessageId contentBlockToolUse { toolUseId name input } errors { message } p",
    },
    "graphqlApiEndpoint": "https://abc123.appsync-api.us-east-1.amazonaws.com/graphql",
    "modelConfiguration": {
        "modelId": "anthropic.claude-3-haiku-20240307-v1:0",
        "systemPrompt": "You are a helpful chatbot.",
        "inferenceConfiguration": {"temperature": 0.5, "topP": 0.9, "maxTokens": 100},
    },
    "request": {"headers": {"authorization": "eyJ.a.b", "x-amz-user-agent": "aws-amplify/6.6.0"}},
    "messageHistoryQuery": {
        "getQueryName": "getConversationMessagePirateChat",
        "getQueryInputTypeName": "ID",
        "listQueryName": "listConversationMessagePirateChats",
        "listQueryInputTypeName": "ModelConversationMessagePirateChatFilterInput",
    },
    "toolsConfiguration": {
        "dataTools": [
            {
                "name": "thermometer",
                "description": "does a thing",
                "inputSchema": {"json": {"type": "object", "properties": {"city": {"type": "string"}}}},
                "graphqlRequestInputDescriptor": {
                    "selectionSet": "value unit",
                    "propertyTypes": {"city": "String!"},
                    "queryName": "getTemperature",
                },
            }
        ],
        "clientTools": [{"name": "GetWeather", "description": "x", "inputSchema": {"json": {"type": "object"}}}],
    },
    "streamResponse": True,
}
NOWHERE: frozenset[str] = frozenset()


def _changed(path: str, value: Any) -> dict[str, Any]:
    """The event with another value at that path (names with dots between them; numbers are places in lists)."""
    event: Any = copy.deepcopy(EVENT)
    *parents, last = path.split(".")
    inner = event
    for name in parents:
        inner = inner[int(name)] if name.isdigit() else inner[name]
    inner[last] = value
    return event  # type: ignore[no-any-return]


def test_the_event_is_taken_as_it_is_sent() -> None:
    channel, task = parse_channel(EVENT, NOWHERE), parse_task(EVENT)

    assert (channel.endpoint, channel.token) == (EVENT["graphqlApiEndpoint"], "eyJ.a.b")
    assert channel.user_agent == "aws-amplify/6.6.0"
    assert task.inference_configuration == {"temperature": 0.5, "topP": 0.9, "maxTokens": 100}
    assert (task.list_limit, task.region, task.streams) == (1000, None, True)
    assert documents.tool_query(task.data_tools[0]) == (
        "query ToolQuery($city: String!) { getTemperature(city: $city) { value unit } }"
    )
    assert documents.publish_response(channel.response) == (
        "mutation PublishModelResponse($input: CreateConversationMessagePirateChatAssistantStreamingInput!) "
        "{ createAssistantResponseStreamPirateChat(input: $input) "
        "{ associatedUserMessageId contentBlockToolUse { toolUseId name input } errors { message } p } }"
    )


def test_the_token_stands_in_no_representation() -> None:
    assert "eyJ.a.b" not in repr(parse_channel(EVENT, NOWHERE))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("toolsConfiguration", None),
        ("toolsConfiguration", {}),
        ("toolsConfiguration.dataTools", None),
        ("toolsConfiguration.clientTools", None),
        ("modelConfiguration.region", None),
        ("modelConfiguration.inferenceConfiguration", None),
        ("modelConfiguration.somethingNew", {"a": 1}),
        ("messageHistoryQuery.listQueryLimit", None),
        ("request.headers.x-amz-user-agent", None),
        ("request.headers.somethingNew", "x"),
        ("toolsConfiguration.dataTools.0.graphqlRequestInputDescriptor.selectionSet", ""),
        ("toolsConfiguration.dataTools.0.inputSchema", {"json": {"properties": {}, "required": []}}),
        ("somethingNew", 5),
    ],
)
def test_what_is_null_missing_or_unknown_is_tolerated(path: str, value: Any) -> None:
    event = _changed(path, value)

    assert parse_channel(event, NOWHERE).conversation_id == EVENT["conversationId"]
    parse_task(event)


def test_a_route_without_a_prompt_does_not_get_that_of_the_deployment() -> None:
    assert parse_task(_changed("modelConfiguration.systemPrompt", "")).system_prompt == ""
    assert parse_task(_changed("modelConfiguration.systemPrompt", None)).system_prompt is None


INJECTED = "x } } mutation M { deleteAll"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("responseMutation.name", INJECTED),
        ("responseMutation.name", "a: b"),
        ("responseMutation.name", ""),
        ("responseMutation.name", "ünicode"),
        ("responseMutation.name", "n" * 300),
        ("responseMutation.inputTypeName", "X!) { y }"),
        ("responseMutation.selectionSet", None),
        ("responseMutation.selectionSet", "id } } mutation M { x { y"),
        ("responseMutation.selectionSet", "id }"),
        ("responseMutation.selectionSet", "{ id }"),
        ("responseMutation.selectionSet", "id { }"),
        ("responseMutation.selectionSet", "id { owner"),
        ("responseMutation.selectionSet", "id { a } { b }"),
        ("responseMutation.selectionSet", "others(limit: 5) { id }"),
        ("responseMutation.selectionSet", "...on X { id }"),
        ("responseMutation.selectionSet", "id @include(if: true)"),
        ("responseMutation.selectionSet", "alias: id"),
        ("responseMutation.selectionSet", "id # comment"),
        ("responseMutation.selectionSet", 'id "text"'),
        ("request.headers.authorization", None),
        ("request.headers.authorization", "eyJ\r\nhost: other.example"),
        ("request.headers.authorization", "eyJ\u2026"),
        ("request.headers.authorization", 5),
        ("request.headers.x-amz-user-agent", "a\nb"),
        ("request", None),
        ("conversationId", None),
        ("conversationId", 5),
        ("currentMessageId", ""),
    ],
)
def test_what_would_change_a_document_or_a_header_is_refused_by_name(path: str, value: Any) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        parse_channel(_changed(path, value), NOWHERE)

    assert refused.value.field is not None
    assert path.split(".")[-1] in refused.value.field or path == "request"
    assert "eyJ" not in refused.value.message


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("messageHistoryQuery.getQueryName", INJECTED),
        ("messageHistoryQuery.getQueryName", None),
        ("messageHistoryQuery.listQueryInputTypeName", "A!, $b: C"),
        ("messageHistoryQuery.listQueryLimit", 0),
        ("toolsConfiguration.dataTools.0.name", "a b"),
        ("toolsConfiguration.dataTools.0.name", None),
        ("toolsConfiguration.dataTools.0.description", 5),
        ("toolsConfiguration.dataTools.0.graphqlRequestInputDescriptor", None),
        ("toolsConfiguration.dataTools.0.graphqlRequestInputDescriptor.queryName", "a(b: 1)"),
        ("toolsConfiguration.dataTools.0.graphqlRequestInputDescriptor.selectionSet", "a } other { b"),
        ("toolsConfiguration.dataTools.0.graphqlRequestInputDescriptor.propertyTypes", {}),
        ("toolsConfiguration.dataTools.0.graphqlRequestInputDescriptor.propertyTypes", {"city": "[String"}),
        ("toolsConfiguration.dataTools.0.graphqlRequestInputDescriptor.propertyTypes", {"city": "String = 5"}),
        ("toolsConfiguration.dataTools.0.inputSchema", {"json": {"properties": {"a b": {}}}}),
        ("toolsConfiguration.clientTools", [{}]),
        ("modelConfiguration.inferenceConfiguration", {"topP": 2}),
        ("modelConfiguration.modelId", 5),
        ("modelConfiguration.region", "example.org/"),
    ],
)
def test_a_task_that_is_malformed_is_refused_by_name(path: str, value: Any) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        parse_task(_changed(path, value))

    assert refused.value.field


@pytest.mark.parametrize("of_type", ["String", "[String!]!", "[[Int]]", "ModelTodoFilterInput"])
def test_types_of_arguments_may_be_lists(of_type: str) -> None:
    path = "toolsConfiguration.dataTools.0.graphqlRequestInputDescriptor.propertyTypes"

    (tool,) = parse_task(_changed(path, {"city": of_type})).data_tools

    assert tool.arguments == {"city": of_type}


# Where the token may go


@pytest.mark.parametrize(
    "url",
    [
        "https://abc123.appsync-api.us-east-1.amazonaws.com/graphql",
        "https://abc123.appsync-api.cn-north-1.amazonaws.com.cn/graphql",
        "https://ABC123.appsync-api.us-east-1.amazonaws.com:443/graphql",
        "https://api.example.com/graphql",
    ],
)
def test_appsync_and_the_hosts_of_the_deployment_are_called(url: str) -> None:
    assert parse_channel(_changed("graphqlApiEndpoint", url), frozenset(("api.example.com",))).endpoint.endswith(
        "/graphql"
    )


@pytest.mark.parametrize(
    "url",
    [
        "http://abc123.appsync-api.us-east-1.amazonaws.com/graphql",
        "https://abc123.appsync-api.us-east-1.amazonaws.com:8443/graphql",
        "https://abc123.appsync-api.us-east-1.amazonaws.com.example.org/graphql",
        "https://abc123.appsync-api.us-east-1.amazonaws.com@example.org/graphql",
        "https://example.org#abc123.appsync-api.us-east-1.amazonaws.com/graphql",
        "https://example.org?abc123.appsync-api.us-east-1.amazonaws.com/graphql",
        "https://example.org\\@abc123.appsync-api.us-east-1.amazonaws.com/graphql",
        "https://abc123.appsync-api.us-east-1.amazonaws.com/graphql?x=y",
        "https://abc123.appsync-api.us-east-1.amazonaws.com/a\r\nb",
        "https://appsync-api.us-east-1.amazonaws.com/graphql",
        "https://example.com/graphql",
        "http://127.0.0.1:9001/2018-06-01/runtime/invocation/next",
        "http://localhost/graphql",
        "http://[::1]/graphql",
        "http://2130706433/graphql",
        "http://169.254.169.254/latest/meta-data",
        "ftp://abc123.appsync-api.us-east-1.amazonaws.com/graphql",
        "//abc123.appsync-api.us-east-1.amazonaws.com/graphql",
        "https://[::1/graphql",
        "https://abc123.appsync-api.us-east-1.amazonaws.com:x/graphql",
        "https://" + "a" * 3000,
        "",
        None,
        {"url": "https://abc123.appsync-api.us-east-1.amazonaws.com/graphql"},
    ],
)
def test_nothing_else_is_called(url: object) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        parse_channel(_changed("graphqlApiEndpoint", url), NOWHERE)

    assert refused.value.field == "graphqlApiEndpoint"


@pytest.mark.parametrize("url", ["http://127.0.0.1:4000/graphql", "http://localhost:4000", "http://[::1]:4000/graphql"])
def test_loopback_is_for_the_local_stage(url: str) -> None:
    local = frozenset(("127.0.0.1", "localhost", "::1"))

    assert parse_channel(_changed("graphqlApiEndpoint", url), local).endpoint == url

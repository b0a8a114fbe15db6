"""The GraphQL documents that are sent. What of them an event decides was checked when it was parsed."""

from turn.appsync.event import DataToolDefinition, HistoryQueries, ResponseMutation

_MEDIA = "image { format source { bytes } } document { format name source { bytes } }"
_CONTENT = (
    f"text {_MEDIA} "
    f"toolResult {{ content {{ {_MEDIA} json text }} status toolUseId }} "
    "toolUse { input name toolUseId }"
)
_ITEM = f"id conversationId associatedUserMessageId aiContext role content {{ {_CONTENT} }}"


def list_messages(queries: HistoryQueries) -> str:
    """A page of a conversation's messages: ``$filter``, ``$limit``, and ``$nextToken`` but for the first."""
    return (
        f"query ListMessages($filter: {queries.list_input_type}!, $limit: Int, $nextToken: String) "
        f"{{ {queries.list_name}(filter: $filter, limit: $limit, nextToken: $nextToken) "
        f"{{ items {{ {_ITEM} }} nextToken }} }}"
    )


def get_message(queries: HistoryQueries) -> str:
    """One message: ``$id``."""
    return f"query GetMessage($id: {queries.get_input_type}!) {{ {queries.get_name}(id: $id) {{ {_ITEM} }} }}"


def publish_response(mutation: ResponseMutation) -> str:
    """A part of the answer, or errors: ``$input``."""
    selected = f" {{ {mutation.selection} }}" if mutation.selection else ""
    return (
        f"mutation PublishModelResponse($input: {mutation.input_type}!) {{ {mutation.name}(input: $input){selected} }}"
    )


def tool_query(tool: DataToolDefinition) -> str:
    """The query of a data tool: its arguments by their names."""
    declared = ", ".join(f"${name}: {of_type}" for name, of_type in tool.arguments.items())
    given = ", ".join(f"{name}: ${name}" for name in tool.arguments)
    selected = f" {{ {tool.selection} }}" if tool.selection else ""
    heading, call = (f"({declared})", f"({given})") if tool.arguments else ("", "")
    return f"query ToolQuery{heading} {{ {tool.query_name}{call}{selected} }}"

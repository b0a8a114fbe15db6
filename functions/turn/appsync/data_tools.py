"""Tools that are queries of the API (Amplify's data tools), asked in the name of the user."""

from collections.abc import Mapping, Sequence
from typing import Any

from conversations.model import Block
from conversations.tool_use import ToolError, ToolUse
from turn.appsync import documents
from turn.appsync.client import LONGEST_READ_S, GraphQLClient
from turn.appsync.errors import ApiUnavailableError, GraphQLError
from turn.appsync.event import DataToolDefinition

TIMEOUT_S = LONGEST_READ_S + 4
"""Beyond the time of the request, so that its own error is the one that the model is told."""


class DataTool:
    """Implements ``tool_use.Tool``."""

    def __init__(self, client: GraphQLClient, definition: DataToolDefinition) -> None:
        self._client = client
        self._definition = definition
        self._document = documents.tool_query(definition)

    @property
    def specification(self) -> Mapping[str, Any]:
        return self._definition.specification

    @property
    def timeout_s(self) -> float:
        return TIMEOUT_S

    def call(self, use: ToolUse) -> Sequence[Block]:
        """The answer's data. What the schema does not know of the input is left out, since it would be refused."""
        variables = {name: use.input[name] for name in self._definition.arguments if name in use.input}
        try:
            data = self._client.ask(self._document, variables, read_s=LONGEST_READ_S, within_s=LONGEST_READ_S)
        except ApiUnavailableError as error:
            raise ToolError("The API that this tool asks could not be reached.") from error
        except GraphQLError as error:
            raise ToolError(error.details or error.message) from error
        return [{"json": {"data": data}}]

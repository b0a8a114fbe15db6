"""Routes of the messages of a conversation, and of the history that a model would be sent."""

from collections.abc import Mapping, Sequence
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.metrics import Metrics, MetricUnit

from api import parameters
from api.memory import Memory
from api.routes import Routes, answer, json_answer, no_content
from api.strict_json import LARGEST_ESCAPED_BYTES
from api.wire import Shown, check_can_be_given_back, history_text, message_json
from conversations.access import read_head, read_message
from conversations.appending import LARGEST_BATCH, Appending, append
from conversations.arrange import Window
from conversations.changing import clear
from conversations.errors import InvalidRequestError
from conversations.history import read_history
from conversations.history_query import HistoryQuery
from conversations.model import Draft
from conversations.reading import Room, read_page
from conversations.tools import refuse_registered
from conversations.turn_options import MOST_INTERACTIONS, MOST_TOKENS

_ROUTE = "messages"


class MessageRoutes(Routes):
    """Append, page, read and clear messages; show the history."""

    def __init__(self, app: APIGatewayHttpResolver, memory: Memory, metrics: Metrics) -> None:
        super().__init__(app, memory)
        self._metrics = metrics
        app.post("/conversations/<conversation_id>/messages")(self.append)
        app.get("/conversations/<conversation_id>/messages")(self.page)
        app.delete("/conversations/<conversation_id>/messages")(self.clear)
        app.get("/conversations/<conversation_id>/messages/<message_id>")(self.get)
        app.get("/conversations/<conversation_id>/history")(self.history)

    def append(self, conversation_id: str) -> Response[str]:
        request = self.request()
        body = request.body
        local = parameters.local_id(_ROUTE, request.key)
        is_batch = "messages" in body
        drafts = _batch(body, local) if is_batch else [parameters.message_draft(body, local=local)]
        for place, draft in enumerate(drafts):
            field = f"messages[{place}].toolConfiguration" if is_batch else "toolConfiguration"
            refuse_registered(draft.tool_configuration, self.memory.tool_names, field=field)
        check_can_be_given_back(drafts)
        keyed = local if request.key is not None else None
        request_hash = parameters.request_hash(_ROUTE, body)
        asked = Appending(request.caller.scope, conversation_id, drafts, request_hash, keyed)
        messages = append(self.memory.store, self.memory.clock, asked).messages
        shown = [message_json(message) for message in messages]
        return answer(201, {"messages": shown} if is_batch else shown[0])

    def page(self, conversation_id: str) -> Response[str]:
        request = self.request("order", "limit", "cursor")
        order, limit = parameters.order(request.query), parameters.limit(request.query)
        head = read_head(
            self.memory.store, self.memory.clock, owner=request.caller.scope, conversation_id=conversation_id
        )
        shown = Shown()
        page = read_page(
            self.memory.store,
            head,
            order=order,
            limit=limit,
            cursor=request.query.get("cursor"),
            room=Room(shown.size, LARGEST_ESCAPED_BYTES),
        )
        self._count_repairs(page.repairs)
        return json_answer(200, shown.page(page))

    def get(self, conversation_id: str, message_id: str) -> Response[str]:
        request = self.request()
        _, message = read_message(
            self.memory.store,
            self.memory.clock,
            owner=request.caller.scope,
            conversation_id=conversation_id,
            message_id=message_id,
        )
        return answer(200, message_json(message))

    def clear(self, conversation_id: str) -> Response[str]:
        request = self.request()
        clear(self.memory.store, self.memory.clock, owner=request.caller.scope, conversation_id=conversation_id)
        return no_content()

    def history(self, conversation_id: str) -> Response[str]:
        request = self.request("currentMessageId", "maxMessages", "maxTokens", "recall")
        query = self._history_query(request.query)
        head = read_head(
            self.memory.store, self.memory.clock, owner=request.caller.scope, conversation_id=conversation_id
        )
        history = read_history(self.memory.store, head, query, self.memory.recall)
        self._count_repairs(history.repairs)
        return json_answer(200, history_text(history))

    def _history_query(self, query: Mapping[str, str]) -> HistoryQuery:
        return HistoryQuery(
            current_message_id=query.get("currentMessageId"),
            window=Window(
                max_messages=parameters.integer_parameter(query, "maxMessages", least=1, most=parameters.MOST_LIMIT),
                max_tokens=parameters.integer_parameter(query, "maxTokens", least=1, most=MOST_TOKENS),
            ),
            system_prompt=self.memory.system_prompt,
            limits=self.memory.limits,
            recall=parameters.integer_parameter(query, "recall", least=1, most=MOST_INTERACTIONS) or 0,
            tools=[tool.specification for tool in self.memory.tools],
        )

    def _count_repairs(self, repairs: int) -> None:
        if repairs:
            self._metrics.add_metric("FallbackReads", MetricUnit.Count, repairs)


def _batch(body: Mapping[str, Any], local: str) -> Sequence[Draft]:
    """``{messages: [...]}``; each derives its id from the request's and its place."""
    parameters.known_members(body, frozenset(("messages",)))
    messages = body["messages"]
    if not isinstance(messages, list) or not messages or len(messages) > LARGEST_BATCH:
        raise InvalidRequestError(f"messages must be a list of 1 to {LARGEST_BATCH} messages.", field="messages")
    drafts = []
    for place, message in enumerate(messages):
        if not isinstance(message, dict):
            raise InvalidRequestError(f"messages[{place}] must be an object.", field=f"messages[{place}]")
        own = f"{local}-{place}" if place else local
        drafts.append(parameters.message_draft(message, local=own, prefix=f"messages[{place}]."))
    return drafts

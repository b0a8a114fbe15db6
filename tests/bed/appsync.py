"""An AppSync API with one conversation route, on loopback: it checks every document against the schema.

What stands behind its fields is a `Messages`; what passes is on the record. It answers in AppSync's ways: newest page
first and ascending within it, `AWSJSON` as text, errors with an `errorType`.
"""

import json
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Protocol, Self

import graphql

TOKEN = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl"
USER_AGENT = "aws-amplify/6.6.0 md/amplify-graphql-conversation-transformer#1.1.16"
SELECTION = (
    "associatedUserMessageId contentBlockDeltaIndex contentBlockDoneAtIndex contentBlockIndex contentBlockText "
    "contentBlockToolUse { toolUseId name input } conversationId id stopReason owner errors { errorType message } p"
)
EXPIRED = {"errors": [{"errorType": "UnauthorizedException", "message": "Token has expired."}]}

Item = Mapping[str, Any]


class Messages(Protocol):
    """What stands behind the fields. Items are as GraphQL shows them, but that JSON need not be text yet."""

    def page(
        self, conversation_id: str, limit: int, next_token: str | None
    ) -> tuple[Sequence[Item | None], str | None]:
        """The newest page (or the one before it), ascending, and the token of the one before that."""

    def get(self, message_id: str) -> Item | None:
        """One message, consistently."""

    def answered(self, given: Mapping[str, Any]) -> None:
        """The input of a mutation that takes a part of an answer."""


@dataclass
class ListedMessages:
    """Messages that a test lists, and those that only the read by id finds."""

    items: Sequence[Item | None] = ()
    by_id: Mapping[str, Item] = field(default_factory=dict)

    def page(
        self, conversation_id: str, limit: int, next_token: str | None
    ) -> tuple[Sequence[Item | None], str | None]:
        end = int(next_token) if next_token else len(self.items)
        start = max(0, end - limit)
        return self.items[start:end], str(start) if start else None

    def get(self, message_id: str) -> Item | None:
        return self.by_id.get(message_id)

    def answered(self, given: Mapping[str, Any]) -> None:
        """What was answered is on the record."""


@dataclass(frozen=True)
class Request:
    """One request as it arrived."""

    operation: str
    document: str
    variables: Mapping[str, Any]
    headers: Mapping[str, str]
    size: int

    @property
    def input(self) -> Mapping[str, Any]:
        """What was published."""
        given: Mapping[str, Any] = self.variables["input"]
        return given


@dataclass(frozen=True)
class Fault:
    """What a request gets instead of an answer: this status and body, or a connection that breaks (status 0)."""

    status: int
    body: Any = None
    location: str | None = None


class AppSync:
    """The API. `faults` befall the next requests, one each; `None` among them lets one through."""

    def __init__(self) -> None:
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._lock = threading.Lock()
        self._schema = _schema()
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}/graphql"
        self.reset()

    def reset(self) -> None:
        self.messages: Messages = ListedMessages()
        self.requests: list[Request] = []
        self.faults: deque[Fault | None] = deque()
        self.otherwise: Fault | None = None
        self.latency_s = 0.0
        self.token = TOKEN

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def event(self, conversation_id: str, message_id: str, **members: Any) -> dict[str, Any]:
        """An event as AppSync's resolver sends it."""
        return {
            "conversationId": conversation_id,
            "currentMessageId": message_id,
            "responseMutation": {
                "name": "createAssistantResponseStreamChat",
                "inputTypeName": "CreateConversationMessageChatAssistantStreamingInput",
                "selectionSet": SELECTION,
            },
            "graphqlApiEndpoint": self.endpoint,
            "modelConfiguration": {"modelId": "anthropic.claude-3-haiku", "systemPrompt": "You are a helpful chatbot."},
            "request": {"headers": {"authorization": TOKEN, "x-amz-user-agent": USER_AGENT}},
            "messageHistoryQuery": {
                "getQueryName": "getConversationMessageChat",
                "getQueryInputTypeName": "ID",
                "listQueryName": "listConversationMessageChats",
                "listQueryInputTypeName": "ModelConversationMessageChatFilterInput",
            },
            "toolsConfiguration": {},
            "streamResponse": True,
            **members,
        }

    @property
    def published(self) -> list[Mapping[str, Any]]:
        """The inputs of the mutation that takes the answer."""
        with self._lock:
            return [request.input for request in self.requests if request.operation == "PublishModelResponse"]

    @property
    def errors(self) -> list[Mapping[str, Any]]:
        """The errors that the client was told."""
        return [error for given in self.published for error in given.get("errors", ())]

    @property
    def text(self) -> str:
        """The text that a client puts together of the pieces by their places."""
        pieces = {
            (given["contentBlockIndex"], given["contentBlockDeltaIndex"]): given["contentBlockText"]
            for given in self.published
            if "contentBlockText" in given
        }
        return "".join(pieces[place] for place in sorted(pieces))

    def answer(self, headers: Mapping[str, str], body: bytes) -> Fault:
        """Record a request, and say what it gets."""
        given = json.loads(body)
        document = graphql.parse(given["query"])
        (operation,) = document.definitions
        assert isinstance(operation, graphql.OperationDefinitionNode) and operation.name
        request = Request(operation.name.value, given["query"], given.get("variables") or {}, headers, len(body))
        with self._lock:
            self.requests.append(request)
            fault = self.faults.popleft() if self.faults else self.otherwise
        if self.latency_s:
            time.sleep(self.latency_s)
        if fault is not None:
            return fault
        if headers.get("authorization") != self.token:
            return Fault(401, EXPIRED)
        if problems := graphql.validate(self._schema, document):
            return Fault(400, {"errors": [_shown(problem, "BadRequest") for problem in problems]})
        result = graphql.execute_sync(
            self._schema, document, _Fields(self.messages), variable_values=dict(request.variables)
        )
        shown: dict[str, Any] = {"data": result.data}
        if result.errors:
            shown["errors"] = [_shown(error, "Unhandled") for error in result.errors]
        return Fault(200, shown)


class _Fields:
    """The root of the schema: each method is a field of it."""

    def __init__(self, messages: Messages) -> None:
        self._messages = messages

    def listConversationMessageChats(
        self,
        _: Any,
        filter: Any = None,  # noqa: A002 - named by the schema
        limit: int | None = None,
        nextToken: str | None = None,  # noqa: N803
    ) -> Any:
        items, token = self._messages.page(filter["conversationId"]["eq"], limit or 100, nextToken)
        return {"items": items, "nextToken": token}

    def getConversationMessageChat(self, _: Any, id: str) -> Any:  # noqa: A002
        return self._messages.get(id)

    def createAssistantResponseStreamChat(self, _: Any, input: Any) -> Any:  # noqa: A002
        self._messages.answered(input)
        use = (input.get("contentBlockToolUse") or {}).get("toolUse")
        return {**input, "id": f"{input['associatedUserMessageId']}#stream", "contentBlockToolUse": use, "p": "abc"}

    def createAssistantResponseChat(self, _: Any, input: Any) -> Any:  # noqa: A002
        self._messages.answered(input)
        return {**input, "id": "single"}

    def getTemperature(self, _: Any, city: str) -> Any:
        if city == "Atlantis":
            raise ValueError("There is no such city.")
        return {"value": len(city), "unit": "C"}

    def listTodos(self, _: Any) -> Any:
        return {"items": [{"id": "1", "content": "sleep"}], "nextToken": None}


def _schema() -> graphql.GraphQLSchema:
    schema = graphql.build_schema((Path(__file__).parent / "appsync_schema.graphql").read_text())
    scalar = schema.type_map["AWSJSON"]
    assert isinstance(scalar, graphql.GraphQLScalarType)
    scalar.serialize = _as_text  # type: ignore[method-assign]
    scalar.parse_value = json.loads  # type: ignore[method-assign,assignment]
    return schema


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _shown(error: graphql.GraphQLError, kind: str) -> dict[str, Any]:
    return {"errorType": kind, "message": error.message, "path": error.path}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, api: AppSync) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.api = api

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up in the middle of an answer is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # headers and body leave together
    server: _Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        answer = self.server.api.answer({name.lower(): value for name, value in self.headers.items()}, body)
        if answer.status == 0:
            self.close_connection = True
            return
        text = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        self.send_response(answer.status)
        self.send_header("content-type", "application/json;charset=UTF-8")
        self.send_header("content-length", str(len(text)))
        if answer.location is not None:
            self.send_header("location", answer.location)
        self.end_headers()
        self.wfile.write(text)
        self.wfile.flush()

    def log_message(self, *_: Any) -> None:
        """Silence: what passed is on the record."""

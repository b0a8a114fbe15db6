"""The real API without a gateway: events of the HTTP API go in, its answers come out, over the store of a test.

Every answer is held to the OpenAPI document.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO
from urllib.parse import urlencode

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics

from api.app import App
from api.identity import Auth
from api.memory import Memory
from api.searches import Searches
from conversations.clock import Clock
from conversations.errors import BusyError
from conversations.recall import SearchedRecall
from conversations.registration import RegisteredTool
from conversations.store import Store
from conversations.windows import Limits
from tests.bed.documented import Exchange, check_exchange


@dataclass(frozen=True)
class Answer:
    """An answer of the API."""

    status: int
    headers: Mapping[str, str]
    body: Any


class Invocations:
    """Takes the descriptors that would start turns; can be told to fail."""

    def __init__(self) -> None:
        self.descriptors: list[Mapping[str, Any]] = []
        self.is_down = False

    def invoke(self, descriptor: Mapping[str, Any]) -> None:
        if self.is_down:
            raise BusyError("down")
        self.descriptors.append(descriptor)


class _Context:
    aws_request_id = "request"


class Api:
    """Calls the API as one user."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        auth: Auth = "none",
        history_tokens: int = 100_000,
        model_id: str = "model",
        answer_tokens: int | None = None,
        tools: Sequence[RegisteredTool] = (),
        message_updated_time: bool = True,
        log: TextIO | None = None,
    ) -> None:
        self.store = store
        self.clock = clock
        self.invocations = Invocations()
        searches, limits = Searches(), Limits(history_tokens, model_id, answer_tokens)
        recall = SearchedRecall(clock, lambda: searches.messages)
        memory = Memory(store, clock, self.invocations, auth, searches, "", limits, tools, recall, message_updated_time)
        status = {"version": "test", "stage": "test", "region": "test"}
        self.app = App(memory, status, Logger(service="test", stream=log), Metrics("test", "test"))
        self.authorizer: dict[str, Any] = {}

    def as_user(self, subject: str, groups: str = "[]") -> None:
        """Call as this user from now on, as API Gateway's JWT authorizer says it."""
        self.authorizer = {"jwt": {"claims": {"sub": subject, "cognito:groups": groups}, "scopes": None}}

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        raw: str | None = None,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        text = raw if raw is not None else None if body is None else json.dumps(body)
        sent_headers = {name.lower(): value for name, value in (headers or {}).items()}
        sent_query = {name: str(value) for name, value in (query or {}).items()}
        answer = self.send(method, path, text, sent_query, sent_headers)
        check_exchange(
            Exchange(
                method=method,
                path=path,
                status=answer["statusCode"],
                answered=answer["body"],
                query=sent_query,
                headers=sent_headers,
                sent=text or "",
                answer_headers={name.lower(): value for name, value in answer["headers"].items()},
            )
        )
        return Answer(answer["statusCode"], answer["headers"], json.loads(answer["body"] or "null"))

    def send(
        self,
        method: str,
        path: str,
        text: str | None,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        *,
        is_base64: bool = False,
    ) -> dict[str, Any]:
        """What the function answers to the gateway's event of a request, held to nothing."""
        event = {
            "version": "2.0",
            "routeKey": "$default",
            "rawPath": path,
            "rawQueryString": urlencode(query),
            "headers": dict(headers),
            "queryStringParameters": dict(query) or None,
            "requestContext": {
                "http": {"method": method, "path": path},
                "requestId": "request",
                "stage": "$default",
                "authorizer": self.authorizer,
            },
            "body": text,
            "isBase64Encoded": is_base64,
        }
        return self.app.resolve(json.loads(json.dumps(event)), _Context())

    def create(self, **members: Any) -> str:
        """A new conversation's id."""
        created = self.call("POST", "/conversations", members)
        assert created.status == 201, created
        return str(created.body["id"])

    def say(self, conversation_id: str, text: str, role: str = "user", **members: Any) -> dict[str, Any]:
        """Append one message of text."""
        body = {"role": role, "content": [{"text": text}], **members}
        appended = self.call("POST", f"/conversations/{conversation_id}/messages", body)
        assert appended.status == 201, appended
        message: dict[str, Any] = appended.body
        return message

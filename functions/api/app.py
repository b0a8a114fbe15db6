"""The API as one resolver: routes, and what an error becomes."""

import re
from collections.abc import Mapping
from typing import Any

from api.conversation_routes import ConversationRoutes
from api.errors import error_body, internal_body, status_of
from api.identity import Auth, without_service
from api.memory import Memory
from api.message_routes import MessageRoutes
from api.router import Answer, Event, Router
from api.routes import answer, json_answer
from api.search_routes import SearchRoutes
from api.turn_routes import TurnRoutes
from conversations.errors import NotFoundError, ServiceError
from conversations.logs import Logger
from conversations.metrics import Metrics
from conversations.quiet import told_of

RETRY_AFTER_S = 1
_NOT_OF_IDS = re.compile(r"[^A-Za-z0-9_.~/-]+")
_LONGEST_PATH = 512


class App:
    """The whole API: our own routes, and the dialect of OpenSearch, which has rules of its own for paths and methods.

    ``status`` is what ``GET /status`` says.
    """

    def __init__(self, memory: Memory, status: Mapping[str, str], logger: Logger, metrics: Metrics) -> None:
        self.own = _own_routes(memory, status, metrics)
        self._memory = memory
        self._logger = logger

    def resolve(self, event: Event) -> Answer:
        """The answer to an event of the HTTP API (payload version 2.0)."""
        path = str(event.get("rawPath", ""))
        if is_of_opensearch(path):
            from api.opensearch.dialect import respond  # noqa: PLC0415 - a cold start does not pay for it

            return respond(event, self._memory, self._logger)
        try:
            return self._respond(event, without_service(path))
        except ServiceError as error:
            return self._known(error, event)
        except Exception as error:
            self._logger.error("fault", extra=told_of(error))
            return answer(500, internal_body(_request_id(event)))

    def _respond(self, event: Event, path: str) -> Answer:
        found = self.own.find(event["requestContext"]["http"]["method"], path)
        if found is None:
            raise NotFoundError("There is no such route.")
        handler, ids = found
        return handler(event, **ids)

    def _known(self, error: ServiceError, event: Event) -> Answer:
        status = status_of(error)
        extra = {"code": error.code, "status": status}  # its field may be the caller's word
        self._logger.info("refused", extra=extra)
        headers = {"Retry-After": str(RETRY_AFTER_S)} if status == 503 else {}
        return answer(status, error_body(error, _request_id(event)), headers)


def is_of_opensearch(path: str) -> bool:
    """The root, and what begins as nothing of ours does; also under ``/service``."""
    path = without_service(path)
    return path in ("", "/") or path.startswith("/_")


def _own_routes(memory: Memory, status: Mapping[str, str], metrics: Metrics) -> Router:
    router = Router()
    ConversationRoutes(router, memory)
    MessageRoutes(router, memory, metrics)
    TurnRoutes(router, memory, metrics)
    SearchRoutes(router, memory)
    router.add("GET", "/status", lambda _: answer(200, status))
    router.add("GET", "/openapi.json", lambda _: _document(memory.auth))
    return router


def _document(auth: Auth) -> Answer:
    """This API as OpenAPI; public, so that tools can read it."""
    from api.openapi.document import document_text  # noqa: PLC0415 - a cold start does not pay for it

    return json_answer(200, document_text(auth))


def _request_id(event: Event) -> str:
    return str(event["requestContext"].get("requestId"))


def log_keys(event: Mapping[str, Any]) -> dict[str, str]:
    """What of a request is logged: method and path, and of that what ids are made of."""
    http = event.get("requestContext", {}).get("http", {})
    path = _NOT_OF_IDS.sub("?", str(event.get("rawPath")))
    return {"method": str(http.get("method")), "path": path[:_LONGEST_PATH]}

"""The API as one resolver: routes, and what an error becomes."""

import re
from collections.abc import Mapping
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError as NoSuchRouteError
from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics

from api.conversation_routes import ConversationRoutes
from api.errors import error_body, internal_body, status_of
from api.identity import SERVICE_PREFIX, Auth, without_service
from api.memory import Memory
from api.message_routes import MessageRoutes
from api.routes import JSON, answer
from api.search_routes import SearchRoutes
from api.turn_routes import TurnRoutes
from conversations.errors import NotFoundError, ServiceError
from conversations.quiet import told_of

RETRY_AFTER_S = 1
_NOT_OF_IDS = re.compile(r"[^A-Za-z0-9_.~/-]+")
_LONGEST_PATH = 512


class App:
    """The whole API: our own routes, and the dialect of OpenSearch, which has rules of its own for paths and methods.

    ``status`` is what ``GET /status`` says.
    """

    def __init__(self, memory: Memory, status: Mapping[str, str], logger: Logger, metrics: Metrics) -> None:
        self.own = _own_routes(memory, status, logger, metrics)
        self._memory = memory
        self._logger = logger

    def resolve(self, event: dict[str, Any], context: Any) -> dict[str, Any]:
        """The answer to an event of the HTTP API (payload version 2.0)."""
        if is_of_opensearch(str(event.get("rawPath", ""))):
            from api.opensearch.dialect import respond  # noqa: PLC0415 - a cold start does not pay for it

            return respond(event, self._memory, self._logger)
        return self.own.resolve(event, context)


def is_of_opensearch(path: str) -> bool:
    """The root, and what begins as nothing of ours does; also under ``/service``."""
    path = without_service(path)
    return path in ("", "/") or path.startswith("/_")


def _own_routes(memory: Memory, status: Mapping[str, str], logger: Logger, metrics: Metrics) -> APIGatewayHttpResolver:
    app = APIGatewayHttpResolver(strip_prefixes=[SERVICE_PREFIX])
    ConversationRoutes(app, memory)
    MessageRoutes(app, memory, metrics)
    TurnRoutes(app, memory, metrics)
    SearchRoutes(app, memory)
    app.get("/status")(lambda: answer(200, status))
    app.get("/openapi.json")(lambda: _document(memory.auth))
    _answer_errors(app, logger)
    return app


def _document(auth: Auth) -> Response[str]:
    """This API as OpenAPI; public, so that tools can read it."""
    from api.openapi.document import document_text  # noqa: PLC0415 - a cold start does not pay for it

    return Response(status_code=200, content_type=JSON, body=document_text(auth))


def _answer_errors(app: APIGatewayHttpResolver, logger: Logger) -> None:
    def request_id() -> str:
        return str(app.current_event.request_context.request_id)

    def known(error: ServiceError) -> Response[str]:
        status = status_of(error)
        logger.info("refused", extra={"code": error.code, "status": status})  # its field may be the caller's word
        headers = {"Retry-After": str(RETRY_AFTER_S)} if status == 503 else {}
        return answer(status, error_body(error, request_id()), headers)

    def unrouted(_: NoSuchRouteError) -> Response[str]:
        return answer(404, error_body(NotFoundError("There is no such route."), request_id()))

    def fault(error: Exception) -> Response[str]:
        logger.error("fault", extra=told_of(error))
        return answer(500, internal_body(request_id()))

    app.exception_handler(ServiceError)(known)
    app.exception_handler(Exception)(fault)
    app.not_found(unrouted)


def log_keys(event: Mapping[str, Any]) -> dict[str, str]:
    """What of a request is logged: method and path, and of that what ids are made of."""
    http = event.get("requestContext", {}).get("http", {})
    path = _NOT_OF_IDS.sub("?", str(event.get("rawPath")))
    return {"method": str(http.get("method")), "path": path[:_LONGEST_PATH]}

"""One request of this dialect from the event to the answer, in the order in which OpenSearch finds fault with it."""

from collections.abc import Mapping
from typing import Any

from aws_lambda_powertools.logging import Logger

from api.identity import Caller, identify, without_service
from api.memory import Memory
from api.opensearch import rendering
from api.opensearch.errors import DialectError, internal, of_service
from api.opensearch.rendering import Shown
from api.opensearch.requests import Request
from api.opensearch.routes import find
from conversations.errors import ServiceError
from conversations.quiet import told_of


def respond(event: Mapping[str, Any], memory: Memory, logger: Logger) -> dict[str, Any]:
    """The answer to an event of the HTTP API (payload version 2.0), whatever goes wrong."""
    shown = Shown()
    try:
        caller = identify(event, memory.auth)
        shown = Shown.of(event.get("queryStringParameters") or {})
        response = rendering.answer(_body(_request(event, memory, caller)), shown)
    except DialectError as refused:
        response = rendering.error(_logged(refused, logger), shown)
    except ServiceError as error:
        response = rendering.error(_logged(of_service(error), logger), shown)
    except Exception as error:
        logger.error("fault", extra=told_of(error))
        response = rendering.error(internal(), shown)
    is_head = event["requestContext"]["http"]["method"] == "HEAD"
    return rendering.headers_only(response) if is_head else response


def _body(request: Request) -> Mapping[str, Any]:
    prepare = find(request)
    request.check_content_type()
    action = prepare()
    request.check_all_read()
    return action()


def _request(event: Mapping[str, Any], memory: Memory, caller: Caller) -> Request:
    path = str(event.get("rawPath", ""))
    query = str(event.get("rawQueryString") or "")
    own = without_service(path)
    return Request(
        memory=memory,
        caller=caller,
        method=str(event["requestContext"]["http"]["method"]),
        path=own,
        uri=f"{own}?{query}" if query else own,
        query=event.get("queryStringParameters") or {},
        event=event,
    )


def _logged(refused: DialectError, logger: Logger) -> DialectError:
    error = (refused.body or {}).get("error")
    code = error["type"] if isinstance(error, dict) else None
    logger.info("refused", extra={"code": code, "status": refused.status})
    return refused

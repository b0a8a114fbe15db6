"""Holds what goes over the wire to the OpenAPI document: every answer of a test, and every request that was taken.

A status, a header, a member or a code that the document does not know for that operation fails the test in which it was
met. So does a request which the API took although the document forbids it.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import httpx
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from api.app import is_of_opensearch
from api.openapi.document import document

_JSON = "application/json"
_PREFLIGHT = "OPTIONS"  # the gateway's own


class UndocumentedError(AssertionError):
    """What was met is not what the document says."""


@dataclass(frozen=True)
class Exchange:
    """A request and its answer. Names of headers are in lower case. ``by_gateway``: one stands before the function."""

    method: str
    path: str
    status: int
    answered: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    sent: str = ""
    answer_headers: Mapping[str, str] = field(default_factory=dict)
    by_gateway: bool = False


def check_exchange(exchange: Exchange) -> None:
    """Raises ``UndocumentedError`` with all that is wrong."""
    operation = operation_of(exchange)
    found = [*(operation.complaints_of_answer(exchange) if operation else _complaints_of_unrouted(exchange))]
    found += operation.complaints_of_request(exchange) if operation and exchange.status < 300 else ()
    if found:
        where = f"{exchange.method} {exchange.path[:200]} -> {exchange.status}"
        raise UndocumentedError("\n".join([where, *found, f"answered: {exchange.answered[:1000]}"]))


def check_response(response: httpx.Response) -> None:
    """The same as an event hook of httpx. OpenSearch's dialect is documented elsewhere."""
    if response.request.method == _PREFLIGHT or is_of_opensearch(response.url.path):
        return
    response.read()
    check_exchange(
        Exchange(
            method=response.request.method,
            path=response.url.path,
            status=response.status_code,
            answered=response.text,
            query=dict(response.url.params),
            headers=dict(response.request.headers),
            sent=response.request.content.decode(errors="replace"),
            answer_headers=dict(response.headers),
            by_gateway=True,
        )
    )


@cache
def resolved_document() -> dict[str, Any]:
    """The document with every reference replaced by what it names (no schema holds itself)."""
    whole = document("jwt")

    def resolved(part: Any) -> Any:
        if isinstance(part, list):
            return [resolved(member) for member in part]
        if not isinstance(part, dict):
            return part
        if isinstance(reference := part.get("$ref"), str):
            target: Any = whole
            for step in reference.removeprefix("#/").split("/"):
                target = target[step]
            return resolved(target)
        return {name: resolved(member) for name, member in part.items()}

    found: dict[str, Any] = resolved(whole)
    return found


class Operation:
    """One operation of the document, with its validators compiled once."""

    def __init__(self, method: str, path: str, document: Mapping[str, Any]) -> None:
        self.method = method
        self.path = path
        self.document = document
        self._answers: dict[int, Draft202012Validator] = {}

    @cached_property
    def expression(self) -> re.Pattern[str]:
        """What the paths of this operation look like."""
        return re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(self.path)))

    @cached_property
    def body(self) -> Draft202012Validator | None:
        """The validator of the request's body, if it has one."""
        content = self.document.get("requestBody")
        return Draft202012Validator(content["content"][_JSON]["schema"]) if content else None

    @cached_property
    def _parameters(self) -> dict[tuple[str, str], Draft202012Validator]:
        declared = self.document.get("parameters", ())
        return {(p["in"], p["name"]): Draft202012Validator(p["schema"]) for p in declared}

    def complaints_of_answer(self, exchange: Exchange) -> Iterator[str]:
        response = self.document["responses"].get(str(exchange.status))
        if response is None:
            yield "the status is not documented"
        elif "content" in response:
            yield from self._complaints_of_content(exchange, response)
        elif exchange.answered:
            yield "there is a body"

    def _complaints_of_content(self, exchange: Exchange, response: Mapping[str, Any]) -> Iterator[str]:
        media_type = exchange.answer_headers.get("content-type", "").partition(";")[0]
        if media_type != _JSON:
            yield f"the content type is {media_type!r}"
            return
        body = json.loads(exchange.answered)
        yield from _complaints(self._answer(exchange.status, response), body, "the answer")
        if exchange.status < 400 or "error" in body:
            yield from _missing_headers(response, exchange)
        elif not exchange.by_gateway:
            yield "the function answers as if it were the gateway"

    def _answer(self, status: int, response: Mapping[str, Any]) -> Draft202012Validator:
        if status not in self._answers:
            self._answers[status] = Draft202012Validator(response["content"][_JSON]["schema"])
        return self._answers[status]

    def complaints_of_request(self, exchange: Exchange) -> Iterator[str]:
        for name in exchange.query:
            if ("query", name) not in self._parameters:
                yield f"the parameter {name} is not documented"
        sent = {"query": exchange.query, "header": exchange.headers}
        for (place, name), validator in self._parameters.items():
            text = sent.get(place, {}).get(name.lower() if place == "header" else name)
            if text is not None:
                yield from _complaints(validator, _as_typed(text, validator.schema), name)
        if self.body is not None and (exchange.sent.strip() or self.document["requestBody"]["required"]):
            yield from _complaints(self.body, json.loads(exchange.sent), "the request")


def operation(method: str, path: str) -> Operation:
    """The operation of a path of the document."""
    return _operations()[method, path]


def operation_of(exchange: Exchange) -> Operation | None:
    """The operation that an exchange is of, by either server; what is literal comes before what has parameters."""
    path = exchange.path
    for server in resolved_document()["servers"][1:]:
        path = path.removeprefix(server["url"])
    of_method = (found for found in _operations().values() if found.method == exchange.method)
    matching = [found for found in of_method if found.expression.fullmatch(path)]
    return min(matching, key=lambda found: "{" in found.path, default=None)


@cache
def _operations() -> dict[tuple[str, str], Operation]:
    found = [
        Operation(method.upper(), path, described)
        for path, methods in resolved_document()["paths"].items()
        for method, described in methods.items()
    ]
    return {(operation.method, operation.path): operation for operation in found}


@cache
def _of_unrouted(status: int) -> Draft202012Validator | None:
    """What a request gets for which there is no route, of the function or, before it comes to that, of the gateway."""
    name = {401: "Unauthorized", 403: "Gateway403", 404: "NotFound"}.get(status)
    if name is None:
        return None
    return Draft202012Validator(resolved_document()["components"]["responses"][name]["content"][_JSON]["schema"])


def _complaints_of_unrouted(exchange: Exchange) -> Iterator[str]:
    validator = _of_unrouted(exchange.status)
    if validator is None:
        yield "the route is not documented"
    elif exchange.answered:
        yield from _complaints(validator, json.loads(exchange.answered), "the answer")


def _missing_headers(response: Mapping[str, Any], exchange: Exchange) -> Iterator[str]:
    for name, header in response.get("headers", {}).items():
        value = exchange.answer_headers.get(name.lower())
        if value is None:
            yield f"the header {name} is missing"
        else:
            yield from _complaints(Draft202012Validator(header["schema"]), _as_typed(value, header["schema"]), name)


def _as_typed(text: str, schema: Any) -> Any:
    is_number = schema.get("type") == "integer" and re.fullmatch("-?[0-9]+", text)
    return int(text) if is_number else text


def _complaints(validator: Draft202012Validator, value: Any, what: str) -> list[str]:
    error = best_match(validator.iter_errors(value))
    return [f"{what} at {error.json_path}: {error.message[:500]}"] if error else []

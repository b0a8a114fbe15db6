"""The OpenAPI document: valid, of exactly the routes there are, closed, and made only when it is asked for."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, cast

import pytest
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver
from openapi_spec_validator import OpenAPIV31SpecValidator

import api.errors
import conversations.errors
from api.errors import status_of
from api.identity import Auth
from api.openapi.content import CONTENT_SCHEMAS
from api.openapi.document import document
from conversations.clock import SystemClock
from conversations.errors import ServiceError
from tests.bed.documented import operation, resolved_document
from tests.bed.in_process import Api
from tests.unit.test_architecture import FUNCTIONS

AUTHS: list[Auth] = ["jwt", "none"]
OPEN = {*CONTENT_SCHEMAS, "TokenUsage", "Document"}  # shaped by others, who may add to them


def _api(auth: Auth) -> Api:
    """Without a store: nothing here may need it."""
    return Api(cast(Any, None), SystemClock(), auth=auth)


def _routes(app: APIGatewayHttpResolver) -> set[tuple[str, str]]:
    """Method and path of every route, with the parameters' names as the document writes them."""
    return {
        (route.method.lower(), re.sub(r"<(\w+)>", lambda name: f"{{{_camel_case(name[1])}}}", route.path))
        for route in (*app._static_routes, *app._dynamic_routes)
    }


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _schemas(schema: Any) -> Iterator[dict[str, Any]]:
    """All schemas within one."""
    if isinstance(schema, dict):
        yield schema
        for member in schema.values():
            yield from _schemas(member)
    elif isinstance(schema, list):
        for member in schema:
            yield from _schemas(member)


@pytest.mark.parametrize("auth", AUTHS)
def test_it_is_valid_openapi(auth: Auth) -> None:
    assert document(auth)["openapi"] == "3.1.0"
    OpenAPIV31SpecValidator(document(auth)).validate()


@pytest.mark.parametrize("auth", AUTHS)
def test_everybody_is_answered_with_the_document_of_the_deployment(auth: Auth) -> None:
    anybody, somebody = _api(auth), _api(auth)
    somebody.as_user("alice")

    for api_of in (anybody, somebody):
        answer = api_of.call("GET", "/openapi.json")
        assert (answer.status, answer.body) == (200, document(auth))


def test_it_says_whether_a_token_is_needed() -> None:
    assert [document(auth)["security"] for auth in AUTHS] == [
        [{"token": []}, {"signature": []}],
        [{}, {"signature": []}],
    ]
    is_public = {
        path: "security" in of for path, methods in document("jwt")["paths"].items() for of in methods.values()
    }
    assert {path for path, public in is_public.items() if public} == {"/status", "/openapi.json"}


def test_it_has_exactly_the_routes_that_are_registered() -> None:
    documented = {(method, path) for path, methods in document("jwt")["paths"].items() for method in methods}

    assert documented == _routes(_api("none").app.own)


def test_every_post_takes_an_idempotency_key() -> None:
    for path, methods in resolved_document()["paths"].items():
        for method, described in methods.items():
            names = {parameter["name"] for parameter in described.get("parameters", ())}
            assert ("Idempotency-Key" in names) == (method == "post"), (method, path)


def test_every_schema_of_ours_is_closed() -> None:
    for name, schema in document("jwt")["components"]["schemas"].items():
        for part in _schemas(schema):
            if "object" in part.get("type", ()) and "properties" in part and name not in OPEN:
                assert part.get("additionalProperties") is False, (name, part)


def test_every_code_that_callers_may_see_is_documented() -> None:
    kinds = [kind for module in (api.errors, conversations.errors) for kind in vars(module).values()]
    errors = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, ServiceError)]
    seen = {kind.code for kind in errors if status_of(kind("")) != 500} | {"Internal"}

    codes = document("jwt")["components"]["schemas"]["Error"]["properties"]["error"]["properties"]["code"]["enum"]
    assert set(codes) == seen


def test_every_body_has_an_example_that_it_allows() -> None:
    for path, methods in resolved_document()["paths"].items():
        for method, described in methods.items():
            if "requestBody" in described:
                validator = operation(method.upper(), path).body
                assert validator is not None
                validator.validate(described["requestBody"]["content"]["application/json"]["example"])


def test_a_cold_start_does_not_load_it() -> None:
    script = "import sys, api.app; print(json.dumps([m for m in sys.modules if m.startswith('api')]))"
    command = [sys.executable, "-c", f"import json; {script}"]
    loaded = subprocess.run(command, cwd=FUNCTIONS, capture_output=True, check=True, text=True).stdout

    assert "api.turn_routes" in json.loads(loaded)
    assert [name for name in json.loads(loaded) if name.startswith("api.openapi")] == []

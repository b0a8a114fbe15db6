"""The document, put together from its tables: operations, schemas, errors."""

import re
from collections import defaultdict
from functools import cache
from typing import Any

from api.identity import OWNER_HEADER, SERVICE_PREFIX, Auth
from api.openapi.content import CONTENT_SCHEMAS, schema_ref
from api.openapi.errors import error_answers, error_schemas
from api.openapi.operations import OPERATIONS, Body, Operation, Success
from api.openapi.other_answers import OTHER_ANSWER_SCHEMAS
from api.openapi.parameters import PARAMETERS
from api.openapi.schemas import ANSWER_SCHEMAS, REQUEST_SCHEMAS
from api.routes import JSON
from api.strict_json import DEEPEST, LARGEST_ESCAPED_BYTES
from conversations import VERSION
from conversations.codec import to_json

_TOKEN, _SIGNATURE = "token", "signature"
_IN_PATH = re.compile(r"\{(\w+)\}")
_DESCRIPTION = f"""\
Conversations as strict chains of messages, and answers of a model.

Ids and cursors are opaque. A member or a parameter that means nothing is refused. A body has at most \
{LARGEST_ESCAPED_BYTES} bytes as an escaped JSON string and {DEEPEST} levels; numbers are those of double precision. \
What is missing, deleted, expired or somebody else's looks alike.

Services of the account call the same paths under `{SERVICE_PREFIX}`, signed with SigV4 (service `execute-api`), and \
name the owner for whom they act in the header `{OWNER_HEADER}`."""


@cache
def document_text(auth: Auth) -> str:
    """The document as JSON, made once in a process."""
    return to_json(document(auth))


def document(auth: Auth) -> dict[str, Any]:
    """The OpenAPI document of a deployment that was made with this ``auth``."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Conversation Memory",
            "version": VERSION,
            "description": _DESCRIPTION,
            "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [
            {"url": "/", "description": "For users."},
            {"url": SERVICE_PREFIX, "description": "For services of the account, signed with SigV4."},
        ],
        "security": [{} if auth == "none" else {_TOKEN: []}, {_SIGNATURE: []}],
        "paths": _paths(),
        "components": {
            "schemas": CONTENT_SCHEMAS | REQUEST_SCHEMAS | ANSWER_SCHEMAS | OTHER_ANSWER_SCHEMAS | error_schemas(),
            "parameters": PARAMETERS,
            "headers": {"Retry-After": _RETRY_AFTER},
            "responses": {
                answer.name: answer.as_response() for operation in OPERATIONS for answer in error_answers(operation)
            },
            "securitySchemes": _SECURITY_SCHEMES,
        },
    }


def _paths() -> dict[str, dict[str, Any]]:
    paths: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for operation in OPERATIONS:
        paths[operation.path][operation.method] = _operation(operation)
    return dict(paths)


def _operation(operation: Operation) -> dict[str, Any]:
    answers = {str(success.status): _success(success) for success in operation.successes}
    answers |= {
        str(answer.status): {"$ref": f"#/components/responses/{answer.name}"} for answer in error_answers(operation)
    }
    optional: dict[str, Any] = {
        "parameters": [{"$ref": f"#/components/parameters/{name}"} for name in _parameter_names(operation)],
        "requestBody": _request_body(operation.body) if operation.body else None,
    }
    return {
        "operationId": operation.name,
        "summary": operation.summary,
        **{name: value for name, value in optional.items() if value},
        "responses": answers,
        **({"security": []} if operation.is_public else {}),
    }


def _parameter_names(operation: Operation) -> list[str]:
    names = [*_IN_PATH.findall(operation.path), *operation.parameters]
    names += ["Idempotency-Key"] if operation.method == "post" else []
    return names if operation.is_public else [*names, OWNER_HEADER]


def _success(success: Success) -> dict[str, Any]:
    content = {"content": {JSON: {"schema": schema_ref(success.schema)}}} if success.schema else {}
    return {"description": success.description, **content}


def _request_body(body: Body) -> dict[str, Any]:
    content = {"schema": schema_ref(body.schema), "example": body.example}
    return {"required": body.is_required, "content": {JSON: content}}


_RETRY_AFTER = {
    "description": "In how many seconds to try again; not of the gateway's own answers.",
    "schema": {"type": "integer", "minimum": 1},
}
_SECURITY_SCHEMES = {
    _TOKEN: {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "A user's token. The claim `sub` is the owner, the group `admin` is that of administrators.",
    },
    _SIGNATURE: {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": f"AWS Signature Version 4, service `execute-api`, under `{SERVICE_PREFIX}` only.",
        "x-amazon-apigateway-authtype": "awsSigv4",
    },
}

"""The bodies of requests, read as OpenSearch's handlers read them.

Where upstream would answer 500, or keep a record that it can never read again, the answer is 400 and nothing is kept.
"""

from json import JSONDecodeError
from typing import Any, NoReturn

from api.opensearch.errors import DialectError, failure, illegal_argument, parse_error, parsing_error
from api.opensearch.requests import Request
from api.strict_json import read_value
from conversations.amending import InteractionChange
from conversations.errors import InvalidRequestError
from conversations.interactions import NewInteraction
from conversations.model import About
from conversations.traces import NewTrace

Body = dict[str, Any]
_TEXTS = ("input", "prompt_template", "response", "origin")
_INT32 = 2**31
_JAVA_CLASSES = {
    str: "java.lang.String",
    bool: "java.lang.Boolean",
    int: "java.lang.Integer",
    float: "java.lang.Double",
    list: "java.util.ArrayList",
    dict: "java.util.HashMap",
}
_NOTHING_SAID = (
    "At least one of the following parameters must be non-empty: "
    "input, prompt_template, response, origin, additional_info"
)


class Written(float):
    """A number with a fraction or an exponent, which knows how it was written."""

    text: str

    def __new__(cls, text: str) -> "Written":
        number = super().__new__(cls, text)
        number.text = text
        return number


# Memories


def new_memory(request: Request) -> About:
    """``{name?, application_type?, additional_info?}``; without a name all of it is dropped, as upstream does it."""
    body = _map(request)
    name, application_type = (_cast(body, member, str) for member in ("name", "application_type"))
    additional_info = _cast(body, "additional_info", dict)
    if name is None:
        return About()
    return About(
        name=name if name.strip() else None,
        metadata=additional_info or {},
        application_type=application_type if application_type and application_type.strip() else None,
    )


def name_of_first_generation(request: Request) -> About:
    """``{name?}``"""
    name = _cast(_map(request), "name", str)
    return About(name=name if name and name.strip() else None)


def memory_change(request: Request) -> Body:
    """What a change of a memory may hold: ``{name?, additional_info?}``."""
    body = _object(request, empty="Failed to update conversation: Request body is empty")
    change = {member: body[member] for member in ("name", "additional_info") if member in body}
    if not isinstance(change.get("name", ""), str):
        raise illegal_argument("[name] must be a string")
    if not isinstance(change.get("additional_info", {}), dict):
        raise _no_object("additional_info")
    return change


def _map(request: Request) -> Body:
    """The body of a new memory: what is no object counts as an empty one."""
    text = request.body() if request.has_body else ""
    if not text.strip():
        return {}
    try:
        body = read_value(text)
    except InvalidRequestError as error:
        raise parse_error(error.message) from error
    return body if isinstance(body, dict) else {}


def _cast(body: Body, member: str, wanted: type) -> Any:
    value = body.get(member)
    if value is None or isinstance(value, wanted):
        return value
    needed = "java.util.Map" if wanted is dict else _JAVA_CLASSES[wanted]
    raise parse_error(f"[{member}]: class {_JAVA_CLASSES[type(value)]} cannot be cast to class {needed}")


# Messages


def new_message(request: Request) -> NewInteraction | NewTrace:
    """``{input?, prompt_template?, response?, origin?, additional_info?, parent_message_id?, trace_number?}``

    With the id of a parent and a number it is a trace; one of them alone is dropped.
    """
    body = _object(request, empty="request body is required")
    texts = {member: _text(body, member) for member in _TEXTS}
    additional_info = _stringified(body.get("additional_info", {}))
    parent, number = _text(body, "parent_message_id"), _trace_number(body)
    if not any(text.strip() for text in texts.values() if text) and not additional_info:
        raise illegal_argument(_NOTHING_SAID)
    if parent is None or number is None:
        return NewInteraction(**texts, additional_info=additional_info)
    return NewTrace(parent, number, **texts, additional_info=additional_info)


def first_generation_interaction(request: Request) -> NewInteraction:
    """The same of 2.10: ``additional_info`` is text, and nothing at all may be said."""
    body = _object(request, empty="request body is required")
    texts = {member: _text(body, member) for member in _TEXTS}
    told = _text(body, "additional_info")
    return NewInteraction(**texts, additional_info={"additional_info": told} if told else {})


def message_change(request: Request) -> InteractionChange:
    """What a change of a message may hold: ``{additional_info?, response?}``."""
    body = _object(request, empty="Failed to update interaction: Request body is empty")
    additional_info = body.get("additional_info", {})
    if not isinstance(additional_info, dict):
        raise _no_object("additional_info")
    if not isinstance(body.get("response", ""), str):
        raise illegal_argument("[response] must be a string")
    return InteractionChange(additional_info=additional_info, response=body.get("response"))


def _text(body: Body, member: str) -> str | None:
    """A text; numbers and booleans count as what was written."""
    if member not in body:
        return None
    value = body[member]
    if value is None or isinstance(value, dict | list):
        raise illegal_argument(f"[{member}]: Can't get text on a {_token(value)}")
    return _as_text(value)


def _as_text(value: object) -> str:
    if isinstance(value, Written):
        return value.text
    return str(value).lower() if isinstance(value, bool) else str(value)


def _stringified(value: object) -> dict[str, str]:
    """The additional information of a new message: its values become texts, and what is no object is nothing."""
    if isinstance(value, list):
        raise illegal_argument("[additional_info]: Can't get text on a START_ARRAY")
    if not isinstance(value, dict):
        return {}
    return {name: _text(value, name) or "" for name in value}


def _trace_number(body: Body) -> int | None:
    """A whole number of 32 bits, or ``None`` if there is none."""
    if "trace_number" not in body:
        return None
    value = body["trace_number"]
    if isinstance(value, str):
        raise illegal_argument("Integer value passed as String")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise illegal_argument(f"Current token ({_token(value)}) not numeric, can not use numeric value accessors")
    if value != value // 1:
        raise illegal_argument(f"{value} cannot be converted to Integer without data loss")
    if not -_INT32 <= value < _INT32:
        raise failure(
            400,
            "input_coercion_exception",
            f"Numeric value ({str(value)[:40]}) out of range of int (-2147483648 - 2147483647)",
        )
    return int(value)


# JSON


def search_body(text: str) -> Body:
    """The object of a search.

    Raises:
        DialectError: it is none.
    """
    body = _value(text)
    if not isinstance(body, dict):
        raise parsing_error(f"Expected [START_OBJECT] but found [{_token(body)}]")
    return body


def _object(request: Request, *, empty: str) -> Body:
    if not request.has_body:
        raise parse_error(empty)
    text = request.body()
    body = _value(text) if text.strip() else None
    if not isinstance(body, dict):
        found = _token(body) if text.strip() else "null"
        raise parsing_error(f"Failed to parse object: expecting token of type [START_OBJECT] but found [{found}]")
    return body


def _value(text: str) -> Any:
    try:
        return read_value(text, parse_float=Written)
    except InvalidRequestError as error:
        _refuse(error)


def _refuse(error: InvalidRequestError) -> NoReturn:
    """What is wrong with JSON, under the name that Jackson has for it."""
    cause = error.__cause__
    if not isinstance(cause, JSONDecodeError):
        raise failure(400, "json_parse_exception", error.message) from error
    is_cut = cause.pos >= len(cause.doc.rstrip()) or cause.msg.startswith("Unterminated string")
    raise failure(400, "json_e_o_f_exception" if is_cut else "json_parse_exception", error.message) from error


def _no_object(member: str) -> DialectError:
    return failure(
        400,
        "mapper_parsing_exception",
        f"failed to parse field [{member}] of type [flat_object]",
    )


def _token(value: object) -> str:
    """What Jackson calls the token that a value begins with."""
    if isinstance(value, bool):
        return "VALUE_TRUE" if value else "VALUE_FALSE"
    kinds = {str: "VALUE_STRING", int: "VALUE_NUMBER", dict: "START_OBJECT", list: "START_ARRAY"}
    return "VALUE_NULL" if value is None else kinds.get(type(value), "VALUE_NUMBER")

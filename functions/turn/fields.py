"""Members of an event by their kinds; each is refused with an error that names it."""

import re
from collections.abc import Mapping
from typing import Any

from conversations import turn_options
from conversations.errors import InvalidRequestError
from conversations.history_query import DEFAULT_LIST_LIMIT
from conversations.language_model import Features

LONGEST_TEXT = 100_000
_REGION = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


def object_in(parent: Mapping[str, Any], name: str, prefix: str = "") -> Mapping[str, Any]:
    """The object of that name; empty if it is missing or ``null``.

    Raises:
        InvalidRequestError: it is something else.
    """
    value = parent.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidRequestError(f"{prefix}{name} must be an object.", field=f"{prefix}{name}")
    return value


def text_in(parent: Mapping[str, Any], name: str, *, longest: int, prefix: str = "") -> str:
    """The text of that name, of 1 to ``longest`` characters.

    Raises:
        InvalidRequestError: it is missing or something else.
    """
    value = parent.get(name)
    if not isinstance(value, str) or not value or len(value) > longest:
        raise InvalidRequestError(f"{prefix}{name} must be text of 1 to {longest} characters.", field=f"{prefix}{name}")
    return value


def optional_text_in(parent: Mapping[str, Any], name: str, prefix: str = "") -> str | None:
    """As ``text_in``; ``None`` if it is missing or ``null``."""
    return None if parent.get(name) is None else text_in(parent, name, longest=LONGEST_TEXT, prefix=prefix)


def region_in(model: Mapping[str, Any]) -> str | None:
    """The region of ``modelConfiguration``. It becomes a part of a host's name."""
    region = optional_text_in(model, "region", "modelConfiguration.")
    if region is not None and not _REGION.fullmatch(region):
        name = "modelConfiguration.region"
        raise InvalidRequestError(f"{name} must be the name of a region.", field=name)
    return region


def list_limit_in(query: Mapping[str, Any]) -> int:
    """How many messages of the history are read at most (``messageHistoryQuery.listQueryLimit``)."""
    limit = query.get("listQueryLimit")
    if limit is None:
        return DEFAULT_LIST_LIMIT
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= DEFAULT_LIST_LIMIT:
        name = "messageHistoryQuery.listQueryLimit"
        raise InvalidRequestError(f"{name} must be a whole number from 1 to {DEFAULT_LIST_LIMIT}.", field=name)
    return limit


def inference_in(model: Mapping[str, Any]) -> Mapping[str, Any]:
    """What of ``modelConfiguration.inferenceConfiguration`` Converse knows."""
    return turn_options.inference_in(model.get("inferenceConfiguration"), "modelConfiguration.inferenceConfiguration")


def features_in(model: Mapping[str, Any], defaults: Features) -> Features:
    """What ``modelConfiguration`` says of ``guardrail``, ``additionalModelRequestFields`` and ``cachePoints``; what it
    does not say follows the deployment.
    """
    prefix = "modelConfiguration."
    points = model.get("cachePoints")
    if points is not None and not isinstance(points, bool):
        raise InvalidRequestError(f"{prefix}cachePoints must be true or false.", field=f"{prefix}cachePoints")
    return Features(
        additional_fields={**defaults.additional_fields, **object_in(model, "additionalModelRequestFields", prefix)},
        guardrail=_guardrail_in(model) or defaults.guardrail,
        has_cache_points=defaults.has_cache_points if points is None else points,
    )


def _guardrail_in(model: Mapping[str, Any]) -> Mapping[str, Any] | None:
    guardrail = object_in(model, "guardrail", "modelConfiguration.")
    if not guardrail:
        return None
    names = ("guardrailIdentifier", "guardrailVersion", "trace", "streamProcessingMode")
    given = {name: optional_text_in(guardrail, name, "modelConfiguration.guardrail.") for name in names}
    return {name: value for name, value in given.items() if value is not None}


def tools_in(configuration: Mapping[str, Any], kind: str) -> tuple[Mapping[str, Any], ...]:
    """The tools of that kind in ``toolsConfiguration``, each an object with a name."""
    tools = configuration.get(kind)
    if tools is None:
        return ()
    name = f"toolsConfiguration.{kind}"
    if not isinstance(tools, list) or not all(isinstance(tool, dict) and tool.get("name") for tool in tools):
        raise InvalidRequestError(f"{name} must be a list of tools with names.", field=name)
    return tuple(tools)


def specification_of(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a model is told of a tool."""
    return {member: tool[member] for member in ("name", "description", "inputSchema") if tool.get(member)}

"""How one turn is to be answered, where that differs from the deployment: given with its message, and kept with it, so
that what is shown of its history is what its model is sent.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from conversations.arrange import WHOLE, Window
from conversations.errors import InvalidRequestError

MEMBERS = ("window", "recall", "inferenceConfiguration")
MOST_MESSAGES = 1000
MOST_TOKENS = 10_000_000
MOST_INTERACTIONS = 20
MOST_STOP_SEQUENCES = 4
LONGEST_STOP_SEQUENCE = 256
_WINDOW = {"maxMessages": MOST_MESSAGES, "maxTokens": MOST_TOKENS}
_RECALL = {"maxInteractions": MOST_INTERACTIONS}
_INFERENCE = {"maxTokens": (True, 1, MOST_TOKENS), "temperature": (False, 0, 1), "topP": (False, 0, 1)}
"""Whether it is a whole number, from what and to what."""
_STOP = "stopSequences"


@dataclass(frozen=True, slots=True)
class TurnOptions:
    """``recall``: how many interactions from outside the window are looked for, at most."""

    window: Window = WHOLE
    recall: int = 0
    inference_configuration: Mapping[str, Any] = field(default_factory=dict)


def options_in(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The options among the members of a request, as they are kept: ``{window?: {maxMessages?, maxTokens?}, recall?:
    {maxInteractions}, inferenceConfiguration?: {maxTokens?, temperature?, topP?, stopSequences?}}``.

    Raises:
        InvalidRequestError: one is malformed; names the field.
    """
    _check_known(body, "window", _WINDOW)
    _check_known(body, "recall", _RECALL)
    _check_known(body, "inferenceConfiguration", (*_INFERENCE, _STOP))
    given = {
        "window": _whole_numbers(body, "window", _WINDOW),
        "recall": _whole_numbers(body, "recall", _RECALL),
        "inferenceConfiguration": inference_in(body.get("inferenceConfiguration"), "inferenceConfiguration"),
    }
    return {name: value for name, value in given.items() if value} or None


def read_options(kept: Mapping[str, Any] | None) -> TurnOptions:
    """What ``options_in`` gave."""
    kept = kept or {}
    window = kept.get("window", {})
    return TurnOptions(
        Window(window.get("maxMessages"), window.get("maxTokens")),
        kept.get("recall", {}).get("maxInteractions", 0),
        kept.get("inferenceConfiguration", {}),
    )


def options_in_event(event: Mapping[str, Any]) -> TurnOptions:
    """``window`` and ``recall`` of an event, whose other members mean nothing here.

    Raises:
        InvalidRequestError: one is malformed; names the field.
    """
    given = {"window": _whole_numbers(event, "window", _WINDOW), "recall": _whole_numbers(event, "recall", _RECALL)}
    return read_options(given)


def inference_for(defaults: Mapping[str, Any], options: TurnOptions, asked: Mapping[str, Any]) -> Mapping[str, Any]:
    """The inference configuration of the deployment, then of the message, then of the event. A message may ask for
    shorter answers than the deployment allows, and not for longer ones.
    """
    wanted = dict(options.inference_configuration)
    if "maxTokens" in wanted and "maxTokens" in defaults:
        wanted["maxTokens"] = min(wanted["maxTokens"], defaults["maxTokens"])
    return {**defaults, **wanted, **asked}


def inference_in(configuration: object, field_name: str) -> Mapping[str, Any]:
    """What Converse knows of an ``inferenceConfiguration``.

    Raises:
        InvalidRequestError: it is malformed; names the field.
    """
    if configuration is None:
        return {}
    if not isinstance(configuration, dict):
        raise _wrong(field_name, "must be an object")
    numbers = {name: _number(configuration, field_name, name) for name in _INFERENCE}
    stops = configuration.get(_STOP)
    if stops is not None and not _are_stops(stops):
        rule = f"must be a list of 1 to {MOST_STOP_SEQUENCES} texts of 1 to {LONGEST_STOP_SEQUENCE} characters"
        raise _wrong(f"{field_name}.{_STOP}", rule)
    return {name: value for name, value in {**numbers, _STOP: stops}.items() if value is not None}


def _number(configuration: Mapping[str, Any], field_name: str, name: str) -> int | float | None:
    """JSON does not tell 5 from 5.0; Converse takes no other than 5 where it wants a whole number."""
    value: Any = configuration.get(name)
    is_whole, least, most = _INFERENCE[name]
    if is_whole and isinstance(value, float) and value.is_integer():
        value = int(value)
    is_number = type(value) is int or (type(value) is float and not is_whole)
    if value is not None and not (is_number and least <= value <= most):
        raise _wrong(f"{field_name}.{name}", f"must be a {'whole ' * is_whole}number from {least} to {most}")
    return value  # type: ignore[no-any-return]


def _are_stops(stops: object) -> bool:
    if not isinstance(stops, list) or not 1 <= len(stops) <= MOST_STOP_SEQUENCES:
        return False
    return all(isinstance(stop, str) and 1 <= len(stop) <= LONGEST_STOP_SEQUENCE for stop in stops)


def _whole_numbers(body: Mapping[str, Any], name: str, most: Mapping[str, int]) -> Mapping[str, int]:
    value = body.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _wrong(name, "must be an object")
    for member, largest in most.items():
        number = value.get(member)
        if number is not None and not (type(number) is int and 1 <= number <= largest):
            raise _wrong(f"{name}.{member}", f"must be a whole number from 1 to {largest}")
    return {member: value[member] for member in most if value.get(member) is not None}


def _check_known(body: Mapping[str, Any], name: str, known: Collection[str]) -> None:
    value = body.get(name)
    for member in value if isinstance(value, dict) else ():
        if member not in known:
            raise _wrong(f"{name}.{member[:64]}", f"is not known here; known are {', '.join(known)}")


def _wrong(field_name: str, rule: str) -> InvalidRequestError:
    return InvalidRequestError(f"{field_name} {rule}.", field=field_name)

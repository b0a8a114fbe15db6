"""The members of bodies and the parameters of queries, checked one by one; each complaint names the field."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from api.told import OF_ALL, OF_ANSWERS, told
from conversations import codec, ids
from conversations.changing import Change
from conversations.content import check_content, check_tool_results_only
from conversations.creating import NewConversation
from conversations.errors import InvalidRequestError, TooLargeError
from conversations.model import ROLES, About, Draft, Role
from conversations.tools import check_tool_configuration
from conversations.turn_options import MEMBERS, options_in

LONGEST_NAME = 1024
LONGEST_SESSION_ID_BYTES = 1024
LARGEST_METADATA_BYTES = 64 * 1024
LONGEST_KEY = 255
MOST_TTL_DAYS = 3650
DEFAULT_LIMIT = 50
MOST_LIMIT = 1000
MOST_DELETED = 100

_MESSAGE_MEMBERS = frozenset(
    (
        *("role", "content", "associatedUserMessageId", "clientMessageId", "aiContext", "metadata"),
        *("toolConfiguration", *OF_ALL, *OF_ANSWERS),
    )
)
_TURN_MEMBERS = frozenset(("content", "clientMessageId", "aiContext", "metadata", "toolConfiguration", *MEMBERS))
_CHANGE_MEMBERS = frozenset(("name", "metadata", "ttlDays"))
_CONVERSATION_MEMBERS = frozenset(("name", "metadata", "sessionId", "ttlDays"))

Body = Mapping[str, Any]
Query = Mapping[str, str]


# Bodies


def new_conversation(body: Body, *, owner: str, key: str | None) -> NewConversation:
    """``{name?, metadata?, sessionId?, ttlDays?}``"""
    known_members(body, _CONVERSATION_MEMBERS)
    about = About(
        name=optional_text(body, "name", longest=LONGEST_NAME),
        session_id=session_id(body.get("sessionId")),
        metadata=metadata(body) or {},
    )
    ttl_days = optional_integer(body, "ttlDays", least=1, most=MOST_TTL_DAYS)
    return NewConversation(owner, about, ttl_days, key, request_hash("conversations", body))


def conversation_change(body: Body) -> Change:
    """``{name?, metadata?, ttlDays?}``: what is given replaces what was, ``null`` takes it away, the rest stays."""
    known_members(body, _CHANGE_MEMBERS)
    given: dict[str, Any] = {}
    if "name" in body:
        given["name"] = optional_text(body, "name", longest=LONGEST_NAME)
    if "metadata" in body:
        given["metadata"] = metadata(body) or {}
    return Change(
        about=lambda about: replace(about, **given),
        sets_ttl="ttlDays" in body,
        ttl_days=optional_integer(body, "ttlDays", least=1, most=MOST_TTL_DAYS),
    )


def conversation_ids(body: Body) -> list[str]:
    """``{ids: [...]}``"""
    known_members(body, frozenset(("ids",)))
    given = body.get("ids")
    if not isinstance(given, list) or not 1 <= len(given) <= MOST_DELETED or not all(map(_is_text, given)):
        raise _invalid("ids", f"must be a list of 1 to {MOST_DELETED} ids of conversations")
    return given


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def message_draft(body: Body, *, local: str, prefix: str = "") -> Draft:
    """``{role, content, associatedUserMessageId?, clientMessageId?, aiContext?, metadata?, toolConfiguration?}``, and
    what ``api.told`` knows.
    """
    known_members(body, _MESSAGE_MEMBERS, prefix)
    role = _role(body, prefix)
    content = check_content(body.get("content"), field=f"{prefix}content")
    if role == "tool":
        check_tool_results_only(content, field=f"{prefix}content")
    question = optional_text(body, "associatedUserMessageId", longest=ids.LONGEST_MESSAGE_ID, prefix=prefix)
    if question is not None and role != "assistant":
        raise _invalid(f"{prefix}associatedUserMessageId", "is for assistant messages only")
    draft = _draft(body, role, content, local, prefix, question)
    return replace(draft, **told(body, role, content, prefix))


def turn_draft(body: Body, *, local: str) -> Draft:
    """``{content, clientMessageId?, aiContext?, metadata?, toolConfiguration?, window?, recall?,
    inferenceConfiguration?}``
    """
    known_members(body, _TURN_MEMBERS)
    draft = _draft(body, "user", check_content(body.get("content")), local, "", None)
    return replace(draft, options=options_in(body))


def _draft(body: Body, role: Role, content: Any, local: str, prefix: str, question: str | None) -> Draft:
    client_id = _client_message_id(body, role, prefix)
    return Draft(
        local=client_id or local,
        role=role,
        content=content,
        associated_user_message_id=question,
        client_message_id=client_id,
        ai_context=body.get("aiContext"),
        metadata=metadata(body, prefix),
        tool_configuration=check_tool_configuration(body.get("toolConfiguration"), field=f"{prefix}toolConfiguration"),
    )


def _role(body: Body, prefix: str) -> Role:
    role = body.get("role")
    if role is None:
        raise _invalid(f"{prefix}role", f"is required: one of {', '.join(ROLES)}")
    for known in ROLES:
        if role == known:
            return known
    raise _invalid(f"{prefix}role", f"must be one of {', '.join(ROLES)}")


def _client_message_id(body: Body, role: Role, prefix: str) -> str | None:
    client_id = body.get("clientMessageId")
    if client_id is None:
        return None
    if role != "user":
        raise _invalid(f"{prefix}clientMessageId", "is for user messages only")
    if not isinstance(client_id, str) or not ids.CLIENT_MESSAGE_ID.match(client_id):
        raise _invalid(f"{prefix}clientMessageId", "must be 1 to 64 of A-Z, a-z, 0-9, _ and -")
    return client_id


def metadata(body: Body, prefix: str = "") -> Mapping[str, Any] | None:
    """An object of the caller's own."""
    value, field = body.get("metadata"), f"{prefix}metadata"
    if value is None:
        return None
    if not isinstance(value, dict):
        raise _invalid(field, "must be an object")
    if len(codec.to_json(value).encode()) > LARGEST_METADATA_BYTES:
        raise TooLargeError(f"{field} is larger than {LARGEST_METADATA_BYTES} bytes of JSON.", field=field)
    return value


def session_id(value: object) -> str | None:
    """The caller's own name for a conversation: any text of 1 to 1,024 bytes without NUL."""
    if value is None:
        return None
    if not isinstance(value, str) or not value or "\0" in value or len(value.encode()) > LONGEST_SESSION_ID_BYTES:
        raise _invalid("sessionId", f"must be text of 1 to {LONGEST_SESSION_ID_BYTES} bytes without NUL")
    return value


def known_members(body: Body, known: frozenset[str], prefix: str = "") -> None:
    """Raises ``InvalidRequestError`` for a member that means nothing here, since it is a typing error more often than
    not.
    """
    for name in body:
        if name not in known:
            raise _invalid(f"{prefix}{name[:64]}", f"is not known here; known are {', '.join(sorted(known))}")


def optional_text(body: Body, name: str, *, longest: int, prefix: str = "") -> str | None:
    """A text, or ``None`` if it is missing or null."""
    value = body.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or not value or len(value) > longest:
        raise _invalid(f"{prefix}{name}", f"must be text of 1 to {longest} characters")
    return value


def optional_integer(body: Body, name: str, *, least: int, most: int) -> int | None:
    """An integer within bounds, or ``None`` if it is missing or null."""
    value = body.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise _invalid(name, f"must be a whole number from {least} to {most}")
    return value


def request_hash(route: str, body: Body) -> str:
    """What tells a retry from another request with the same key."""
    return ids.digest(route, codec.to_json(body))


# Headers and queries


def idempotency_key(headers: Mapping[str, str]) -> str | None:
    """The ``Idempotency-Key`` of a request, by which doing it twice has one effect."""
    key = headers.get("idempotency-key")
    if key is None:
        return None
    if not key.strip() or len(key) > LONGEST_KEY:
        raise _invalid("Idempotency-Key", f"must be 1 to {LONGEST_KEY} characters")
    return key


def local_id(route: str, key: str | None) -> str:
    """The last part of a message's id: derived from route and key, or random."""
    return ids.new_local() if key is None else ids.digest(route, key)


def known_parameters(query: Query, *known: str) -> None:
    """Raises ``InvalidRequestError`` for a parameter that means nothing here."""
    known_members(query, frozenset(known))


def limit(query: Query) -> int:
    """How many items a page holds at most."""
    return integer_parameter(query, "limit", least=1, most=MOST_LIMIT) or DEFAULT_LIMIT


def order(query: Query) -> Literal["asc", "desc"]:
    """The order of a page of messages: oldest first unless it is asked for otherwise."""
    value = query.get("order", "asc")
    if value == "asc":
        return "asc"
    if value == "desc":
        return "desc"
    raise _invalid("order", "must be asc or desc")


def integer_parameter(query: Query, name: str, *, least: int, most: int) -> int | None:
    """A whole number within bounds, or ``None`` if it is not given."""
    value = query.get(name)
    if value is None:
        return None
    if not (value.isascii() and value.isdigit() and len(value) <= 18 and least <= int(value) <= most):
        raise _invalid(name, f"must be a whole number from {least} to {most}")
    return int(value)


def _invalid(field: str, rule: str) -> InvalidRequestError:
    return InvalidRequestError(f"{field} {rule}.", field=field)

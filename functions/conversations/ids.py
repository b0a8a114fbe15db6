"""Identifiers: how they are made, and what they tell.

``<conversation>[~<chain>].<local>`` names a message, so that a message and the right to see it are one read, and nobody
can collide with another's. ``<message>.response`` is the answer to a message and ``<message>.turn`` the state of its
turn; ``<conversation>[~<chain>].trace.<number>`` is a trace. To callers all ids are opaque.
"""

import re
from base64 import urlsafe_b64encode
from hashlib import sha256
from secrets import token_urlsafe

CONVERSATION_ID_LENGTH = 20
CLIENT_MESSAGE_ID = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
LONGEST_MESSAGE_ID = 256
RESPONSE_SUFFIX = ".response"
_CONVERSATION_ID = re.compile(r"[A-Za-z0-9_-]{20}\Z")
TURN_SUFFIX = ".turn"
_TRACE = ".trace."
_TRACE_ID = re.compile(r"[A-Za-z0-9_~-]+\.trace\.([1-9][0-9]{0,9})")
_DIGEST_LENGTH = 22  # 132 bits in base64
_RANDOM_BYTES = 15  # 20 characters in base64
_LOCAL_BYTES = 12  # 16 characters in base64


def new_conversation_id() -> str:
    """A random id of 20 URL-safe characters (120 bits)."""
    return token_urlsafe(_RANDOM_BYTES)


def is_conversation_id(text: str) -> bool:
    """Whether the text can be a conversation's id at all."""
    return _CONVERSATION_ID.match(text) is not None


def new_local() -> str:
    """The random last part of a message's id."""
    return token_urlsafe(_LOCAL_BYTES)


def digest(*parts: str) -> str:
    """A short URL-safe digest of texts that tells ``("a", "bc")`` from ``("ab", "c")``."""
    hashed = sha256()
    for part in parts:
        encoded = part.encode()
        hashed.update(len(encoded).to_bytes(8, "big") + encoded)
    return urlsafe_b64encode(hashed.digest())[:_DIGEST_LENGTH].decode()


def derived_conversation_id(owner: str, idempotency_key: str) -> str:
    """The id of the conversation that this owner makes with this key."""
    return digest("conversation", owner, idempotency_key)[:CONVERSATION_ID_LENGTH]


def chain_id(conversation_id: str, chain: int) -> str:
    """What the messages of a conversation's present chain carry; each clear begins a new chain."""
    return f"{conversation_id}~{chain}" if chain else conversation_id


def conversation_of(chain: str) -> str:
    """The conversation that a chain belongs to."""
    return chain[:CONVERSATION_ID_LENGTH]


def message_id(chain: str, local: str) -> str:
    """The id of a message in a chain."""
    return f"{chain}.{local}"


def belongs_to(candidate: str, chain: str) -> bool:
    """Whether this can be the id of a message in that chain."""
    return candidate.startswith(f"{chain}.") and len(candidate) <= LONGEST_MESSAGE_ID and candidate.isascii()


def response_id(question_id: str) -> str:
    """The id of the answer to a message."""
    return question_id + RESPONSE_SUFFIX


def turn_id(question_id: str) -> str:
    """The id of the item with the state of a message's turn."""
    return question_id + TURN_SUFFIX


def trace_id(chain: str, ordinal: int) -> str:
    """The id of the nth trace of a chain. No message has such an id: only answers have a dot in their last part."""
    return f"{chain}{_TRACE}{ordinal}"


def trace_ordinal(candidate: str) -> int | None:
    """The number in the id of a trace; ``None`` if it is none."""
    match = _TRACE_ID.fullmatch(candidate)
    return int(match[1]) if match else None


def is_response(message_id: str) -> bool:
    """Whether a message's id is that of an answer to another: one of its author's own may be called so, too."""
    question_id = message_id.removesuffix(RESPONSE_SUFFIX)
    return question_id != message_id and "." in question_id


def question_of(message_id: str) -> str | None:
    """The id of the message that this one answers, if its id says that it is an answer."""
    return message_id.removesuffix(RESPONSE_SUFFIX) if is_response(message_id) else None


def chain_of(item_id: str) -> str:
    """The chain that the id of a message or trace names."""
    return item_id.partition(".")[0]


def session_record_id(owner: str, session_id: str) -> str:
    """The id of the record that says which conversation an owner's session id stands for."""
    return f"session.{digest(owner, session_id)}"


def recent_record_id(owner: str, minute: int) -> str:
    """The id of the record of the conversations that an owner created within one minute since the epoch."""
    return f"recent.{digest(owner)}.{minute}"


def outcome_record_id(owner: str, route: str, idempotency_key: str) -> str:
    """The id of the record of what an owner's request with a key comes to."""
    return f"outcome.{digest(owner, route, idempotency_key)}"


def about_record_id(conversation_id: str) -> str:
    """The id of the item with what would make a conversation's own item large."""
    return f"{conversation_id}.about"

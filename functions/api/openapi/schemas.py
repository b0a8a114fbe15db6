"""Schemas of what is ours: closed, so that a member which nobody described is a mistake on either side.

Bounds come from where they are enforced. JSON Schema counts characters where some of ours count bytes: there the bound
is necessary, and the description says the rest.
"""

from typing import Any, get_args

from api import parameters
from api.openapi.content import schema_ref
from api.openapi.objects import all_optional, closed
from api.openapi.turn_options import TURN_OPTIONS
from conversations import ids
from conversations.appending import LARGEST_BATCH
from conversations.clock import TIMESTAMP
from conversations.model import ROLES, Role, TurnStatus


def _pattern(expression: str) -> str:
    r"""A pattern as ECMA-262 writes it, which has no ``\Z``."""
    return "^" + expression.removesuffix(r"\Z") + "$"


def _list_of(name: str, **bounds: int) -> dict[str, Any]:
    return {"type": "array", "items": schema_ref(name), **bounds}


_ID = {"type": "string", "description": "Opaque."}
_ID_OR_NULL = {"type": ["string", "null"], "description": "Opaque."}
_COUNT = {"type": "integer", "minimum": 0}
_TIME = {
    "type": "string",
    "format": "date-time",
    "pattern": _pattern(TIMESTAMP.pattern),
    "description": "RFC 3339 in UTC with nine fraction digits: text order is time order.",
}
_NAME = {"type": ["string", "null"], "minLength": 1, "description": "Names given elsewhere may be longer than here."}
_NEW_NAME = {"type": ["string", "null"], "minLength": 1, "maxLength": parameters.LONGEST_NAME}
_METADATA = {"type": "object", "description": "Free JSON of the caller's own."}
_NEW_METADATA = {
    "type": ["object", "null"],
    "description": f"Free JSON of the caller's own, of {parameters.LARGEST_METADATA_BYTES} bytes at most.",
}
_NEW_TTL_DAYS = {
    "type": ["integer", "null"],
    "minimum": 1,
    "maximum": parameters.MOST_TTL_DAYS,
    "description": "Days without activity after which the conversation expires; never without it.",
}
_CURSOR = {"type": ["string", "null"], "description": "Where the next page begins; `null` at the end."}
_AI_CONTEXT = {"description": "What the application says of the situation: any JSON, shown to the model once."}
_CLIENT_MESSAGE_ID = {
    "type": ["string", "null"],
    "pattern": _pattern(ids.CLIENT_MESSAGE_ID.pattern),
    "description": "The caller's own id for the message: the same one twice has one effect.",
}
_QUESTION_ID = {
    "type": ["string", "null"],
    "minLength": 1,
    "maxLength": ids.LONGEST_MESSAGE_ID,
    "description": "The message that this one answers; that directly before it unless said otherwise.",
}
_NOT_FOR_THIS_ROLE = {"type": "null"}
_TEXT_OR_NULL = {"type": ["string", "null"], "pattern": r"\S"}
_SOMETHING_VISIBLE = {
    "anyOf": [{"not": {"required": ["text"]}}, {"properties": {"text": {"pattern": r"\S"}}}],
}
_NEW_MEMBERS: dict[str, Any] = {
    "content": schema_ref("NewContent"),
    "aiContext": _AI_CONTEXT,
    "metadata": _NEW_METADATA,
    "toolConfiguration": {"anyOf": [schema_ref("ToolConfiguration"), {"type": "null"}]},
}


_TOLD_OF_ALL: dict[str, Any] = {
    "promptTemplate": {**_TEXT_OR_NULL, "description": "The template that the prompt was made from."},
    "origin": {**_TEXT_OR_NULL, "description": "What the answer came from, as its writer says it."},
}
_TOLD_OF_ANSWERS: dict[str, Any] = {
    "usage": {"anyOf": [schema_ref("TokenUsage"), {"type": "null"}]},
    "stopReason": {**_TEXT_OR_NULL, "description": "Why the model stopped, as the Converse API says it."},
    "modelId": _TEXT_OR_NULL,
    "latencyMs": {"type": ["integer", "null"], "minimum": 0},
    "toolCalls": {
        "type": ["array", "null"],
        "items": schema_ref("ToolCall"),
        "description": "In the order of their rounds; those of one round have one `contentIndex`.",
    },
    "guardrailTrace": {"type": ["object", "null"]},
    "answersNone": {
        "type": ["boolean", "null"],
        "description": "It answers no message, whatever stands before it; it can name none then.",
    },
}

_TOOL_RESULTS_ONLY = {"allOf": [schema_ref("NewContent"), {"items": {"required": ["toolResult"]}}]}


def _new_message(role: Role, **own: Any) -> dict[str, Any]:
    members = {
        "role": {"const": role},
        **_NEW_MEMBERS,
        "associatedUserMessageId": _NOT_FOR_THIS_ROLE,
        "clientMessageId": _NOT_FOR_THIS_ROLE,
        **_TOLD_OF_ALL,
        **dict.fromkeys(_TOLD_OF_ANSWERS, _NOT_FOR_THIS_ROLE),
        **own,
    }
    return closed(members, optional=tuple(name for name in members if name not in ("role", "content")))


_NEW_MESSAGES = {
    "user": ("NewUserMessage", _new_message("user", clientMessageId=_CLIENT_MESSAGE_ID)),
    "assistant": (
        "NewAssistantMessage",
        _new_message("assistant", associatedUserMessageId=_QUESTION_ID, **_TOLD_OF_ANSWERS),
    ),
    "system": ("NewSystemMessage", _new_message("system")),
    "tool": ("NewToolMessage", _new_message("tool", content=_TOOL_RESULTS_ONLY)),
}

REQUEST_SCHEMAS: dict[str, dict[str, Any]] = {
    "NewConversation": all_optional(
        {
            "name": _NEW_NAME,
            "metadata": _NEW_METADATA,
            "sessionId": {
                "type": ["string", "null"],
                "minLength": 1,
                "maxLength": parameters.LONGEST_SESSION_ID_BYTES,
                "pattern": "^[^\\u0000]*$",
                "description": "The caller's own name for the conversation: any text without NUL of "
                f"{parameters.LONGEST_SESSION_ID_BYTES} bytes at most.",
            },
            "ttlDays": _NEW_TTL_DAYS,
        },
        "What a new conversation is to be.",
    ),
    "ConversationChange": all_optional(
        {"name": _NEW_NAME, "metadata": _NEW_METADATA, "ttlDays": _NEW_TTL_DAYS},
        "What is given replaces what was, `null` takes it away, the rest stays.",
    ),
    "ConversationIds": closed(
        {"ids": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": parameters.MOST_DELETED}}
    ),
    "NewContent": {
        **_list_of("ContentBlock", minItems=1),
        "contains": _SOMETHING_VISIBLE,
        "description": "Content blocks, not all of them blank text.",
    },
    **dict(_NEW_MESSAGES.values()),
    "NewMessage": {
        "oneOf": [schema_ref(name) for name, _ in _NEW_MESSAGES.values()],
        "discriminator": {
            "propertyName": "role",
            "mapping": {role: schema_ref(name)["$ref"] for role, (name, _) in _NEW_MESSAGES.items()},
        },
    },
    "NewMessages": closed({"messages": _list_of("NewMessage", minItems=1, maxItems=LARGEST_BATCH)}),
    "OneOrMoreNewMessages": {"oneOf": [schema_ref("NewMessage"), schema_ref("NewMessages")]},
    "NewTurn": closed(
        {**_NEW_MEMBERS, "clientMessageId": _CLIENT_MESSAGE_ID, **TURN_OPTIONS},
        optional=("aiContext", "metadata", "toolConfiguration", "clientMessageId", *TURN_OPTIONS),
        description="The user's message to be answered, with the tools that the model may ask for.",
    ),
    "Nothing": closed({}, description="No member means anything here."),
}

ANSWER_SCHEMAS: dict[str, dict[str, Any]] = {
    "Conversation": closed(
        {
            "id": _ID,
            "owner": {"type": "string"},
            "name": _NAME,
            "sessionId": {"type": "string"},
            "metadata": _METADATA,
            "createdAt": _TIME,
            "updatedAt": _TIME,
            "messageCount": _COUNT,
            "ttlDays": {"type": "integer", "minimum": 1, "maximum": parameters.MOST_TTL_DAYS},
            "expiresAt": {**_COUNT, "description": "In seconds since the epoch; activity moves it on."},
        },
        optional=("sessionId", "ttlDays", "expiresAt"),
    ),
    "ConversationPage": closed({"conversations": _list_of("Conversation"), "nextCursor": _CURSOR}),
    "Deleted": closed(
        {"deleted": {"type": "array", "items": _ID}, "notFound": {"type": "array", "items": _ID}},
        description="What became of each id.",
    ),
    "Message": closed(
        {
            "id": _ID,
            "conversationId": _ID,
            "role": {"enum": list(ROLES)},
            "content": _list_of("ContentBlock"),
            "createdAt": _TIME,
            "position": {**_COUNT, "description": "Counts 1, 2, 3 without a hole; 0 where even that cannot be read."},
            "previousMessageId": _ID_OR_NULL,
            "tokens": {**_COUNT, "description": "An estimate."},
            "associatedUserMessageId": _ID,
            "clientMessageId": {"type": "string", "pattern": _CLIENT_MESSAGE_ID["pattern"]},
            "aiContext": _AI_CONTEXT,
            "metadata": _METADATA,
            "promptTemplate": {"type": "string", "description": "The template that the prompt was made from."},
            "origin": {"type": "string", "description": "What the answer came from, as its writer says it."},
            "usage": schema_ref("TokenUsage"),
            "stopReason": {"type": "string", "description": "Why the model stopped, as the Converse API says it."},
            "modelId": {"type": "string"},
            "latencyMs": {**_COUNT, "description": "How long the model took, in milliseconds, as it says."},
            "toolCalls": {**_list_of("ToolCall"), "description": "What tools did that the service called itself."},
            "guardrailTrace": {"type": "object", "description": "What a guardrail found, as the Converse API says it."},
            "unreadable": {"const": True, "description": "The stored content is gone or cannot be read."},
        },
        optional=(
            *("associatedUserMessageId", "clientMessageId", "aiContext", "metadata", "promptTemplate", "origin"),
            *("usage", "stopReason", "modelId", "latencyMs", "toolCalls", "guardrailTrace", "unreadable"),
        ),
    ),
    "TokenUsage": {
        "type": "object",
        "description": "What the model counted, as the Converse API says it.",
        "properties": {"inputTokens": _COUNT, "outputTokens": _COUNT, "totalTokens": _COUNT},
    },
    "MessageList": closed({"messages": _list_of("Message")}),
    "OneOrMoreMessages": {
        "oneOf": [schema_ref("Message"), schema_ref("MessageList")],
        "description": "One message or a list, as it was sent.",
    },
    "MessagePage": closed({"messages": _list_of("Message"), "nextCursor": _CURSOR}),
    "Turn": closed(
        {
            "userMessageId": _ID,
            "responseMessageId": _ID,
            "status": {"enum": list(get_args(TurnStatus))},
            "attempt": {**_COUNT, "description": "Attempts begun so far."},
            "partialText": {"type": "string", "description": "What the model has said so far; empty when complete."},
            "partialLength": {**_COUNT, "description": "The code points of `partialText`."},
            "error": closed({"code": {"type": "string"}, "message": {"type": "string"}}, description="Why it failed."),
            "updatedAt": _TIME,
        },
        optional=("error",),
    ),
    "AskedTurn": closed({"message": schema_ref("Message"), "turn": schema_ref("Turn")}),
    "FollowedTurn": closed(
        {"turn": schema_ref("Turn"), "message": schema_ref("Message")},
        optional=("message",),
        description="The turn and, when it is complete, the answer.",
    ),
    "CancelledTurn": closed({"turn": schema_ref("Turn")}),
    "History": closed(
        {
            "system": {"type": "array", "items": closed({"text": {"type": "string"}})},
            "messages": {
                "type": "array",
                "items": closed({"role": {"enum": ["user", "assistant"]}, "content": _list_of("ContentBlock")}),
            },
            "tokens": {**_COUNT, "description": "An estimate of all of it."},
            "truncated": {"type": "boolean", "description": "Whether older messages were left out."},
            "recalled": {
                "type": "array",
                "items": closed(
                    {
                        "messageId": _ID,
                        "score": {"type": "number", "description": "How well it fits (BM25)."},
                        "tokens": _COUNT,
                        "isShortened": {"type": "boolean"},
                    }
                ),
                "description": "The interactions from before the window that are in it, by what leads them.",
            },
        },
        description="What the model would be sent.",
    ),
}

"""All operations of the API, as a table: what each takes, what it answers, and which errors it may give."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from api.errors import ForbiddenError
from conversations.errors import (
    AlreadyAnsweredError,
    ConversationDeletedError,
    CurrentMessageNotFoundError,
    EmptyMessageError,
    IdempotencyMismatchError,
    InvalidCursorError,
    NotFoundError,
    OrphanToolResultError,
    ServiceError,
    TooLargeError,
    TurnStateError,
)

Method = Literal["get", "post", "patch", "delete"]

CONVERSATIONS = "/conversations"
CONVERSATION = "/conversations/{conversationId}"
MESSAGES = f"{CONVERSATION}/messages"
TURNS = f"{CONVERSATION}/turns"


@dataclass(frozen=True, slots=True)
class Body:
    """The body of a request. One that may be left out counts as an empty object."""

    schema: str
    example: dict[str, Any]
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class Success:
    """An answer that is no error; without a schema it has no body."""

    status: int
    description: str
    schema: str | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path. ``raises`` are the errors of its own, beside those that every operation of its kind has.

    ``parameters`` are those of the query; the path's follow from the path, and the headers from the method.
    """

    method: Method
    path: str
    name: str
    summary: str
    successes: Sequence[Success]
    parameters: Sequence[str] = ()
    body: Body | None = None
    raises: Sequence[type[ServiceError]] = ()
    is_public: bool = False


_SAID = [{"text": "What did I say my name is?"}]
_PAGE = ("limit", "cursor")

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        "post",
        CONVERSATIONS,
        "createConversation",
        "Create a conversation, or find the live one of a session id",
        [
            Success(201, "It was created.", "Conversation"),
            Success(200, "The live conversation of this session id.", "Conversation"),
        ],
        body=Body("NewConversation", {"name": "First", "metadata": {"topic": "names"}, "ttlDays": 30}),
        raises=[ConversationDeletedError, IdempotencyMismatchError],
    ),
    Operation(
        "get",
        CONVERSATIONS,
        "listConversations",
        "List conversations, last activity first",
        [Success(200, "A page.", "ConversationPage")],
        parameters=[*_PAGE, "sessionId", "owner"],
        raises=[InvalidCursorError, ForbiddenError],
    ),
    Operation(
        "post",
        f"{CONVERSATIONS}/delete",
        "deleteConversations",
        "Delete many conversations",
        [Success(200, "What became of each.", "Deleted")],
        body=Body("ConversationIds", {"ids": ["Zk3yV0n8sQeT5uLw1xRa", "b7Gd2mPfH9cJtXoYiK4E"]}, is_required=True),
        raises=[IdempotencyMismatchError],
    ),
    Operation(
        "get",
        CONVERSATION,
        "getConversation",
        "Get a conversation",
        [Success(200, "The conversation.", "Conversation")],
        raises=[NotFoundError],
    ),
    Operation(
        "patch",
        CONVERSATION,
        "changeConversation",
        "Change name, metadata or retention",
        [Success(200, "The conversation as it is now.", "Conversation")],
        body=Body("ConversationChange", {"name": "Renamed", "ttlDays": None}),
        raises=[NotFoundError],
    ),
    Operation(
        "delete",
        CONVERSATION,
        "deleteConversation",
        "Delete a conversation: hidden at once, removed soon",
        [Success(204, "It is hidden.")],
        raises=[NotFoundError],
    ),
    Operation(
        "post",
        MESSAGES,
        "appendMessages",
        "Append one message, or several in one transaction, without asking the model",
        [Success(201, "What was appended.", "OneOrMoreMessages")],
        body=Body("OneOrMoreNewMessages", {"role": "user", "content": [{"text": "My name is Ada."}]}, is_required=True),
        raises=[NotFoundError, AlreadyAnsweredError, IdempotencyMismatchError],
    ),
    Operation(
        "get",
        MESSAGES,
        "listMessages",
        "List messages",
        [Success(200, "A page.", "MessagePage")],
        parameters=["order", *_PAGE],
        raises=[NotFoundError, InvalidCursorError],
    ),
    Operation(
        "delete",
        MESSAGES,
        "clearMessages",
        "Clear a conversation of its messages",
        [Success(204, "They are hidden.")],
        raises=[NotFoundError],
    ),
    Operation(
        "get",
        f"{MESSAGES}/{{messageId}}",
        "getMessage",
        "Get a message",
        [Success(200, "The message.", "Message")],
        raises=[NotFoundError],
    ),
    Operation(
        "post",
        TURNS,
        "startTurn",
        "Append the user's message and have it answered in the background",
        [Success(202, "The message, and the turn that answers it.", "AskedTurn")],
        body=Body("NewTurn", {"content": _SAID, "aiContext": {"page": "/profile"}}, is_required=True),
        raises=[NotFoundError, IdempotencyMismatchError],
    ),
    Operation(
        "get",
        f"{TURNS}/{{messageId}}",
        "followTurn",
        "Follow a turn, waiting for its end or for more text",
        [Success(200, "The turn as it is now.", "FollowedTurn")],
        parameters=["wait", "after"],
        raises=[NotFoundError],
    ),
    Operation(
        "post",
        f"{TURNS}/{{messageId}}",
        "askAgain",
        "Start a turn anew that failed or was cancelled",
        [Success(202, "The message, and the turn that answers it.", "AskedTurn")],
        body=Body("Nothing", {}),
        raises=[NotFoundError, TurnStateError],
    ),
    Operation(
        "delete",
        f"{TURNS}/{{messageId}}",
        "cancelTurn",
        "Cancel a turn",
        [Success(200, "The turn, cancelled.", "CancelledTurn")],
        raises=[NotFoundError, TurnStateError],
    ),
    Operation(
        "get",
        f"{CONVERSATION}/history",
        "getHistory",
        "See exactly what the model would be sent",
        [Success(200, "The history.", "History")],
        parameters=["currentMessageId", "maxMessages", "maxTokens", "recall"],
        raises=[NotFoundError, CurrentMessageNotFoundError, OrphanToolResultError, EmptyMessageError, TooLargeError],
    ),
    Operation(
        "get",
        f"{CONVERSATION}/search",
        "searchMessages",
        "Find messages by any of the words in what was said or answered, the best first",
        [Success(200, "What was found.", "SearchResults")],
        parameters=["q", "limit"],
        raises=[NotFoundError, TooLargeError],
    ),
    Operation("get", "/status", "getStatus", "What runs where", [Success(200, "It runs.", "Status")], is_public=True),
    Operation(
        "get",
        "/openapi.json",
        "getOpenApi",
        "This document",
        [Success(200, "The document.", "Document")],
        is_public=True,
    ),
)

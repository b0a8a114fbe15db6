"""The event by which a turn is handed to the function that answers: which history to fetch, and nothing of it."""

from collections.abc import Mapping
from typing import Any

from conversations.turns import Question


def descriptor(
    question: Question,
    owner: str,
    list_limit: int,
    *,
    options: Mapping[str, Any] | None = None,
    asked_key: str | None = None,
) -> dict[str, Any]:
    """The event. ``asked_key`` tells the request that asked again. Of the message's ``options`` the window is told, so
    that no more is read than it needs.
    """
    window = (options or {}).get("window")
    return {
        "conversationId": question.conversation_id,
        "currentMessageId": question.message_id,
        "owner": owner,
        "messageHistoryQuery": {**HISTORY_QUERY_NAMES, "listQueryLimit": list_limit},
        **({"window": window} if window else {}),
        **({"askedKey": asked_key} if asked_key is not None else {}),
    }


HISTORY_QUERY_NAMES: Mapping[str, str] = {
    "getQueryName": "getConversationMessage",
    "getQueryInputTypeName": "ID",
    "listQueryName": "listConversationMessages",
    "listQueryInputTypeName": "ConversationMessageFilterInput",
}

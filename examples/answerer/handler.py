"""A Lambda function of yours that answers messages itself, in the place of the turn function: copy it and say more.

Ship the folders `functions/conversations` and `functions/turn` beside this file. Environment: `MESSAGES_TABLE`,
`CONVERSATIONS_TABLE` and `BODIES_BUCKET`, the outputs of the stack `ConversationMemory-App`. Permissions: the
statements of `policy.json`.
"""

import os
from typing import Any

from turn.claimed import claiming

claimed_turn = claiming(os.environ)


def lambda_handler(event: dict[str, Any], context: Any) -> dict[str, bool]:
    """A descriptor: `{conversationId, currentMessageId, owner}`. Tells the user what he has said so far."""
    with claimed_turn(event) as turn:
        if turn is None:  # it was answered, cancelled or failed already
            return {"answered": False}
        messages = turn.history().prompt.messages
        said = [block["text"] for message in messages for block in message["content"] if message["role"] == "user"]
        turn.say(f"You have said {len(said)} things: ")
        turn.say("; ".join(said))
    return {"answered": True}

"""agent-squad's `DynamoDbChatStorage`: a list of all messages in one item."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

from agent_squad.storage import DynamoDbChatStorage
from agent_squad.types import ConversationMessage

from tests.bench.peers.serving import ROLES, TABLE, serve

_USER, _AGENT = "12345678-1234-4123-8123-123456789012", "agent"


class AgentSquad:
    def __init__(self) -> None:
        self._storage = DynamoDbChatStorage(TABLE, "us-east-1")
        self._loop = asyncio.new_event_loop()

    def fill(self, conversation: str, texts: Sequence[str]) -> None:
        messages = [_message(ROLES[place % 2], text) for place, text in enumerate(texts)]
        self._done(self._storage.save_chat_messages(_USER, conversation, _AGENT, messages))

    def read(self, conversation: str) -> int:
        return len(self._done(self._storage.fetch_chat(_USER, conversation, _AGENT)))

    def append(self, conversation: str, role: str, text: str) -> None:
        self._done(self._storage.save_chat_message(_USER, conversation, _AGENT, _message(role, text)))

    def turn(self, conversation: str, question: str, answer: str) -> None:
        """As its orchestrator does it: one read, and each message saved by itself."""
        self.read(conversation)
        self.append(conversation, "user", question)
        self.append(conversation, "assistant", answer)

    def _done(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run_until_complete(work)


def _message(role: str, text: str) -> ConversationMessage:
    return ConversationMessage(role=role, content=[{"text": text}])


if __name__ == "__main__":
    serve(AgentSquad())

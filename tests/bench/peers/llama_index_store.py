"""LlamaIndex's `DynamoDBChatStore`: a list of all messages in one item."""

from collections.abc import Sequence

from llama_index.core.llms import ChatMessage
from llama_index.storage.chat_store.dynamodb import DynamoDBChatStore

from tests.bench.peers.serving import ROLES, TABLE, serve


class LlamaIndex:
    def __init__(self) -> None:
        self._store = DynamoDBChatStore(TABLE, region_name="us-east-1")

    def fill(self, conversation: str, texts: Sequence[str]) -> None:
        messages = [ChatMessage(role=ROLES[place % 2], content=text) for place, text in enumerate(texts)]
        self._store.set_messages(conversation, messages)

    def read(self, conversation: str) -> int:
        return len(self._store.get_messages(conversation))

    def append(self, conversation: str, role: str, text: str) -> None:
        self._store.add_message(conversation, ChatMessage(role=role, content=text))

    def turn(self, conversation: str, question: str, answer: str) -> None:
        """As a chat engine's memory does it: one read, and each message added by itself."""
        self._store.get_messages(conversation)
        self.append(conversation, "user", question)
        self.append(conversation, "assistant", answer)


if __name__ == "__main__":
    serve(LlamaIndex())

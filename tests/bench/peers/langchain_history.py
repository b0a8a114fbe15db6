"""LangChain's `DynamoDBChatMessageHistory`: a list of all messages in one item."""

from collections.abc import Sequence

from langchain_community.chat_message_histories import DynamoDBChatMessageHistory
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from tests.bench.peers.serving import ROLES, TABLE, serve


class LangChain:
    def __init__(self) -> None:
        self._kept: dict[str, DynamoDBChatMessageHistory] = {}

    def fill(self, conversation: str, texts: Sequence[str]) -> None:
        self._history(conversation).add_messages([_message(ROLES[place % 2], text) for place, text in enumerate(texts)])

    def read(self, conversation: str) -> int:
        return len(self._history(conversation).messages)

    def append(self, conversation: str, role: str, text: str) -> None:
        self._history(conversation).add_messages([_message(role, text)])

    def turn(self, conversation: str, question: str, answer: str) -> None:
        """As `RunnableWithMessageHistory` does it: one read, and both messages added at once."""
        history = self._history(conversation)
        _ = history.messages
        history.add_messages([_message("user", question), _message("assistant", answer)])

    def _history(self, conversation: str) -> DynamoDBChatMessageHistory:
        if conversation not in self._kept:
            self._kept[conversation] = DynamoDBChatMessageHistory(TABLE, conversation)
        return self._kept[conversation]


def _message(role: str, text: str) -> BaseMessage:
    """An answer has an id and what it used, as one of a model has."""
    if role == "user":
        return HumanMessage(text)
    usage = {"input_tokens": 1234, "output_tokens": 256, "total_tokens": 1490}
    return AIMessage(text, id="lc_run--12345678-1234-4123-8123-123456789012-0", usage_metadata=usage)


if __name__ == "__main__":
    serve(LangChain())

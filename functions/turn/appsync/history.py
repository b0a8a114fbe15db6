"""The history of a turn from an AppSync API: its pages of messages, and the current one by id if they lack it.

AppSync lists the newest page first, each in ascending order. Its index is not consistent: a message that was written a
moment ago may be missing. Where Amplify's handler takes the first page for the whole, pages are followed here until
the limit of the query or the token budget is reached, and until the turn in progress is whole.
"""

from collections.abc import Sequence
from typing import Any

from conversations import tokens
from conversations.arrange import Window, arrange
from conversations.content import TOOL_RESULT
from conversations.errors import CurrentMessageNotFoundError
from conversations.history import History
from conversations.model import Message
from turn.appsync import documents
from turn.appsync.client import GraphQLClient
from turn.appsync.event import Channel, Task
from turn.appsync.messages import message_of

MOST_PAGES = 100
_PAGE_BEYOND_LIMIT = 100


def read_history(
    client: GraphQLClient, channel: Channel, task: Task, *, system_prompt: str, window: Window, spent: int = 0
) -> History:
    """The history as the model is sent it; of its ``repairs`` one is the read by id. ``spent`` are the estimated tokens
    of what is sent beside it.

    Raises:
        CurrentMessageNotFoundError: the message is not there, or stands in another conversation.
        OrphanToolResultError, EmptyMessageError: no valid list for the model ends with it.
        GraphQLError, TokenRefusedError, ApiUnavailableError: the API gave no answer.
    """
    reader = _Reader(client, channel, task)
    reader.read_page()
    repairs = 0
    if not reader.has_current():
        reader.add_current()
        repairs = 1
    while reader.has_more and not reader.is_enough(window):
        reader.read_page()
    prompt = arrange(
        reader.messages,
        channel.current_message_id,
        system_prompt=system_prompt,
        window=window,
        spent=spent,
        more_before=reader.has_more,
    )
    return History(prompt, channel.current_message_id, None, repairs)


class _Reader:
    """Reads pages, the newest first, and keeps their messages in the order of the conversation."""

    def __init__(self, client: GraphQLClient, channel: Channel, task: Task) -> None:
        self._client = client
        self._channel = channel
        self._task = task
        self._next_token: str | None = None
        self._pages = 0
        self._read = 0
        self.messages: list[Message] = []

    @property
    def has_more(self) -> bool:
        return self._next_token is not None

    def has_current(self) -> bool:
        return any(message.id == self._channel.current_message_id for message in self.messages)

    def is_enough(self, window: Window) -> bool:
        """Whether the rest need not be read: it would not fit, and the turn in progress begins in what was read."""
        is_read = self._read >= self._task.list_limit
        is_full = window.max_tokens is not None and _tokens(self.messages) > window.max_tokens
        return self._pages >= MOST_PAGES or ((is_read or is_full) and any(map(_begins_turn, self.messages)))

    def read_page(self) -> None:
        left = self._task.list_limit - self._read
        variables: dict[str, Any] = {
            "filter": {"conversationId": {"eq": self._channel.conversation_id}},
            "limit": left if left > 0 else _PAGE_BEYOND_LIMIT,
        }
        if self._next_token is not None:
            variables["nextToken"] = self._next_token
        data = self._client.ask(documents.list_messages(self._task.queries), variables)
        page = data.get(self._task.queries.list_name)
        items = page.get("items") if isinstance(page, dict) else None
        next_token = page.get("nextToken") if isinstance(page, dict) else None
        self._next_token = next_token if isinstance(next_token, str) and next_token else None
        self._pages += 1
        self._read += len(items) if isinstance(items, list) else 0
        self.messages = [*_messages(items), *self.messages]

    def add_current(self) -> None:
        """The current message, which the list lacks, stands at its end: it was written a moment ago."""
        found = self._client.ask(documents.get_message(self._task.queries), {"id": self._channel.current_message_id})
        current = message_of(found.get(self._task.queries.get_name), 0)
        wanted = (self._channel.conversation_id, self._channel.current_message_id)
        if current is None or (current.conversation_id, current.id) != wanted:
            raise CurrentMessageNotFoundError("There is no such message to be answered in this conversation.")
        self.messages = [*self.messages, current]


def _messages(items: object) -> list[Message]:
    taken = (message_of(item, place) for place, item in enumerate(items if isinstance(items, list) else ()))
    return [message for message in taken if message is not None]


def _begins_turn(message: Message) -> bool:
    return message.role == "user" and not any(TOOL_RESULT in block for block in message.content)


def _tokens(messages: Sequence[Message]) -> int:
    return sum(tokens.of_blocks(message.content) for message in messages)

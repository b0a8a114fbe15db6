"""Ten things that a store of chat histories is asked to do, by ours and by LangChain's own class for DynamoDB on the
same engine. Where that fails, the test says why, and fails itself on the day it no longer does.
"""

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol
from uuid import uuid4

import boto3
import httpx
import pytest
from botocore.exceptions import ClientError
from langchain_community.chat_message_histories.dynamodb import DynamoDBChatMessageHistory
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from conversation_memory import Client
from conversation_memory.errors import TooLargeError
from conversation_memory.langchain import ConversationMemoryHistory, list_sessions
from tests.clients.frameworks.conftest import API_URL
from tests.clients.frameworks.test_langchain_history import is_whole

Seen = Callable[[str, int], None]


class Peer(Protocol):
    """A way to keep histories."""

    def history(self, session_id: str, **options: Any) -> BaseChatMessageHistory:
        """The history of a session; ``newest`` says how many messages are shown, ``ttl`` how long it is kept."""

    def expire(self, session_id: str) -> None:
        """Let the session's time be over."""

    def counted(self, seen: Seen) -> Any:
        """A context in which each call to the service is told: its name, and the bytes that passed."""

    def before_the_next_write(self, interfere: Callable[[], None]) -> Any:
        """A context in which something comes between what the next append reads and what it writes."""

    def session_ids(self) -> list[str]:
        """All sessions."""


class Ours:
    """Conversation Memory."""

    def __init__(self) -> None:
        self.http = httpx.Client(timeout=60)
        self.memory = Client(API_URL, http=self.http)

    def history(self, session_id: str, **options: Any) -> BaseChatMessageHistory:
        return ConversationMemoryHistory(
            session_id, self.memory, max_messages=options.get("newest"), ttl=options.get("ttl")
        )

    def expire(self, session_id: str) -> None:
        conversation = self.memory.find_conversation(session_id)
        assert conversation
        boto3.client("dynamodb").update_item(
            TableName=os.environ["CONVERSATIONS_TABLE"],
            Key={"id": {"S": conversation["id"]}},
            UpdateExpression="SET expiresAt = :past",
            ExpressionAttributeValues={":past": {"N": "1"}},
        )

    @contextmanager
    def counted(self, seen: Seen) -> Iterator[None]:
        def told(response: httpx.Response) -> None:
            seen(f"{response.request.method}", len(response.request.content) + len(response.read()))

        self.http.event_hooks = {"response": [told]}
        yield
        self.http.event_hooks = {}

    @contextmanager
    def before_the_next_write(self, interfere: Callable[[], None]) -> Iterator[None]:
        def hook(request: httpx.Request) -> None:
            if request.method == "POST" and request.url.path.endswith("/messages"):
                self.http.event_hooks = {}
                interfere()

        self.http.event_hooks = {"request": [hook]}
        yield

    def session_ids(self) -> list[str]:
        return list_sessions(self.memory)


class LangChainCommunity:
    """The class of langchain-community, with a table as its documentation makes it."""

    def __init__(self) -> None:
        self.table = f"SessionTable{uuid4().hex}"
        self.session = boto3.Session()
        self._hooked: list[Callable[..., None]] = []
        client = self.session.client("dynamodb")
        client.create_table(
            TableName=self.table,
            KeySchema=[{"AttributeName": "SessionId", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "SessionId", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        client.close()

    def history(self, session_id: str, **options: Any) -> BaseChatMessageHistory:
        history = DynamoDBChatMessageHistory(
            self.table,
            session_id,
            boto3_session=self.session,
            history_size=options.get("newest"),
            ttl=options.get("ttl"),
        )
        for hook in self._hooked:
            history.table.meta.client.meta.events.register("after-call.dynamodb", hook)
        return history

    def expire(self, session_id: str) -> None:
        boto3.resource("dynamodb").Table(self.table).update_item(
            Key={"SessionId": session_id},
            UpdateExpression="SET expireAt = :past",
            ExpressionAttributeValues={":past": 1},
        )

    @contextmanager
    def counted(self, seen: Seen) -> Iterator[None]:
        def told(http_response: Any, model: Any, **_: Any) -> None:
            seen(model.name, len(http_response.content))

        self._hooked.append(told)
        yield
        self._hooked.remove(told)

    @contextmanager
    def before_the_next_write(self, interfere: Callable[[], None]) -> Iterator[None]:
        def hook(model: Any, **_: Any) -> None:
            if model.name == "GetItem" and hook in self._hooked:
                self._hooked.remove(hook)
                interfere()

        self._hooked.append(hook)
        yield

    def session_ids(self) -> list[str]:
        return self.history("any").session_ids()  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def peers() -> dict[str, Peer]:
    return {"ours": Ours(), "langchain-community": LangChainCommunity()}


@pytest.fixture
def peer(peers: dict[str, Peer], request: pytest.FixtureRequest) -> Peer:
    return peers[request.param]


def beside(reason: str, *errors: type[BaseException]) -> pytest.MarkDecorator:
    """Run a test on ours, which passes, and on LangChain's, which fails for this reason."""
    fails = pytest.mark.xfail(reason=reason, raises=errors or AssertionError, strict=True)
    return pytest.mark.parametrize("peer", ["ours", pytest.param("langchain-community", marks=fails)], indirect=True)


@beside("reads the whole item and writes it back without a condition: of two writers one loses")
def test_1_concurrent_appends_are_all_kept_in_the_order_of_each_writer(peer: Peer, session_id: str) -> None:
    def write(writer: int) -> None:
        for number in range(5):
            peer.history(session_id).add_messages([HumanMessage(f"{writer}.{number}")])

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(90)

    said = [str(message.content) for message in peer.history(session_id).messages]
    assert len(said) == 40
    assert all([text for text in said if text[0] == str(w)] == [f"{w}.{n}" for n in range(5)] for w in range(8))


@beside("DynamoDB's resource takes no float", TypeError)
def test_2_tools_come_back_equal_by_type(peer: Peer, session_id: str) -> None:
    args = {"int": 2, "float": 0.5, "whole": 1.0, "nested": {"null": None, "list": [1, "a"]}}
    calls = [{"name": "f", "args": args, "id": each} for each in ("a", "b")]
    parts: list[str | dict[Any, Any]] = ["part", {"type": "text", "text": "of a list"}]
    messages: list[BaseMessage] = [
        HumanMessage("Do."),
        AIMessage("", tool_calls=calls),
        ToolMessage("1", tool_call_id="a"),
        ToolMessage(parts, tool_call_id="b"),
    ]

    peer.history(session_id).add_messages(messages)

    found = peer.history(session_id).messages
    assert list(map(repr, found)) == list(map(repr, messages))
    answer = found[1]
    assert isinstance(answer, AIMessage)
    assert json.loads(json.dumps(answer.tool_calls[0]["args"])) == args


TALK = [
    SystemMessage("Be brief."),
    HumanMessage("1"),
    AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "a"}]),
    ToolMessage("2", tool_call_id="a"),
    AIMessage("3"),
]


@beside("cuts by number, through calls and their results")
def test_3_windows_keep_tools_together(peer: Peer, session_id: str) -> None:
    for newest in (2, 1, 3, 4, 5):
        kept = peer.history(f"{session_id} {newest}", newest=newest)
        kept.add_messages(TALK)
        found = kept.messages
        assert is_whole(found)
        assert found[0] == TALK[0]
        assert found[-1] == TALK[-1]
    assert peer.history(f"{session_id} 5", newest=0).messages == []


@beside("what is beyond the window is removed from what is stored")
def test_3_windows_remove_nothing(peer: Peer, session_id: str) -> None:
    for message in TALK:
        peer.history(session_id, newest=3).add_messages([message])

    assert peer.history(session_id).messages == TALK


@beside("a conversation is one item, and an item holds 400 KB", ClientError)
def test_4_size_is_no_surprise(peer: Peer, session_id: str) -> None:
    sizes = (399_000, 401_000, 4_000_000)
    messages = [HumanMessage("x" * size) for size in sizes] + [HumanMessage("😀" * 130_000)]
    for message in messages:
        peer.history(session_id).add_messages([message])
    with pytest.raises(TooLargeError):
        peer.history(session_id).add_messages([HumanMessage("before"), HumanMessage("x" * 6_000_000)])

    assert peer.history(session_id).messages == messages


@beside("there is no key by which a repeat could be told", TypeError)
def test_5_the_same_with_the_same_key_is_stored_once(peer: Peer, session_id: str) -> None:
    def append(_: int = 0) -> None:
        add: Any = peer.history(session_id).add_messages
        add([HumanMessage("once")], idempotency_key="key")

    append()
    threads = [threading.Thread(target=append) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert peer.history(session_id).messages == [HumanMessage("once")]


@beside("an append reads and writes all that there is, and so does every read")
def test_6_the_cost_does_not_grow(peer: Peer, session_id: str) -> None:
    def cost() -> list[tuple[str, int]]:
        told: list[tuple[str, int]] = []
        with peer.counted(lambda name, size: told.append((name, size))):
            peer.history(session_id).add_messages([HumanMessage("m" * 500)])
            assert peer.history(session_id, newest=20).messages[-1] == HumanMessage("m" * 500)
        return told

    def grow_to(length: int) -> None:
        present = len(peer.history(session_id).messages)
        peer.history(session_id).add_messages([HumanMessage("m" * 500) for _ in range(length - present)])

    grow_to(50)
    small = cost()
    grow_to(300)
    large = cost()

    assert [name for name, _ in large] == [name for name, _ in small]
    assert sum(size for _, size in large) < 1.1 * sum(size for _, size in small)


@beside("what was cleared is written back by an append that had read it before")
def test_7_what_is_cleared_does_not_come_back(peer: Peer, session_id: str) -> None:
    peer.history(session_id).add_messages([HumanMessage("old"), AIMessage("old")])

    with peer.before_the_next_write(peer.history(session_id).clear):
        peer.history(session_id).add_messages([HumanMessage("new")])

    assert peer.history(session_id).messages == [HumanMessage("new")]
    peer.history(session_id).add_messages([HumanMessage("next")])
    assert len(peer.history(session_id).messages) == 2


@beside("names that no key can be are noticed by DynamoDB alone, at the first call", pytest.fail.Exception)
def test_8_names_are_kept_apart_and_refused_by_type(peer: Peer, session_id: str) -> None:
    names = [f"{session_id}{end}" for end in ("", "#", "#b", "/", "%", "%23", "😀 +", "?x=1&y=2", "\n")]
    for name in names:
        peer.history(name).add_messages([HumanMessage(name)])

    for name in names:
        assert peer.history(name).messages == [HumanMessage(name)]
    for wrong in ("", "x" * 2049):
        with pytest.raises(ValueError, match="session id"):
            peer.history(wrong)


@beside("sessions cannot be listed", AttributeError)
def test_9_all_is_listed_however_much_it_is(peer: Peer, session_id: str) -> None:
    """Sessions, and more messages than the megabyte that one query of DynamoDB reads."""
    names = [f"{session_id} {number}" for number in range(5)]
    for name in names:
        peer.history(name).add_messages([HumanMessage("x")])
    ids = peer.session_ids()
    assert set(names) <= set(ids)
    assert len(ids) == len(set(ids))

    texts = [f"{number} " + "y" * 15_000 for number in range(98)]
    peer.history(session_id).add_messages([HumanMessage(text) for text in texts])
    assert [str(message.content) for message in peer.history(session_id).messages] == texts


@beside("shows what has expired until DynamoDB removes it, which may take days")
def test_10_what_has_expired_is_gone(peer: Peer, session_id: str) -> None:
    peer.history(session_id, ttl=86_400).add_messages([HumanMessage("old")])
    assert peer.history(session_id, ttl=86_400).messages

    peer.expire(session_id)

    assert peer.history(session_id, ttl=86_400).messages == []
    peer.history(session_id, ttl=86_400).add_messages([HumanMessage("new")])
    assert peer.history(session_id).messages == [HumanMessage("new")]

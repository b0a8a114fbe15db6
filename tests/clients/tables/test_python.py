"""Tables that the unmodified class of langchain-community wrote, in Python."""

import json
import time
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from click.testing import CliRunner
from langchain_community.chat_message_histories.dynamodb import DynamoDBChatMessageHistory
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

from conversation_memory import Client
from conversation_memory.cli import main
from conversation_memory.langchain import ConversationMemoryHistory, list_sessions
from conversation_memory.moving import move
from conversation_memory.moving.langchain_tables import LangChainTable
from tests.bed.listening import listening
from tests.bed.served import Served

Source = Callable[..., LangChainTable]
USAGE = {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12, "input_token_details": {"cache_read": 0}}
ARGS = {"days": 2, "ratio": Decimal("0.1"), "deep": {"a": [None, True, Decimal("-1.5E-7")]}, "large": 10**30}
TALK: list[BaseMessage] = [
    SystemMessage("Be brief."),
    HumanMessage("Hi 😀", id="m1", name="ada", example=True, additional_kwargs={"page": 1}),
    AIMessage(
        "",
        tool_calls=[{"name": "weather", "args": ARGS, "id": "call_1"}],
        invalid_tool_calls=[{"name": "broken", "args": "{", "id": "call_2", "error": "no"}],
        usage_metadata=USAGE,
        response_metadata={"model": "m", "logprobs": [Decimal("-0.25")]},
    ),
    ToolMessage("42", tool_call_id="call_1", name="weather", status="error"),
    ToolMessage(["a", {"type": "text", "text": "b"}], tool_call_id="call_2"),
    AIMessage([{"type": "text", "text": "It is sunny."}, {"type": "media", "data": b"\0\xff"}]),
    ChatMessage("Hm.", role="critic"),
    FunctionMessage("44", name="f"),
    HumanMessage(""),
    RemoveMessage("m1"),
]


def _numbers(value: Any) -> Any:
    """The value with numbers as Python writes them, and bytes as bytes: what the class gave is DynamoDB's."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, dict):
        return {name: _numbers(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_numbers(member) for member in value]
    return bytes(value) if hasattr(value, "value") and isinstance(value.value, bytes) else value


def _told(message: BaseMessage) -> tuple[type, Any]:
    return type(message), _numbers(message.model_dump())


@pytest.fixture
def written(python_session: dict[str, Any]) -> Callable[..., DynamoDBChatMessageHistory]:
    """A history of the class with these messages."""

    def write(
        table: str, session_id: str, messages: list[BaseMessage] | None = None, **options: Any
    ) -> DynamoDBChatMessageHistory:
        history = DynamoDBChatMessageHistory(table, session_id, **{**python_session, **options})
        history.add_messages(TALK if messages is None else messages)
        return history

    return write


def test_every_message_comes_back_as_the_class_gave_it_with_numbers_as_numbers(
    memory: Client, table: Any, source: Source, written: Any, kept: Any
) -> None:
    name = table("SessionId")
    given = {session: written(name, session).messages for session in ("one", "日本 #/%", "x" * 1024)}

    report = move(source(name, page_size=1), memory)

    assert (report.sessions, report.moved, report.skipped) == (3, 30, [])
    for session, expected in given.items():
        found = kept(session)
        assert list(map(_told, found)) == list(map(_told, expected))
        assert [message.content for message in found[:2]] == ["Be brief.", "Hi 😀"]
        assert found[2].tool_calls[0]["args"] == {**ARGS, "ratio": 0.1, "deep": {"a": [None, True, -1.5e-7]}}
        assert type(found[2].tool_calls[0]["args"]["days"]) is int
        assert found[5].content[1] == {"type": "media", "data": b"\0\xff"}


def test_moving_again_moves_only_what_is_new(
    memory: Client, table: Any, source: Source, written: Any, kept: Any, served: Served
) -> None:
    name = table("SessionId")
    history = written(name, "one", [HumanMessage("1")])
    move(source(name), memory)
    served.requests.clear()

    again = move(source(name), memory)

    assert (again.moved, again.present, again.skipped, again.notes) == (0, 1, [], [])
    assert {request.method for request in served.requests} <= {"GET", "POST"}
    assert [
        request for request in served.requests if request.url.path.endswith("/messages") and request.method == "POST"
    ] == []
    ConversationMemoryHistory("one", memory).add_user_message("Said here, and not answered.")
    history.add_messages([AIMessage("2"), HumanMessage("3")])
    grown = move(source(name), memory)
    assert (grown.moved, grown.present) == (2, 1)
    assert [message.content for message in kept("one")] == ["1", "Said here, and not answered.", "2", "3"]
    conversation = memory.find_conversation("one")
    assert conversation
    [first, _, answer, _] = memory.messages(conversation["id"])
    assert answer["associatedUserMessageId"] == first["id"]


def test_what_is_not_what_it_was_is_told(memory: Client, table: Any, source: Source, written: Any, kept: Any) -> None:
    name = table("SessionId")
    for session in ("shrunk", "changed", "cleared here", "deleted here", "windowed"):
        options = {"history_size": 2} if session == "windowed" else {}
        written(name, session, [HumanMessage("1"), AIMessage("2")], **options)
    move(source(name), memory)

    for session in ("shrunk", "changed"):
        written(name, session, []).clear()
    written(name, "shrunk", [HumanMessage("1")])
    written(name, "changed", [HumanMessage("another"), AIMessage("2"), HumanMessage("3")])
    written(name, "windowed", [HumanMessage("3")], history_size=2)
    ConversationMemoryHistory("cleared here", memory).clear()
    ConversationMemoryHistory("deleted here", memory).delete()
    report = move(source(name), memory)

    assert report.moved == 0
    assert {remark.session: remark.reason for remark in report.skipped} == {
        "changed": "is not what it was when 2 messages were moved: nothing more is",
        "windowed": "is not what it was when 2 messages were moved: nothing more is",
        "cleared here": "was moved before, and has been cleared since",
        "deleted here": "was moved before, and has been deleted or has expired since",
    }
    assert {remark.session: remark.reason for remark in report.notes} == {
        "shrunk": "holds fewer messages than were moved before (1 of 2)"
    }
    assert [message.content for message in kept("changed")] == ["1", "2"]
    assert kept("deleted here") == kept("cleared here") == []


def test_other_names_keys_and_retention(memory: Client, table: Any, source: Source, written: Any, kept: Any) -> None:
    named, keyed = table("user_id"), table("PK", "SK")
    options = {"primary_key_name": "user_id", "history_messages_key": "said", "ttl_key_name": "leaves_at"}
    written(named, "ada", ttl=90_000, **options)
    written(named, "gone", ttl=-5, **options)
    written(keyed, "any", key={"PK": "session_id::0", "SK": "a/b%"})

    report = move(source(named, ttl_attribute="leaves_at"), memory)
    move(source(keyed), memory)

    assert (report.sessions, report.gone, report.moved) == (2, 1, len(TALK))
    assert [(note.session, note.reason) for note in report.notes] == [("gone", "has expired")]
    assert len(kept("ada")) == len(kept("session_id::0/a%2Fb%25")) == len(TALK)
    assert "gone" not in list_sessions(memory)
    conversation = memory.find_conversation("ada")
    assert conversation
    assert conversation["ttlDays"] == 2


def test_malformed_rows_and_items_stop_nothing(
    memory: Client, table: Any, source: Source, written: Any, kept: Any, own_dynamodb: Any
) -> None:
    name = table("SessionId")
    row = {"M": {"type": {"S": "human"}, "data": {"M": {"content": {"S": "kept"}}}}}
    old = {"M": {"type": {"S": "ai"}, "data": {"M": {"content": {"S": "old"}, "example": {"BOOL": False}}}}}
    malformed = [
        {"S": "text"},
        {"M": {"type": {"S": "human"}}},
        {"M": {"type": {"S": "human"}, "data": {"S": "x"}}},
        {"M": {"type": {"S": "spaceship"}, "data": {"M": {}}}},
        {"M": {"type": {"S": "human"}, "data": {"M": {"name": {"S": "no content"}}}}},
        {"M": {"type": {"S": "tool"}, "data": {"M": {"content": {"S": "no call id"}}}}},
        {"M": {"type": {"S": "generic"}, "text": {"S": "no role"}}},
        {"M": {"type": {"S": "human"}, "text": {"S": "t"}, "additional_kwargs": {"S": "{"}}},
        {"M": {"type": {"S": "human"}, "text": {"S": "t"}, "additional_kwargs": {"S": "[" * 50_000}}},
    ]
    items: dict[str, Any] = {
        "rows": {"History": {"L": [row, *malformed, old]}},
        "empty": {"History": {"L": []}},
        "missing": {"expireAt": {"N": str(int(time.time()) + 1000)}},
        "only malformed": {"History": {"L": malformed[:1]}},
        "no list": {"History": {"S": "encrypted"}},
        "another thing": {"name": {"S": "Ada"}, "tags": {"L": [{"S": "x"}]}},
        "x" * 1025: {"History": {"L": [row]}},
        "expired": {"History": {"L": [row]}, "expireAt": {"N": "1700000000"}},
    }
    for session, item in items.items():
        own_dynamodb.put_item(TableName=name, Item={"SessionId": {"S": session}, **item})

    report = move(source(name), memory)

    assert [message.content for message in kept("rows")] == ["kept", "old"]
    assert (report.sessions, report.moved, report.gone, report.empty) == (8, 2, 1, 2)
    told = {(remark.session, remark.place): remark.reason for remark in report.skipped}
    assert {place for session, place in told if session == "rows"} == set(range(1, 10))
    assert told["rows", 4] == "is no message of LangChain: Got unexpected message type: spaceship"
    assert told["rows", 6] == "is no message of LangChain: it lacks 'tool_call_id'"
    assert set(told) - {("rows", place) for place in range(1, 10)} == {
        *{("only malformed", 0), ("no list", None), ("another thing", None), ("x" * 1025, None)}
    }
    assert list_sessions(memory) == ["rows"]


def test_an_item_as_large_as_an_item_may_be(
    memory: Client, table: Any, source: Source, written: Any, kept: Any
) -> None:
    name = table("SessionId")
    many = [HumanMessage(f"{number} " + "x" * 700) for number in range(450)]
    written(name, "many", many)
    written(name, "one", [HumanMessage("😀" * 97_000)])

    report = move(source(name), memory)

    assert (report.moved, report.skipped) == (451, [])
    assert kept("many") == many
    assert kept("one") == [HumanMessage("😀" * 97_000)]


def test_a_dry_run_says_the_same_and_writes_nothing(
    memory: Client, table: Any, source: Source, written: Any, served: Served
) -> None:
    name = table("SessionId")
    history = written(name, "one", [HumanMessage("1"), AIMessage("2")])
    written(name, "two", [HumanMessage("1")])

    dry = move(source(name), memory, is_dry=True)

    assert (dry.sessions, dry.moved, dry.present, dry.skipped) == (2, 3, 0, [])
    assert {request.method for request in served.requests} == {"GET"}
    assert list(memory.conversations()) == []
    move(source(name), memory)
    history.add_messages([HumanMessage("3")])
    dry = move(source(name), memory, is_dry=True)
    assert (dry.moved, dry.present) == (1, 3)


def test_parts_of_a_table_are_moved_apart(memory: Client, table: Any, source: Source, written: Any) -> None:
    name = table("SessionId")
    for number in range(6):
        written(name, str(number), [HumanMessage("x")])

    parts = [move(source(name, segment=(number, 2), read_units=1000), memory) for number in range(2)]

    assert sum(part.moved for part in parts) == 6
    assert sorted(list_sessions(memory)) == [str(number) for number in range(6)]
    with pytest.raises(ValueError, match="segment"):
        source(name, segment=(2, 2))


def test_the_command_line_moves_a_table(
    table: Any, source: Source, written: Any, kept: Any, served: Served, dynamodb_endpoint: str
) -> None:
    name = table("SessionId")
    written(name, "one")
    with listening(served) as url:
        arguments = [*("import", "langchain", name, "--table-endpoint", dynamodb_endpoint), "--url", url, "--json"]

        done = CliRunner().invoke(main, arguments)
        refused = CliRunner().invoke(main, ["import", "langchain", "none", *arguments[3:]])

    report = json.loads(done.stdout.splitlines()[-1])
    assert (done.exit_code, report["moved"], report["skipped"]) == (0, len(TALK), [])
    assert len(kept("one")) == len(TALK)
    assert (refused.exit_code, refused.stderr.partition(":")[0]) == (1, "Error")
    assert "ResourceNotFoundException" in refused.stderr
    bad = CliRunner().invoke(main, ["import", "langchain", "none", "--segment", "4/4", "--url", "http://127.0.0.1:9"])
    assert bad.exit_code == 2

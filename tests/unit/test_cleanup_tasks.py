"""The messages of the cleanup queue, and what of the table's stream becomes one."""

import json
from dataclasses import replace
from typing import Any

import pytest

from cleanup.settings import CleanupSettings
from cleanup.tasks import from_message, news_in, to_message
from conversations import codec
from conversations.cleaning import End, Task
from conversations.deleting import TOMBSTONE_KEPT_S, tombstone_of
from conversations.errors import InvalidRequestError
from conversations.model import About, Conversation
from conversations.notes import Notes

ID = "c" * 20
CREATED = "2026-11-30T12:00:00.000000000Z"
DELETED = "2026-12-01T12:00:00.000000000Z"
STANDING = Conversation(
    ID,
    "owner",
    CREATED,
    CREATED,
    version=7,
    chain=2,
    message_count=3,
    last_message_id=f"{ID}~2.last",
    last_message_at=CREATED,
    last_system_message_id=f"{ID}~2.first",
    about=About(name="Secret", session_id="Secret session", metadata={"a": "Secret"}, application_type="Secret"),
    ttl_days=3,
    expires_at=9,
    request_hash="hash",
)
TOMBSTONE = tombstone_of(STANDING, DELETED)


def _record(before: Conversation | None, after: Conversation | None, item_id: str = ID) -> dict[str, Any]:
    change: dict[str, Any] = {"Keys": {"id": {"S": item_id}}, "SequenceNumber": "1"}
    if before:
        change["OldImage"] = codec.conversation_to_item(before)
    if after:
        change["NewImage"] = codec.conversation_to_item(after)
    return {"eventSource": "aws:dynamodb", "dynamodb": change}


def test_a_tombstone_keeps_what_cleanup_needs_and_nothing_that_was_said() -> None:
    item = codec.conversation_to_item(TOMBSTONE)

    assert codec.conversation_from_item(item) == TOMBSTONE
    assert "Secret" not in json.dumps(item)
    assert (TOMBSTONE.version, TOMBSTONE.chain, TOMBSTONE.last_message_id) == (8, 2, f"{ID}~2.last")
    assert TOMBSTONE.expires_at == 1796126400 + TOMBSTONE_KEPT_S
    assert not {"updatedAt", "activeMonth", "activeHour"} & set(item)


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (STANDING, TOMBSTONE, "buried"),
        (None, TOMBSTONE, "buried"),
        (TOMBSTONE, TOMBSTONE, None),
        (None, STANDING, None),
        (STANDING, STANDING, None),
        (STANDING, None, "removed"),
        (TOMBSTONE, None, "tombstone removed"),
    ],
)
def test_tombstones_and_removals_are_news(
    before: Conversation | None, after: Conversation | None, kind: str | None
) -> None:
    news = news_in(_record(before, after))

    assert (news.kind if news else None) == kind
    assert news is None or news.conversation == (after or before)


@pytest.mark.parametrize("item_id", [f"{ID}.about", "session.digest", "recent.digest.1"])
def test_records_beside_conversations_are_no_news(item_id: str) -> None:
    record = _record(None, None, item_id)
    record["dynamodb"]["OldImage"] = {"id": {"S": item_id}}

    assert news_in(record) is None


@pytest.mark.parametrize(
    "task",
    [
        Task(ID),
        Task(ID, 3),
        Task(ID, tombstone=TOMBSTONE),
        Task(ID, 1, TOMBSTONE),
        Task(ID, 1, end=End(f"{ID}~1.last", 7)),
    ],
)
def test_a_task_comes_back_from_its_message(task: Task) -> None:
    assert from_message(to_message(task)) == task


def test_a_message_may_name_a_conversation_and_nothing_else() -> None:
    assert from_message(json.dumps({"conversationId": ID})) == Task(ID)
    assert to_message(Task(ID)) == f'{{"conversationId":"{ID}"}}'


def test_a_clear_tells_how_its_chain_ended() -> None:
    standing = replace(STANDING, notes=Notes().with_trace(1).with_trace(2))
    cleared = replace(standing, chain=3, last_message_id=None, cleared_at=DELETED, notes=Notes())

    news = news_in(_record(standing, cleared))

    assert news is not None
    assert (news.kind, news.end) == ("cleared", End(f"{ID}~2.last", 2))
    task = Task(ID, 2, end=news.end)
    assert (task.from_chain(2), task.from_chain(3)) == (task, Task(ID, 3))


@pytest.mark.parametrize("wrong", [{"traces": -1}, {"traces": "1"}, {"lastMessageId": 1}, {"chain": True}])
def test_a_malformed_message_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequestError) as raised:
        from_message(json.dumps({"conversationId": ID, **wrong}))
    assert raised.value.field == next(iter(wrong))


def test_settings_name_all_that_is_missing() -> None:
    with pytest.raises(KeyError, match="CLEANUP_QUEUE_URL, CONVERSATIONS_TABLE, MESSAGES_TABLE"):
        CleanupSettings.from_env({"BODIES_BUCKET": "b"})

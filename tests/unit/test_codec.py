"""Items of the tables and values of the domain."""

import base64
import json
import os
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conversations import codec, schema
from conversations.codec.bulk import LARGEST_UNPACKED_BYTES
from conversations.model import About, Conversation, Draft, Message, Turn
from tests.bed.messages import said
from tests.bed.request_units import item_bytes

NOW = "2026-11-30T12:00:00.000000001Z"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def _message(text: str, **fields: Any) -> Message:
    return Message("c" * 20 + ".local", "c" * 20, "user", said(text), NOW, 7, tokens=3, **fields)


def _prose(size: int) -> str:
    return ("The quick brown fox jumps over the lazy dog, and nobody knows why. " * 40)[:size]


def _as_sent(item: codec.Item) -> codec.Item:
    """As DynamoDB sends it, with base64 for bytes."""
    return {
        name: {kind: base64.b64encode(value).decode() if kind == "B" else value for kind, value in of.items()}
        for name, of in item.items()
    }


def _size(item: codec.Item) -> int:
    return item_bytes(_as_sent(item))


@given(st.text(min_size=1), JSON, st.dictionaries(st.text(max_size=5), JSON, max_size=3))
@settings(max_examples=200, deadline=None)
def test_a_message_comes_back_equal_by_type(text: str, context: Any, metadata: dict[str, Any]) -> None:
    message = _message(text, ai_context=context, metadata=metadata, previous_message_id="c.before", asks=True)

    back = codec.message_from_item(codec.message_to_item(message))

    assert back == message
    assert json.dumps([back.ai_context, back.metadata]) == json.dumps([context, metadata])  # 1 is not 1.0 nor true


def test_english_of_a_kilobyte_takes_one_write_unit() -> None:
    item = codec.message_to_item(_message(_prose(1024)))

    assert set(item[schema.WORDS]) == {"B"}
    assert _size(item) <= codec.WRITE_UNIT_BYTES
    assert codec.message_from_item(_as_sent(item)) == codec.message_from_item(item) == _message(_prose(1024))


def test_text_that_is_small_or_saves_no_write_unit_stays_text() -> None:
    noise = base64.b64encode(os.urandom(1125)).decode()  # 1,500 characters that shrink by a quarter: 2 units as well

    assert set(codec.message_to_item(_message("hello"))[schema.WORDS]) == {"S"}
    assert set(codec.message_to_item(_message(noise))[schema.WORDS]) == {"S"}


@pytest.mark.parametrize(("size", "is_large"), [(16_000, False), (40_000, True)])
def test_above_32_kb_the_bulk_is_stored_elsewhere(size: int, is_large: bool) -> None:
    draft = Draft("local", "user", said(os.urandom(size).hex()), metadata={"a": 1})

    bulk = codec.bulk_of(draft)

    assert (bulk is not None) == is_large
    if bulk is not None:
        pointing = replace(_message("x"), content=draft.content, metadata=draft.metadata, large_key="k")
        item = codec.message_to_item(pointing)
        assert _size(item) < codec.WRITE_UNIT_BYTES
        unloaded = codec.message_from_item(item)
        assert unloaded is not None
        assert unloaded.content == ()
        assert codec.with_bulk(unloaded, bulk) == pointing


@pytest.mark.parametrize(("size", "is_large"), [(100_000, False), (LARGEST_UNPACKED_BYTES, True)])
def test_what_shrinks_is_bounded_unpacked_too(size: int, is_large: bool) -> None:
    """Else a page of a thousand items of a few KB could be gigabytes."""
    bulk = codec.bulk_of(Draft("local", "user", said("a" * size)))

    assert (bulk is not None) == is_large
    assert bulk is None or len(bulk) < 1000


def test_a_text_alone_needs_no_document() -> None:
    before = "c" * 20 + ".before"
    message = _message("hello", previous_message_id=before, associated_user_message_id="other.question")

    item = codec.message_to_item(message)

    assert item[schema.PLACE] == {"S": "7 user 3 1 .before other.question  "}
    assert item[schema.WORDS] == {"S": "hello"}
    assert schema.BODY not in item
    assert codec.message_from_item(item) == message


def test_text_and_document_are_compressed_together_where_that_saves_a_write_unit() -> None:
    both = codec.message_to_item(_message(_prose(300), metadata={"a": _prose(300)}))
    together = codec.message_to_item(_message(_prose(900), metadata={"a": "\u65e5\u672c" * 100}))

    assert (set(both[schema.WORDS]), set(both[schema.BODY])) == ({"S"}, {"S"})
    assert set(together[schema.BODY]) == {"B"}
    assert schema.WORDS not in together
    assert _size(together) <= codec.WRITE_UNIT_BYTES


def test_a_place_that_could_not_be_read_again_is_not_written() -> None:
    with pytest.raises(ValueError, match="holds a space"):
        codec.message_to_item(_message("x", request_hash="a b"))


@pytest.mark.parametrize(
    "content",
    [
        [{"text": "a"}, {"text": "b"}],
        [{"text": "a", "of": "another kind"}],
        [{"text": 5}],
        [{"image": {"format": "png"}}],
        [{}],
        [],
        [{"text": ""}],
        [{"text": '"\\ \u2028\u0000\U0001f600'}],
    ],
)
@pytest.mark.parametrize("tokens", [0, 3])
def test_whatever_is_said_comes_back(content: list[dict[str, Any]], tokens: int) -> None:
    message = replace(_message("x"), content=content, tokens=tokens, system_message_id="c.s", request_hash="h")

    assert codec.message_from_item(codec.message_to_item(message)) == message


def test_an_item_as_it_was_written_once_is_read() -> None:
    """All of it stood in the document."""
    document = {
        "role": "assistant",
        "position": 7,
        "previousMessageId": "c.before",
        "associatedUserMessageId": "c.question",
        "tokens": 3,
        "content": said("x"),
    }
    item: codec.Item = {
        "id": {"S": "c" * 20 + ".local"},
        "conversationId": {"S": "c" * 20},
        "createdAt": {"S": NOW},
        "rev": {"N": "2"},
        "body": {"S": json.dumps(document)},
    }

    expected = _message("x", previous_message_id="c.before", associated_user_message_id="c.question", rev=2)
    assert codec.message_from_item(item) == replace(expected, role="assistant")


@pytest.mark.parametrize(
    "damage",
    [
        {schema.BODY: {"S": "{"}},
        {schema.BODY: {"S": "{} {}"}},
        {schema.BODY: {"B": b"junk"}},
        {schema.BODY: {"S": "[]"}},
        {schema.WORDS: {"B": b"junk"}},
        {schema.WORDS: {"B": "no base64"}},
        {schema.PLACE: {"S": "7 user 3"}},
        {schema.PLACE: {"S": "seven user 3 1    "}},
        {schema.PLACE: None},
        {schema.PLACE: None, schema.BODY: {"S": '{"content": []}'}},
    ],
)
def test_an_item_that_cannot_be_read_is_an_unreadable_message(damage: dict[str, Any]) -> None:
    item = codec.message_to_item(_message("x")) | damage
    item = {name: value for name, value in item.items() if value is not None}

    message = codec.message_from_item(item)

    assert message is not None
    assert (message.readable, message.id, message.created_at) == (False, "c" * 20 + ".local", NOW)
    assert (message.position, message.content) == (0, ())


def _conversation(**about: Any) -> Conversation:
    return Conversation(
        id="c" * 20,
        owner="o" * 36,
        created_at=NOW,
        updated_at=NOW,
        version=12345,
        message_count=1234,
        last_message_id="c" * 20 + "." + "l" * 64 + ".response",
        last_message_at=NOW,
        about=About(**about),
        ttl_days=30,
        expires_at=1_800_000_000,
    )


def test_a_conversation_comes_back() -> None:
    conversation = _conversation(name="日本", session_id="s/1", metadata={"a": [None, 1.0]})

    assert codec.conversation_from_item(codec.conversation_to_item(conversation)) == conversation


def test_what_would_make_a_conversation_large_stands_elsewhere() -> None:
    conversation = _conversation(name="n" * 1000, metadata={"a": "b" * 5000})

    item = codec.conversation_to_item(conversation)
    about = codec.about_item(conversation)

    assert _size(item) < codec.WRITE_UNIT_BYTES
    assert codec.conversation_from_item(item).about is None
    assert about is not None
    assert codec.about_of_item(about) == conversation.about


def test_the_largest_conversation_stays_under_a_write_unit() -> None:
    about = {"name": "n" * 230}
    assert codec.about_item(_conversation(**about)) is None
    assert _size(codec.conversation_to_item(_conversation(**about))) < codec.WRITE_UNIT_BYTES


def test_a_turn_comes_back_and_expires_after_30_days() -> None:
    turn = Turn("c.m", "running", "2026-11-30T00:00:00.000000000Z", 2, 5, _prose(2000), {"code": "x", "message": "y"})

    item = codec.turn_to_item(turn)

    assert codec.turn_from_item(item) == turn
    assert int(item[schema.EXPIRES_AT]["N"]) == 1795996800 + 30 * 24 * 3600
    assert codec.message_from_item(item) is None


@pytest.mark.parametrize("character", ["x", "é", "語", "😀"])
def test_of_a_partial_text_that_no_item_holds_the_beginning_stays(character: str) -> None:
    text = "".join(f"{os.urandom(2).hex()}{character}" for _ in range(150_000))

    item = codec.turn_to_item(Turn("c.m", "failed", NOW, partial_text=text))
    back = codec.turn_from_item(item)

    assert _size(item) < 400 * 1024
    assert back is not None
    assert text.startswith(back.partial_text)
    assert len(back.partial_text.encode()) > 350 * 1024 - 4

"""The store on DynamoDB. One method is one call, or one call repeated until all of its answer is there."""

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from conversations import codec, ids, schema
from conversations import dynamo_requests as requests
from conversations.aws_errors import reading, writing
from conversations.clock import Clock
from conversations.codec import Item
from conversations.errors import BusyError, ContendedError, LostPinError
from conversations.model import Conversation, Draft, Message, Snapshot, Turn
from conversations.objects import Objects
from conversations.store import Listed, Outcome, Span

_BATCH_GET_KEYS = 100  # BatchGetItem's limit
_BATCH_TRIES = 8
_MESSAGE_ATTRIBUTES = f"{schema.ID}, {schema.CREATED_AT}, {schema.BODY}, {schema.REV}"


@dataclass(frozen=True, slots=True)
class Tables:
    """The names of the two tables."""

    messages: str
    conversations: str


class DynamoStore:
    """Implements ``store.Store``. The clients are shared and thread-safe."""

    def __init__(self, client: Any, tables: Tables, objects: Objects, clock: Clock) -> None:
        self._client = client
        self._tables = tables
        self._objects = objects
        self._clock = clock
        self._lost_pins = 0

    def take_lost_pins(self) -> int:
        """How many writes met others since this was last asked. They are tried again; many are a sign of a hot item."""
        lost, self._lost_pins = self._lost_pins, 0
        return lost

    # Reads

    def snapshot(
        self, conversation_id: str, *, messages: Sequence[str] = (), turns: Sequence[str] = (), about: bool = False
    ) -> Snapshot:
        heads = [conversation_id] + [ids.about_record_id(conversation_id)] * about
        items = self._batch_get(heads, [*messages, *(ids.turn_id(message_id) for message_id in turns)])
        conversation = _conversation(items, conversation_id)
        found = [codec.message_from_item(items[key]) for key in messages if key in items]
        states = [codec.turn_from_item(items[ids.turn_id(key)]) for key in turns if ids.turn_id(key) in items]
        return Snapshot(
            conversation,
            {message.id: message for message in found if message},
            {turn.user_message_id: turn for turn in states if turn},
        )

    def message(self, message_id: str) -> Message | None:
        with reading():
            answer = self._client.get_item(
                TableName=self._tables.messages, Key=requests.key(message_id), ConsistentRead=True
            )
        return codec.message_from_item(answer["Item"]) if "Item" in answer else None

    def messages(self, message_ids: Iterable[str]) -> dict[str, Message]:
        items = self._batch_get((), list(dict.fromkeys(message_ids)))
        found = (codec.message_from_item(item) for item in items.values())
        return {message.id: message for message in found if message}

    def indexed(self, span: Span, *, newest_first: bool, limit: int) -> list[Message]:
        condition, values = requests.span_condition(span)
        query = {
            "TableName": self._tables.messages,
            "IndexName": schema.MESSAGES_INDEX,
            "KeyConditionExpression": condition,
            "ExpressionAttributeValues": values,
            "ProjectionExpression": _MESSAGE_ATTRIBUTES,
            "ScanIndexForward": not newest_first,
        }
        items = self._query(query, limit)
        return [message for item in items if (message := codec.message_from_item(item))]

    def load(self, messages: Sequence[Message]) -> list[Message]:
        wanted = [message.large_key for message in messages if message.large_key and not message.content]
        if not wanted:
            return list(messages)
        bulks = self._objects.get(wanted)
        return [_loaded(message, bulks) for message in messages]

    def receipt(self, receipt_id: str) -> list[str] | None:
        items = self._batch_get((), [receipt_id])
        return codec.receipt_from_item(items[receipt_id]) if receipt_id in items else None

    def session(self, owner: str, session_id: str) -> str | None:
        record_id = ids.session_record_id(owner, session_id)
        record = self._batch_get([record_id], ()).get(record_id)
        return record[schema.TARGET]["S"] if record else None

    def owned(self, owner: str, *, after: Listed | None, limit: int) -> list[Listed]:
        return self._listed(schema.OWNER_INDEX, (schema.OWNER, owner), schema.UPDATED_AT, after, limit)

    def active(self, month: str, *, after: Listed | None, limit: int) -> list[Listed]:
        return self._listed(schema.ACTIVITY_INDEX, (schema.ACTIVE_MONTH, month), schema.ACTIVE_HOUR, after, limit)

    def recent(self, owner: str, minutes: Iterable[int]) -> set[str]:
        records = self._batch_get([ids.recent_record_id(owner, minute) for minute in minutes], ())
        noted = (record[schema.MEMBERS]["SS"] for record in records.values() if schema.MEMBERS in record)
        return {member for members in noted for member in members}

    def conversations(self, conversation_ids: Iterable[str]) -> dict[str, Conversation]:
        wanted = list(dict.fromkeys(conversation_ids))
        items = self._batch_get(wanted, ())
        elsewhere = [key for key in items if codec.conversation_from_item(items[key]).about is None]
        items |= self._batch_get([ids.about_record_id(key) for key in elsewhere], ())
        found = (_conversation(items, key) for key in wanted)
        return {conversation.id: conversation for conversation in found if conversation}

    # Writes

    def shelve(self, conversation_id: str, drafts: Sequence[Draft]) -> list[Draft]:
        return [self._shelved(conversation_id, draft) for draft in drafts]

    def unshelve(self, drafts: Sequence[Draft]) -> None:
        self._objects.delete(draft.large_key for draft in drafts if draft.large_key)

    def create(self, conversation: Conversation, *, session_replaces: str | None = None) -> None:
        session_id = conversation.about.session_id if conversation.about else None
        actions = [requests.note_recent(self._tables.conversations, conversation, self._clock.now_ns())]
        if about := codec.about_item(conversation):
            actions.append(requests.put(self._tables.conversations, about))
        if session_id is not None:
            actions.append(requests.put_session(self._tables.conversations, conversation, session_id, session_replaces))
        actions.append(requests.put(self._tables.conversations, codec.conversation_to_item(conversation), new=True))
        self._transact(actions, puts=[conversation.id])

    def append(self, head: Conversation, moved: Conversation, messages: Sequence[Message]) -> None:
        answered = [message.id for message in messages]
        items = [codec.receipt_item(head.chain_id, m.receipt, answered) for m in messages if m.receipt]
        items += [codec.message_to_item(message) for message in messages]
        puts = [requests.put(self._tables.messages, item, new=True) for item in items]
        self._transact(
            [requests.move(self._tables.conversations, head, moved), *puts],
            puts=[item[schema.ID]["S"] for item in items],
        )

    def revise(self, head: Conversation, changed: Conversation) -> None:
        table = self._tables.conversations
        actions = [requests.move(table, head, changed)]
        if about := codec.about_item(changed):
            actions.append(requests.put(table, about))
        elif codec.about_item(head):
            actions.append(requests.put(table, codec.empty_about_item(head.id)))
        self._transact(actions)

    def outcome(self, outcome_id: str) -> Outcome | None:
        items = self._batch_get([outcome_id], ())
        return codec.outcome_from_item(items[outcome_id]) if outcome_id in items else None

    def keep_outcome(self, outcome_id: str, outcome: Outcome) -> None:
        item = codec.outcome_to_item(outcome_id, outcome, self._clock.now_ns())
        self._transact([requests.put(self._tables.conversations, item, new=True)], puts=[outcome_id])

    def bury(self, tombstone: Conversation, *, expects: Conversation | None) -> None:
        with self._writing():
            self._client.put_item(**requests.bury(self._tables.conversations, tombstone, expects))

    def claim(self, turn: Turn, *, expects: Turn | None) -> None:
        with self._writing():
            self._client.put_item(**requests.put_turn(self._tables.messages, turn, expects))

    def progress(self, turn: Turn, *, with_text: bool) -> None:
        item = codec.turn_to_item(turn)
        names = [schema.LEASE_UNTIL, schema.UPDATED_AT, schema.EXPIRES_AT]
        if with_text:
            names.append(schema.PARTIAL)
        with self._writing():
            self._client.update_item(
                TableName=self._tables.messages,
                Key={schema.ID: item[schema.ID]},
                UpdateExpression="SET " + ", ".join(f"#{name} = :{name}" for name in names),
                ConditionExpression="#status = :status AND #attempt = :attempt",
                ExpressionAttributeNames=requests.names([*names, schema.STATUS, schema.ATTEMPT]),
                ExpressionAttributeValues={f":{name}": item[name] for name in [*names, schema.STATUS, schema.ATTEMPT]},
            )

    def settle(self, head: Conversation, turn: Turn, *, expects: Turn | None) -> None:
        raised = replace(head, version=head.version + 1, cleared_at=None)
        self._transact(
            [
                requests.move(self._tables.conversations, head, raised),
                {"Put": requests.put_turn(self._tables.messages, turn, expects)},
            ]
        )

    # The parts of calls

    @contextmanager
    def _writing(self, puts: Sequence[str] = ()) -> Iterator[None]:
        try:
            with writing(puts):
                yield
        except (LostPinError, ContendedError):
            self._lost_pins += 1
            raise

    def _listed(
        self, index: str, partition: tuple[str, str], sort: str, after: Listed | None, limit: int
    ) -> list[Listed]:
        query = requests.listing(self._tables.conversations, index, partition, sort, after)
        return [Listed(item[sort]["S"], item[schema.ID]["S"]) for item in self._query(query, limit)]

    def _shelved(self, conversation_id: str, draft: Draft) -> Draft:
        bulk = codec.bulk_of(draft)
        return replace(draft, large_key=self._objects.put(conversation_id, draft.local, bulk)) if bulk else draft

    def _transact(self, actions: Sequence[Mapping[str, Any]], *, puts: Sequence[str] = ()) -> None:
        with self._writing(puts):
            self._client.transact_write_items(TransactItems=actions)

    def _query(self, query: dict[str, Any], limit: int) -> list[Item]:
        items: list[Item] = []
        while True:
            with reading():
                answer = self._client.query(**query, Limit=limit - len(items))
            items.extend(answer["Items"])
            if len(items) >= limit or "LastEvaluatedKey" not in answer:
                return items
            query = query | {"ExclusiveStartKey": answer["LastEvaluatedKey"]}

    def _batch_get(self, conversation_keys: Sequence[str], message_keys: Sequence[str]) -> dict[str, Item]:
        """All items of these keys that exist, consistently read, by id: no id stands in both tables."""
        keys = [(self._tables.conversations, key) for key in conversation_keys]
        keys += [(self._tables.messages, key) for key in message_keys]
        keys = list(dict.fromkeys(keys))  # BatchGetItem refuses a key that is named twice
        if len(keys) == 1:
            return self._get(*keys[0])
        items: dict[str, Item] = {}
        for first in range(0, len(keys), _BATCH_GET_KEYS):
            items |= self._batch_get_once(keys[first : first + _BATCH_GET_KEYS])
        return items

    def _get(self, table: str, key: str) -> dict[str, Item]:
        with reading():
            answer = self._client.get_item(TableName=table, Key=requests.key(key), ConsistentRead=True)
        return {key: answer["Item"]} if "Item" in answer else {}

    def _batch_get_once(self, keys: Sequence[tuple[str, str]]) -> dict[str, Item]:
        request: dict[str, Any] = {}
        for table, key in keys:
            request.setdefault(table, {"Keys": [], "ConsistentRead": True})["Keys"].append(requests.key(key))
        items: dict[str, Item] = {}
        for tries in range(_BATCH_TRIES):
            with reading():
                answer = self._client.batch_get_item(RequestItems=request)
            for found in answer["Responses"].values():
                items |= {item[schema.ID]["S"]: item for item in found}
            request = answer.get("UnprocessedKeys") or {}
            if not request:
                return items
            self._clock.sleep(min(1.0, 0.02 * 2**tries))
        raise BusyError("The store is busy; try again.")


def _conversation(items: Mapping[str, Item], conversation_id: str) -> Conversation | None:
    item = items.get(conversation_id)
    if item is None:
        return None
    conversation = codec.conversation_from_item(item)
    about = items.get(ids.about_record_id(conversation_id))
    return (
        replace(conversation, about=codec.about_of_item(about))
        if about and conversation.about is None
        else conversation
    )


def _loaded(message: Message, bulks: Mapping[str, bytes]) -> Message:
    if message.large_key is None or message.content:
        return message
    try:
        return codec.with_bulk(message, bulks[message.large_key])
    except (KeyError, ValueError, zlib.error):  # the object is gone or damaged, which is no reason to lose the page
        return replace(message, readable=False)

"""The store on DynamoDB. One method is one call, or one call repeated until all of its answer is there."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from conversations import codec, ids, schema
from conversations import dynamo_requests as requests
from conversations.aws_errors import reading
from conversations.bulky import Bulk
from conversations.clock import Clock
from conversations.codec import Item
from conversations.dynamo_calls import Calls, Tables
from conversations.model import Conversation, Draft, Message, Snapshot, Trace, Turn
from conversations.objects import Objects
from conversations.store import Activity, Listed, Outcome, Span

__all__ = ["DynamoStore", "Tables"]

_MESSAGE_ATTRIBUTES = ", ".join((schema.ID, schema.CREATED_AT, schema.PLACE, schema.WORDS, schema.BODY))


class DynamoStore:
    """Implements ``store.Store``. The clients are shared and thread-safe."""

    def __init__(self, client: Any, tables: Tables, objects: Objects, clock: Clock) -> None:
        self._calls = Calls(client, tables, clock)
        self._tables = tables
        self._bulk = Bulk(objects)
        self._clock = clock

    def take_lost_pins(self) -> int:
        """How many writes met others since this was last asked. They are tried again; many are a sign of a hot item."""
        return self._calls.take_lost_pins()

    # Reads

    def snapshot(
        self,
        conversation_id: str,
        *,
        messages: Sequence[str] = (),
        turns: Sequence[str] = (),
        traces: Sequence[str] = (),
        about: bool = False,
    ) -> Snapshot:
        items = self._calls.batch_get([conversation_id], [*messages, *map(ids.turn_id, turns), *traces])
        conversation = _conversation(items, conversation_id, self._clock)
        if about and conversation is not None and conversation.about is None:
            # After the head: one BatchGetItem is no snapshot, and a description older than the head whose version is
            # pinned would undo the change that came between.
            items |= self._calls.batch_get([ids.about_record_id(conversation_id)], ())
            conversation = _conversation(items, conversation_id, self._clock)
        found = [codec.message_from_item(items[key]) for key in messages if key in items]
        states = [codec.turn_from_item(items[ids.turn_id(key)]) for key in turns if ids.turn_id(key) in items]
        return Snapshot(
            conversation,
            {message.id: message for message in found if message},
            {turn.user_message_id: turn for turn in states if turn},
            _traces_in(items, traces),
        )

    def message(self, message_id: str) -> Message | None:
        with reading():
            answer = self._calls.reads.get_item(
                TableName=self._tables.messages, Key=requests.key(message_id), ConsistentRead=True
            )
        return codec.message_from_item(answer["Item"]) if "Item" in answer else None

    def messages(self, message_ids: Iterable[str]) -> dict[str, Message]:
        items = self._calls.batch_get((), list(dict.fromkeys(message_ids)))
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
        items = self._calls.query(query, limit)
        found = [message for item in items if (message := codec.message_from_item(item))]
        if all(schema.PLACE in item for item in items):
            return found
        # Items written before tell how often they were changed where the index is not asked for it.
        now = self.messages(message.id for message in found if message.updated_at)
        return [now.get(message.id, message) for message in found]

    def load(self, messages: Sequence[Message]) -> list[Message]:
        return self._bulk.loaded(messages, self.messages)

    def traces(self, trace_ids: Iterable[str]) -> dict[str, Trace]:
        wanted = list(dict.fromkeys(trace_ids))
        return _traces_in(self._calls.batch_get((), wanted), wanted)

    def indexed_traces(self, parent_id: str, *, limit: int) -> list[Trace]:
        items = self._calls.query(requests.traces_of(self._tables.messages, parent_id), limit)
        return [trace for item in items if (trace := codec.trace_from_item(item))]

    def load_traces(self, traces: Sequence[Trace]) -> list[Trace]:
        return self._bulk.loaded(traces, self.traces)

    def receipt(self, receipt_id: str) -> list[str] | None:
        items = self._calls.batch_get((), [receipt_id])
        return codec.receipt_from_item(items[receipt_id]) if receipt_id in items else None

    def session(self, owner: str, session_id: str) -> str | None:
        record_id = ids.session_record_id(owner, session_id)
        record = self._calls.batch_get([record_id], ()).get(record_id)
        return record[schema.TARGET]["S"] if record else None

    def owned(self, owner: str, *, after: Listed | None, limit: int) -> list[Listed]:
        return self._listed(schema.OWNER_INDEX, (schema.OWNER, owner), schema.UPDATED_AT, after, limit)

    def active(self, month: str, *, after: Listed | None, limit: int) -> list[Listed]:
        return self._listed(schema.ACTIVITY_INDEX, (schema.ACTIVE_MONTH, month), schema.ACTIVE_HOUR, after, limit)

    def recent(self, owner: str, minutes: Iterable[int]) -> set[str]:
        records = self._calls.batch_get([ids.recent_record_id(owner, minute) for minute in minutes], ())
        noted = (record[schema.MEMBERS]["SS"] for record in records.values() if schema.MEMBERS in record)
        return {member for members in noted for member in members}

    def activities(self, conversation_ids: Iterable[str]) -> list[Activity]:
        wanted = list(dict.fromkeys(conversation_ids))
        items = self._calls.batch_get(wanted, attributes=codec.ACTIVITY_ATTRIBUTES)
        return [activity for item in items.values() if (activity := codec.activity_from_item(item))]

    def conversations(self, conversation_ids: Iterable[str]) -> dict[str, Conversation]:
        wanted = list(dict.fromkeys(conversation_ids))
        items = self._calls.batch_get(wanted, ())
        elsewhere = [key for key in items if codec.conversation_from_item(items[key]).about is None]
        items |= self._calls.batch_get([ids.about_record_id(key) for key in elsewhere], ())
        found = (_conversation(items, key, self._clock) for key in wanted)
        return {conversation.id: conversation for conversation in found if conversation}

    # Writes

    def shelve(self, conversation_id: str, drafts: Sequence[Draft]) -> list[Draft]:
        return self._bulk.shelved(conversation_id, drafts)

    def unshelve(self, drafts: Sequence[Draft]) -> None:
        self._bulk.delete([draft.large_key for draft in drafts if draft.large_key])

    def shelve_message(self, message: Message) -> Message:
        return self._bulk.shelved_anew(message)

    def shelve_trace(self, trace: Trace) -> Trace:
        return self._bulk.shelved_anew(trace)

    def remove_objects(self, keys: Sequence[str]) -> None:
        self._bulk.delete(keys)

    def create(self, conversation: Conversation, *, session_replaces: str | None = None) -> None:
        session_id = conversation.about.session_id if conversation.about else None
        actions = [requests.note_recent(self._tables.conversations, conversation, self._clock.now_ns())]
        if about := codec.about_item(conversation):
            actions.append(requests.put(self._tables.conversations, about))
        if session_id is not None:
            actions.append(requests.put_session(self._tables.conversations, conversation, session_id, session_replaces))
        actions.append(requests.put(self._tables.conversations, codec.conversation_to_item(conversation), new=True))
        self._calls.transact(actions, puts=[conversation.id])

    def append(self, head: Conversation, moved: Conversation, messages: Sequence[Message]) -> None:
        answered = [message.id for message in messages]
        items = [codec.receipt_item(head.chain_id, m.receipt, answered) for m in messages if m.receipt]
        items += [codec.message_to_item(message) for message in messages]
        puts = [requests.put(self._tables.messages, item, new=True) for item in items]
        self._calls.transact(
            [requests.move(self._tables.conversations, head, moved), *puts],
            puts=[item[schema.ID]["S"] for item in items],
        )

    def change(
        self, head: Conversation, moved: Conversation, changed: Sequence[Message], added: Sequence[Message] = ()
    ) -> None:
        table = self._tables.messages
        again = [requests.put_again(table, codec.message_to_item(message)) for message in changed]
        new = [requests.put(table, codec.message_to_item(message), new=True) for message in added]
        move = requests.move(self._tables.conversations, head, moved)
        self._calls.transact([move, *again, *new], puts=[message.id for message in added])

    def add_trace(self, head: Conversation, moved: Conversation, trace: Trace) -> None:
        put = requests.put(self._tables.messages, codec.trace_to_item(trace), new=True)
        self._calls.transact([requests.move(self._tables.conversations, head, moved), put], puts=[trace.id])

    def change_trace(self, head: Conversation, moved: Conversation, trace: Trace) -> None:
        again = requests.put_again(self._tables.messages, codec.trace_to_item(trace))
        self._calls.transact([requests.move(self._tables.conversations, head, moved), again])

    def revise(self, head: Conversation, changed: Conversation) -> None:
        table = self._tables.conversations
        actions = [requests.move(table, head, changed)]
        if about := codec.about_item(changed):
            actions.append(requests.put(table, about))
        elif codec.about_item(head):
            actions.append(requests.put(table, codec.empty_about_item(head.id)))
        self._calls.transact(actions)

    def outcome(self, outcome_id: str) -> Outcome | None:
        items = self._calls.batch_get([outcome_id], ())
        return codec.outcome_from_item(items[outcome_id]) if outcome_id in items else None

    def keep_outcome(self, outcome_id: str, outcome: Outcome) -> None:
        item = codec.outcome_to_item(outcome_id, outcome, self._clock.now_ns())
        self._calls.transact([requests.put(self._tables.conversations, item, new=True)], puts=[outcome_id])

    def bury(self, tombstone: Conversation, *, expects: Conversation | None) -> None:
        with self._calls.writing():
            self._calls.client.put_item(**requests.bury(self._tables.conversations, tombstone, expects))

    def claim(self, turn: Turn, *, expects: Turn | None) -> None:
        with self._calls.writing():
            self._calls.client.put_item(**requests.put_turn(self._tables.messages, turn, expects))

    def progress(self, turn: Turn, *, with_text: bool) -> None:
        item = codec.turn_to_item(turn)
        names = [schema.LEASE_UNTIL, schema.UPDATED_AT, schema.EXPIRES_AT]
        if with_text:
            names.append(schema.PARTIAL)
        with self._calls.writing():
            self._calls.client.update_item(
                TableName=self._tables.messages,
                Key={schema.ID: item[schema.ID]},
                UpdateExpression="SET " + ", ".join(f"#{name} = :{name}" for name in names),
                ConditionExpression="#status = :status AND #attempt = :attempt",
                ExpressionAttributeNames=requests.names([*names, schema.STATUS, schema.ATTEMPT]),
                ExpressionAttributeValues={f":{name}": item[name] for name in [*names, schema.STATUS, schema.ATTEMPT]},
            )

    def settle(self, head: Conversation, turn: Turn, *, expects: Turn | None) -> None:
        raised = replace(head, version=head.version + 1, cleared_at=None)
        self._calls.transact(
            [
                requests.move(self._tables.conversations, head, raised),
                {"Put": requests.put_turn(self._tables.messages, turn, expects)},
            ]
        )

    # The parts of calls

    def _listed(
        self, index: str, partition: tuple[str, str], sort: str, after: Listed | None, limit: int
    ) -> list[Listed]:
        query = requests.listing(self._tables.conversations, index, partition, sort, after)
        return [Listed(item[sort]["S"], item[schema.ID]["S"]) for item in self._calls.query(query, limit)]


def _conversation(items: Mapping[str, Item], conversation_id: str, clock: Clock) -> Conversation | None:
    item = items.get(conversation_id)
    if item is None:
        return None
    conversation = replace(codec.conversation_from_item(item), read_at_ns=clock.now_ns())
    about = items.get(ids.about_record_id(conversation_id))
    if about is None or conversation.about is not None:
        return conversation
    return replace(conversation, about=codec.about_of_item(about))


def _traces_in(items: Mapping[str, Item], wanted: Iterable[str]) -> dict[str, Trace]:
    found = (codec.trace_from_item(items[key]) for key in wanted if key in items)
    return {trace.id: trace for trace in found if trace}

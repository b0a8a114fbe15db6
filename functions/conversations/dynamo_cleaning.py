"""What is left of conversations, in DynamoDB and S3: finding and removing it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from conversations import codec, ids, schema
from conversations import dynamo_requests as requests
from conversations.aws_errors import reading, writing
from conversations.clock import NANOSECONDS, Clock, from_timestamp
from conversations.codec import Item
from conversations.dynamo import Tables
from conversations.dynamo_reads import Reads
from conversations.errors import BusyError, ContendedError, LostPinError
from conversations.model import About, Conversation, Message, Trace

_PAGE = 200  # messages are up to 32 KB, and a page is held in memory
_BATCH_WRITE_ITEMS = 25  # BatchWriteItem's limit
_BATCH_TRIES = 8
_LONGEST_PAUSE_S = 1.0
_FIRST_PAUSE_S = 0.02
_OBJECTS_AT_ONCE = 1000  # DeleteObjects' limit, and the length of a page of ListObjectsV2


class DynamoRemains:
    """Implements ``cleaning.Remains``."""

    def __init__(
        self, client: Any, tables: Tables, objects_client: Callable[[], Any], bucket: str, clock: Clock
    ) -> None:
        """``objects_client`` gives the client of S3 when it is first needed."""
        self._client = client
        self._reads = Reads(client)
        self._tables = tables
        self._objects_client = objects_client
        self._bucket = bucket
        self._clock = clock

    # Finding

    def messages(self, chain_id: str) -> Iterator[Sequence[Message]]:
        for items in self._pages(schema.MESSAGES_INDEX, schema.CONVERSATION_ID, chain_id):
            if messages := [message for item in items if (message := codec.message_from_item(item))]:
                yield messages

    def traces(self, chain_id: str) -> Iterator[Sequence[Trace]]:
        for items in self._pages(schema.TRACES_INDEX, schema.TRACE_CONVERSATION_ID, chain_id):
            yield [codec.trace_from_item(item) or _unreadable(item) for item in items]

    def objects(self, conversation_id: str) -> Iterator[Sequence[str]]:
        listing: dict[str, Any] = {"Bucket": self._bucket, "Prefix": f"{conversation_id}/"}
        while True:
            with reading():
                answer = self._objects_client().list_objects_v2(**listing)
            if keys := [found["Key"] for found in answer.get("Contents", ())]:
                yield keys
            if not answer.get("IsTruncated"):
                return
            listing["ContinuationToken"] = answer["NextContinuationToken"]

    def about(self, conversation_id: str) -> About | None:
        key = requests.key(ids.about_record_id(conversation_id))
        with reading():
            answer = self._reads.get_item(TableName=self._tables.conversations, Key=key, ConsistentRead=True)
        return codec.about_of_item(answer["Item"]) if "Item" in answer else None

    def _pages(self, index: str, partition: str, chain_id: str) -> Iterator[list[Item]]:
        query: dict[str, Any] = {
            "TableName": self._tables.messages,
            "IndexName": index,
            "KeyConditionExpression": f"{partition} = :chain",
            "ExpressionAttributeValues": {":chain": {"S": chain_id}},
            "Limit": _PAGE,
        }
        while True:
            with reading():
                answer = self._reads.query(**query)
            if answer["Items"]:
                yield answer["Items"]
            if "LastEvaluatedKey" not in answer:
                return
            query["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    # Removing

    def remove_items(self, item_ids: Sequence[str]) -> None:
        for first in range(0, len(item_ids), _BATCH_WRITE_ITEMS):
            self._remove_batch(item_ids[first : first + _BATCH_WRITE_ITEMS])

    def remove_objects(self, keys: Sequence[str]) -> None:
        for first in range(0, len(keys), _OBJECTS_AT_ONCE):
            named = [{"Key": key} for key in keys[first : first + _OBJECTS_AT_ONCE]]
            with reading():
                answer = self._objects_client().delete_objects(
                    Bucket=self._bucket, Delete={"Objects": named, "Quiet": True}
                )
            if answer.get("Errors"):
                raise BusyError("Some objects could not be removed; try again.")

    def remove_about(self, conversation_id: str) -> None:
        self._delete_record(ids.about_record_id(conversation_id))

    def remove_references(self, tombstone: Conversation) -> None:
        if tombstone.session_record_id is not None:
            self._delete_record(
                tombstone.session_record_id,
                ConditionExpression="#target = :target",
                ExpressionAttributeNames=requests.names([schema.TARGET]),
                ExpressionAttributeValues={":target": {"S": tombstone.id}},
            )
        minute = from_timestamp(tombstone.created_at) // NANOSECONDS // requests.MINUTE_S
        for noted_in in (minute, minute + 1):  # it was noted a moment after the time that it carries
            self._forget_recent(ids.recent_record_id(tombstone.owner, noted_in), tombstone.id)

    def _remove_batch(self, item_ids: Sequence[str]) -> None:
        wanted = {self._tables.messages: [{"DeleteRequest": {"Key": requests.key(item_id)}} for item_id in item_ids]}
        for tries in range(_BATCH_TRIES):
            with reading():
                answer = self._client.batch_write_item(RequestItems=wanted)
            wanted = answer.get("UnprocessedItems")
            if not wanted:
                return
            self._clock.sleep(min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2**tries))
        raise BusyError("The store is busy; try again.")

    def _forget_recent(self, record_id: str, conversation_id: str) -> None:
        """Take an id from the record of one minute, and remove the record with the last one."""
        with _if_it_holds():
            answer = self._client.update_item(
                TableName=self._tables.conversations,
                Key=requests.key(record_id),
                UpdateExpression="DELETE #members :gone",
                ConditionExpression="contains(#members, :id)",
                ExpressionAttributeNames=requests.names([schema.MEMBERS]),
                ExpressionAttributeValues={":gone": {"SS": [conversation_id]}, ":id": {"S": conversation_id}},
                ReturnValues="ALL_NEW",
            )
            if schema.MEMBERS not in answer["Attributes"]:
                self._delete_record(record_id, ConditionExpression=f"attribute_not_exists({schema.MEMBERS})")

    def _delete_record(self, record_id: str, **condition: Any) -> None:
        with _if_it_holds():
            self._client.delete_item(TableName=self._tables.conversations, Key=requests.key(record_id), **condition)


def _unreadable(item: Item) -> Trace:
    """What stands among the traces and cannot be told; it is to go like them."""
    item_id = item[schema.ID]["S"]
    return Trace(item_id, ids.chain_of(item_id), 0, "", 0, "", readable=False)


@contextmanager
def _if_it_holds() -> Iterator[None]:
    """Passes over a write whose condition does not hold: there is nothing left to do.

    Raises:
        BusyError: it met a conflict or a throttle.
    """
    try:
        with writing():
            yield
    except LostPinError:
        return
    except ContendedError as error:
        raise BusyError("The store is busy; try again.") from error

"""Tables that LangChain's ``DynamoDBChatMessageHistory`` wrote, of Python or of JavaScript. Needs botocore and
langchain-core: the extra ``import``.

A session is an item. Its session id is the value of the table's key; of a table whose key has two attributes both,
joined by ``/`` (in which ``%`` and ``/`` of the values are ``%25`` and ``%2F``), but for a sort key whose value is its
own name, as JavaScript's class writes it with the option ``sortKey``.
"""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from typing import Any

from conversation_memory.errors import MissingExtraError
from conversation_memory.moving.attributes import Value
from conversation_memory.moving.found import Session
from conversation_memory.moving.langchain_rows import is_row, rows

try:
    from botocore.config import Config
    from botocore.exceptions import ClientError
    from botocore.session import Session as BotocoreSession
except ImportError as error:
    raise MissingExtraError("import", "botocore") from error

_ATTRIBUTES = ("History", "messages")
_TTL_ATTRIBUTE = "expireAt"
_DAY_S = 24 * 60 * 60
_MOST_TTL_DAYS = 3650
_CONFIG = Config(retries={"mode": "standard", "total_max_attempts": 10}, connect_timeout=5, read_timeout=30)


class LangChainTable:
    """The sessions of a table, by consistent scans, page by page.

    Arguments:
        table: its name.
        messages_attribute: where the messages stand; what looks like a list of messages if it is not given.
        ttl_attribute: when an item expires, in seconds since the epoch; the one of the table's TTL, or else
            ``expireAt``, if it is not given. What has expired is gone, whether or not DynamoDB has removed it.
        segment: ``(0, 4)`` for the first of four parts, so that four may move a table together.
        page_size: how many items a page holds at most; a page of a scan reads a megabyte at most.
        read_units: how many read units the scan may take in a second, on average.
        client: a DynamoDB client of your own; without it, one for ``region``, ``profile`` and ``endpoint_url``.
    """

    def __init__(
        self,
        table: str,
        *,
        messages_attribute: str | None = None,
        ttl_attribute: str | None = None,
        segment: tuple[int, int] = (0, 1),
        page_size: int = 100,
        read_units: float | None = None,
        client: Any = None,
        region: str | None = None,
        profile: str | None = None,
        endpoint_url: str | None = None,
    ) -> None:
        number, of = segment
        if not 0 <= number < of:
            raise ValueError("A segment is a number from 0, and how many there are")
        self._table = table
        self._messages_attribute = messages_attribute
        self._ttl_attribute = ttl_attribute
        self._segment = {"Segment": number, "TotalSegments": of} if of > 1 else {}
        self._page_size = page_size
        self._read_units = read_units
        self._client = client or BotocoreSession(profile=profile).create_client(
            "dynamodb", region_name=region, endpoint_url=endpoint_url, config=_CONFIG
        )

    def sessions(self) -> Iterator[Session]:
        """The table's items."""
        for item in self._items():
            yield self._session(item)

    def _items(self) -> Iterator[Mapping[str, Value]]:
        start: dict[str, Any] = {}
        while True:
            began_s = time.monotonic()
            page = self._client.scan(
                TableName=self._table,
                ConsistentRead=True,
                Limit=self._page_size,
                ReturnConsumedCapacity="TOTAL",
                **self._segment,
                **start,
            )
            yield from page["Items"]
            if "LastEvaluatedKey" not in page:
                return
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
            self._rest(page, time.monotonic() - began_s)

    def _rest(self, page: Mapping[str, Any], taken_s: float) -> None:
        """Leave the table's other readers their share."""
        if self._read_units:
            units = page.get("ConsumedCapacity", {}).get("CapacityUnits", 0.0)
            time.sleep(max(0.0, units / self._read_units - taken_s))

    def _session(self, item: Mapping[str, Value]) -> Session:
        session_id = self._session_id(item)
        expires_s = self._expires_s(item)
        left_s = None if expires_s is None else expires_s - time.time()
        listed, problem = self._listed(item)
        return Session(
            source=self._source,
            key=session_id,
            rows=partial(rows, listed),
            session_id=session_id,
            ttl_days=None if left_s is None else min(_MOST_TTL_DAYS, max(1, int(-(-left_s // _DAY_S)))),
            problem=problem,
            is_gone=left_s is not None and left_s <= 0,
        )

    def _session_id(self, item: Mapping[str, Value]) -> str:
        values = {name: _key_text(item[name]) for name in self._keys}
        if len(self._keys) == 1:
            return values[self._keys[0]]
        partition, sort = self._keys
        parts = [values[partition]] if values[sort] == sort else [values[partition], values[sort]]
        return "/".join(part.replace("%", "%25").replace("/", "%2F") for part in parts)

    def _expires_s(self, item: Mapping[str, Value]) -> float | None:
        digits = item.get(self._expiry, {}).get("N")
        return None if digits is None else float(digits)

    def _listed(self, item: Mapping[str, Value]) -> tuple[list[Value], str]:
        """The rows of an item, and what is wrong with it; an item without a list may be an empty session."""
        if self._messages_attribute is not None:
            held = item.get(self._messages_attribute, {"L": []})
            return held.get("L", []), "" if "L" in held else f"{self._messages_attribute} is no list of messages"
        lists = {name: value["L"] for name, value in item.items() if "L" in value and name not in self._keys}
        for name in (*_ATTRIBUTES, *lists):
            if any(is_row(value) for value in lists.get(name, ())):
                return lists[name], ""
        for name in _ATTRIBUTES:
            if name in lists:
                return lists[name], ""
        beside = set(item) - {*self._keys, self._expiry, *lists}
        return [], "holds no list of messages" if beside or any(lists.values()) else ""

    # The table

    @cached_property
    def _description(self) -> Mapping[str, Any]:
        described: Mapping[str, Any] = self._client.describe_table(TableName=self._table)["Table"]
        return described

    @cached_property
    def _source(self) -> str:
        """The table's name for good."""
        return str(self._description.get("TableArn") or f"dynamodb:{self._table}")

    @cached_property
    def _keys(self) -> tuple[str, ...]:
        """The partition key's name and, if there is one, the sort key's."""
        by_kind = {key["KeyType"]: key["AttributeName"] for key in self._description["KeySchema"]}
        return tuple(by_kind[kind] for kind in ("HASH", "RANGE") if kind in by_kind)

    @cached_property
    def _expiry(self) -> str:
        if self._ttl_attribute is not None:
            return self._ttl_attribute
        try:
            described = self._client.describe_time_to_live(TableName=self._table)
        except ClientError:  # it is not allowed, or nobody knows
            return _TTL_ATTRIBUTE
        return str(described.get("TimeToLiveDescription", {}).get("AttributeName") or _TTL_ATTRIBUTE)


def _key_text(value: Value) -> str:
    [(kind, held)] = value.items()
    return b64encode(held).decode() if kind == "B" else str(held)

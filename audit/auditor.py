"""The whole audit: read everything, sort it by conversation, hold each to the rules, look again at what seems broken.

Nothing is written but a temporary file, and only Scan, GetItem and ListObjectsV2 are called. While others
write, the tables change between the pages of a scan. So a finding counts only if its conversation has still the version
that was scanned and its item is still there; otherwise the conversation is counted as moved.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from audit.facts import Fact, Finding, Table
from audit.ledger import Ledger
from audit.reading import facts_of
from audit.rules import Conversation, findings
from conversations import schema

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Deployment:
    """Where it is: clients of DynamoDB and S3, the names of the tables, and the bucket (``None``: leave it out)."""

    dynamodb: Any
    s3: Any
    messages_table: str
    conversations_table: str
    bodies_bucket: str | None = None

    def table(self, name: Table) -> str:
        return self.messages_table if name == "messages" else self.conversations_table


@dataclass(slots=True)
class Audit:
    """What was read, and what was found. ``moved`` names the conversations that changed while they were read."""

    items: int = 0
    objects: int = 0
    conversations: int = 0
    moved: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def broken(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.is_broken]


def audit(deployment: Deployment, now_ns: int, progress: Progress = lambda _: None) -> Audit:
    """Read all that a deployment stores and hold it to its invariants.

    Raises:
        botocore.exceptions.ClientError, BotoCoreError: something cannot be read.
    """
    done = Audit()
    with Ledger() as ledger:
        _read(deployment, ledger, done, progress)
        for conversation_id, facts in ledger.conversations():
            conversation = Conversation(conversation_id, facts, now_ns)
            done.conversations += conversation.head is not None
            done.findings += _confirmed(deployment, conversation, done)
            if done.conversations % 1000 == 0:
                progress(f"{done.conversations} conversations checked")
    return done


def _read(deployment: Deployment, ledger: Ledger, done: Audit, progress: Progress) -> None:
    tables: tuple[Table, Table] = ("conversations", "messages")
    for table in tables:
        for items in _scan(deployment, table):
            ledger.add(fact for item in items for fact in _kept(deployment, facts_of(table, item)))
            done.items += len(items)
            progress(f"{done.items} items read")
    if deployment.bodies_bucket is not None:
        for objects in _list(deployment.s3, deployment.bodies_bucket):
            ledger.add(objects)
            done.objects += len(objects)
            progress(f"{done.items} items and {done.objects} objects read")


def _kept(deployment: Deployment, facts: list[Fact]) -> Iterator[Fact]:
    """Without a bucket to look into nothing is said of objects."""
    for fact in facts:
        if "large" in fact.values and deployment.bodies_bucket is None:
            yield Fact(fact.conversation, fact.kind, fact.id, {**fact.values, "large": None})
        else:
            yield fact


def _scan(deployment: Deployment, table: Table) -> Iterator[list[dict[str, Any]]]:
    request: dict[str, Any] = {"TableName": deployment.table(table), "ConsistentRead": True}
    while True:
        answer = deployment.dynamodb.scan(**request)
        yield answer["Items"]
        if "LastEvaluatedKey" not in answer:
            return
        request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]


def _list(s3: Any, bucket: str) -> Iterator[list[Fact]]:
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
        yield [_object(found["Key"], found["LastModified"].timestamp()) for found in page.get("Contents", ())]


def _object(key: str, written_s: float) -> Fact:
    return Fact(key.partition("/")[0], "object", key, {"writtenNs": int(written_s * 1_000_000_000)})


# Looking again


def _confirmed(deployment: Deployment, conversation: Conversation, done: Audit) -> Sequence[Finding]:
    found = list(findings(conversation))
    if not found:
        return found
    if not _is_as_scanned(deployment, conversation):
        done.moved.append(conversation.id)
        return ()
    return [finding for finding in found if _is_still_there(deployment, conversation, finding)]


def _is_as_scanned(deployment: Deployment, conversation: Conversation) -> bool:
    known = conversation.head or conversation.tombstone
    item = _get(deployment, "conversations", conversation.id)
    version = item.get(schema.VERSION, {}).get("N") if item else None
    if conversation.is_unreadable:
        return item is not None
    return version == (str(known["version"]) if known else None)


def _is_still_there(deployment: Deployment, conversation: Conversation, finding: Finding) -> bool:
    if "/" in finding.item:
        return True
    tables: tuple[Table, Table] = ("messages", "conversations")
    return any(_get(deployment, table, finding.item) is not None for table in tables)


def _get(deployment: Deployment, table: Table, item_id: str) -> dict[str, Any] | None:
    key = {schema.ID: {"S": item_id}}
    answer = deployment.dynamodb.get_item(TableName=deployment.table(table), Key=key, ConsistentRead=True)
    item: dict[str, Any] | None = answer.get("Item")
    return item

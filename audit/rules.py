"""The invariants of what is stored, one conversation at a time. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from audit.chain import chain_findings
from audit.facts import Fact, Finding, Kind
from audit.reading import chain_number
from conversations import ids
from conversations.clock import NANOSECONDS, from_timestamp
from conversations.creating import DAY_S
from conversations.dynamo_requests import RECENT_KEPT_S
from conversations.turns import ABANDONED_AFTER_NS, WORKED_ON

CLEANED_WITHIN_S = DAY_S
"""Cleanup begins within seconds; after a day it has been given up, and comes again when the tombstone expires."""
WRITTEN_WITHIN_S = 3600
"""An object stands before its message does: a request ends within half a minute, a turn within ten."""


@dataclass(frozen=True)
class Conversation:
    """All that is stored of one conversation."""

    id: str
    facts: Sequence[Fact]
    now_ns: int

    def of(self, kind: Kind) -> list[Fact]:
        return [fact for fact in self.facts if fact.kind == kind]

    @cached_property
    def head(self) -> Fact | None:
        return next(iter(self.of("head")), None)

    @cached_property
    def tombstone(self) -> Fact | None:
        return next(iter(self.of("tombstone")), None)

    @cached_property
    def messages(self) -> Mapping[str, Fact]:
        return {fact.id: fact for fact in self.of("message")}

    @cached_property
    def last_chain(self) -> int:
        known = self.head or self.tombstone
        return int(known["chain"]) if known else -1

    @property
    def is_unreadable(self) -> bool:
        """Whether its own item cannot be read."""
        flaws = self.of("flaw")
        return not self.head and not self.tombstone and any((f.id, f["rule"]) == (self.id, "unreadable") for f in flaws)

    def is_present(self, fact: Fact) -> bool:
        """Whether something stands in the chain that callers see."""
        return self.head is not None and chain_number(_chain_of(fact)) == self.last_chain


def findings(conversation: Conversation) -> Iterator[Finding]:
    """What is broken, and what is late, in all that is stored of a conversation."""
    for fact in conversation.of("flaw"):
        yield Finding(fact["rule"], conversation.id, fact.id, fact["detail"])
    yield from _orphans(conversation)
    yield from _unreachable(conversation)
    yield from _objects(conversation)
    yield from _beside(conversation)
    if conversation.tombstone is not None:
        yield from _late(conversation, conversation.tombstone)
    if conversation.head is not None:
        yield from _present(conversation, conversation.head)


def _present(conversation: Conversation, head: Fact) -> Iterator[Finding]:
    """The present chain of a conversation that was not deleted, and its records."""
    present = {id_: fact for id_, fact in conversation.messages.items() if conversation.is_present(fact)}
    yield from chain_findings(head, present)
    yield from _traces(conversation, head, present)
    yield from _receipts(conversation, present)
    yield from _turns(conversation, present)
    yield from _records(conversation, head)


# What cleanup would not reach


def _orphans(conversation: Conversation) -> Iterator[Finding]:
    """What belongs to a conversation of which the table knows nothing, not even that it was deleted."""
    if conversation.head or conversation.tombstone or conversation.is_unreadable:
        return
    for fact in conversation.facts:
        if fact.kind not in ("flaw", "turn") and not _expired(fact, conversation.now_ns):
            yield Finding("orphan", conversation.id, fact.id, f"a {fact.kind} of a conversation that is not there")


def _expired(fact: Fact, now_ns: int) -> bool:
    return fact.kind == "recent" and int(fact["expiresAt"]) * NANOSECONDS <= now_ns


def _unreachable(conversation: Conversation) -> Iterator[Finding]:
    """What cleanup finds by a message that is gone, or by a chain that never was."""
    if not conversation.head and not conversation.tombstone:
        return
    named = {fact["receipt"] and f"{fact['chain']}.{fact['receipt']}" for fact in conversation.messages.values()}
    for fact in conversation.facts:
        if fact.kind in ("message", "trace", "receipt") and _number(fact) > conversation.last_chain:
            yield Finding("orphan", conversation.id, fact.id, f"a {fact.kind} of a chain that was never begun")
        elif fact.kind == "receipt" and fact.id not in named:
            yield Finding("orphan", conversation.id, fact.id, "a receipt that no message names")


def _number(fact: Fact) -> int:
    return chain_number(_chain_of(fact)) or 0


def _chain_of(fact: Fact) -> str:
    return fact.id.partition(".")[0]


def _late(conversation: Conversation, tombstone: Fact) -> Iterator[Finding]:
    deleted_ns = from_timestamp(tombstone["deletedAt"])
    left = [fact for fact in conversation.facts if fact.kind not in ("tombstone", "recent", "turn", "flaw")]
    if left and conversation.now_ns - deleted_ns > CLEANED_WITHIN_S * NANOSECONDS:
        detail = f"{len(left)} items and objects of it are still there, a day after it was deleted"
        yield Finding("late cleanup", conversation.id, conversation.id, detail, is_broken=False)


# Traces


def _traces(conversation: Conversation, head: Fact, present: Mapping[str, Fact]) -> Iterator[Finding]:
    traces = [fact for fact in conversation.of("trace") if conversation.is_present(fact)]
    if len(traces) != head["traces"]:
        detail = f"counts {head['traces']} traces of {len(traces)}"
        yield Finding("trace count", conversation.id, head.id, detail)
    for trace in traces:
        if trace["ordinal"] > head["traces"]:
            yield Finding("trace", conversation.id, trace.id, "is numbered beyond the last")
        if trace["parent"] not in present:
            yield Finding("trace", conversation.id, trace.id, f"is a step to {trace['parent']}, which is not there")


# Objects


def _objects(conversation: Conversation) -> Iterator[Finding]:
    objects = {fact.id: fact for fact in conversation.of("object")}
    holders = [*conversation.messages.values(), *conversation.of("trace")]
    named = {fact["large"]: fact for fact in holders if fact["large"]}
    for key, holder in named.items():
        if not key.startswith(f"{conversation.id}/"):
            yield Finding("object", conversation.id, holder.id, f"its object {key} is another conversation's")
        elif key not in objects and conversation.is_present(holder):
            yield Finding("object", conversation.id, holder.id, f"its object {key} is gone")
    for key, found in objects.items():
        is_old = conversation.now_ns - int(found["writtenNs"]) > WRITTEN_WITHIN_S * NANOSECONDS
        if conversation.head and key not in named and is_old:
            detail = "nothing names it; it goes with its conversation"
            yield Finding("unused object", conversation.id, key, detail, is_broken=False)


# Receipts and turns


def _receipts(conversation: Conversation, present: Mapping[str, Fact]) -> Iterator[Finding]:
    receipts = {fact.id: fact for fact in conversation.of("receipt") if conversation.is_present(fact)}
    known = receipts.keys() | {fact.id for fact in conversation.of("flaw")}
    for message in present.values():
        if message["receipt"] and f"{message['chain']}.{message['receipt']}" not in known:
            yield Finding("receipt", conversation.id, message.id, "its receipt is gone: a repeat would not find it")
    for receipt in receipts.values():
        if gone := [name for name in receipt["messages"] if name not in present]:
            yield Finding("receipt", conversation.id, receipt.id, f"names {gone[0]}, which is not there")


def _turns(conversation: Conversation, present: Mapping[str, Fact]) -> Iterator[Finding]:
    turns = {fact["message"]: fact for fact in conversation.of("turn") if conversation.is_present(fact)}
    for asked, turn in turns.items():
        if turn["status"] not in (*WORKED_ON, "failed", "cancelled"):
            detail = f"is stored as {turn['status']}: a turn is complete when its answer is there"
            yield Finding("turn", conversation.id, turn.id, detail)
        if asked not in present:
            yield Finding("stray turn", conversation.id, turn.id, "of no message; it expires", is_broken=False)
    for message in present.values():
        if ids.response_id(message.id) not in present and _is_abandoned(message, turns, conversation.now_ns):
            detail = "nobody has worked on its turn for 20 minutes; it may be asked again"
            yield Finding("abandoned turn", conversation.id, message.id, detail, is_broken=False)


def _is_abandoned(message: Fact, turns: Mapping[str, Fact], now_ns: int) -> bool:
    turn = turns.get(message.id)
    if turn is None:
        return bool(message["asks"]) and now_ns - from_timestamp(message["createdAt"]) > ABANDONED_AFTER_NS
    since_ns = max(from_timestamp(turn["updatedAt"]), int(turn["leaseUntilMs"]) * 1_000_000)
    return turn["status"] in WORKED_ON and now_ns - since_ns > ABANDONED_AFTER_NS


# Records beside conversations


def _beside(conversation: Conversation) -> Iterator[Finding]:
    if conversation.head and conversation.head["aboutElsewhere"] and not conversation.of("about"):
        detail = "its description stands elsewhere, and is not there"
        yield Finding("description", conversation.id, conversation.id, detail)


def _records(conversation: Conversation, head: Fact) -> Iterator[Finding]:
    if (head["expiresAt"] is None) != (head["ttlDays"] is None):
        yield Finding("retention", conversation.id, head.id, "ttlDays and expiresAt are not both there")
    stands = head["expiresAt"] is None or conversation.now_ns < int(head["expiresAt"]) * NANOSECONDS
    own = _session_record(conversation, head)
    named_by = {fact.id for fact in conversation.of("session")}
    if stands and own is not None and own not in named_by:
        yield Finding("session", conversation.id, head.id, "the record of its session id does not name it")
    for record in named_by - {own}:
        yield Finding("session", conversation.id, record, "stands for a conversation of another session id")
    age_ns = conversation.now_ns - from_timestamp(head["createdAt"])
    if 0 <= age_ns < RECENT_KEPT_S * NANOSECONDS and not conversation.of("recent"):
        yield Finding("recent", conversation.id, head.id, "is new, and not among its owner's new ones")


def _session_record(conversation: Conversation, head: Fact) -> str | None:
    described = conversation.of("about")[0] if head["aboutElsewhere"] and conversation.of("about") else head
    session_id = described["sessionId"]
    return None if session_id is None else ids.session_record_id(head["owner"], session_id)

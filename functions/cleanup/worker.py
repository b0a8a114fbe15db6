"""What the cleanup function does with its events: records of the stream become messages, messages are worked on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics, MetricUnit

from cleanup.tasks import from_message, news_in, to_message
from conversations.cleaning import Cleaned, Remains, Task, bury_removed, clean
from conversations.clock import Clock
from conversations.errors import BusyError, InvalidRequestError
from conversations.store import Store

RESERVE_NS = 15_000_000_000
"""What is kept of the function's time to end the page in hand and to say where to go on."""

Failures = dict[str, list[dict[str, str]]]
"""Lambda's partial batch answer."""


class Queue(Protocol):
    """The function's own queue."""

    def send(self, body: str) -> None:
        """Add a message.

        Raises:
            BusyError: it may not have been added.
        """


@dataclass(frozen=True, slots=True)
class Worker:
    """Cleans up over a store."""

    store: Store
    remains: Remains
    clock: Clock
    queue: Queue
    logger: Logger
    metrics: Metrics

    def follow(self, records: Sequence[Mapping[str, Any]]) -> Failures:
        """Hand over what the stream says, in its order. After a failure Lambda goes on from that record."""
        for record in records:
            try:
                self._hand_over(record)
            except BusyError:
                return _failures([record["dynamodb"]["SequenceNumber"]])
        return _failures([])

    def clean(self, records: Sequence[Mapping[str, Any]], remaining_ms: int) -> Failures:
        """Work on messages of the queue. One that failed comes back, and at last goes to the dead letters."""
        give_up_at_ns = self.clock.now_ns() + remaining_ms * 1_000_000 - RESERVE_NS
        return _failures([record["messageId"] for record in records if not self._is_done(record, give_up_at_ns)])

    def _hand_over(self, record: Mapping[str, Any]) -> None:
        news = news_in(record)
        if news is None:
            return
        if news.kind == "removed":
            bury_removed(self.store, self.remains, self.clock, news.conversation)
            return  # the tombstone has a record of its own
        tombstone = news.conversation if news.kind == "tombstone removed" else None
        first_chain = news.conversation.chain - 1 if news.kind == "cleared" else 0  # only what this clear hid
        self.queue.send(to_message(Task(news.conversation.id, first_chain, tombstone, news.end)))

    def _is_done(self, record: Mapping[str, Any], give_up_at_ns: int) -> bool:
        try:
            task = from_message(record["body"])
            cleaned = clean(self.store, self.remains, self.clock, task, give_up_at_ns=give_up_at_ns)
            self._report(task, cleaned)
            if cleaned.next_chain is not None:
                self.queue.send(to_message(task.from_chain(cleaned.next_chain)))
        except (BusyError, InvalidRequestError) as error:
            self.logger.warning("not cleaned", extra={"code": error.code, "field": error.field})
            return False
        return True

    def _report(self, task: Task, cleaned: Cleaned) -> None:
        is_complete = cleaned.next_chain is None
        self.metrics.add_metric("ConversationsCleaned", MetricUnit.Count, int(is_complete))
        self.metrics.add_metric("ItemsRemoved", MetricUnit.Count, cleaned.items)
        extra = {"conversation_id": task.conversation_id, "items": cleaned.items, "objects": cleaned.objects}
        self.logger.info("cleaned" if is_complete else "cleaned in part", extra=extra)


def _failures(identifiers: list[str]) -> Failures:
    return {"batchItemFailures": [{"itemIdentifier": identifier} for identifier in identifiers]}

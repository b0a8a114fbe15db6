"""The cleanup function: removes what a deleted or expired conversation leaves behind."""

from __future__ import annotations

from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as event_sources
from constructs import Construct

from infra.data_stack import DataStack
from infra.findings import acknowledge
from infra.function import PythonFunction
from infra.options import Options
from infra.permissions import cleanup_permissions
from infra.queues import dead_letter_queue, work_queue

TIMEOUT: Final = cdk.Duration.minutes(2)


class Cleanup(Construct):
    """The table's stream says what to clean, a queue holds it until it is clean.

    A stream record only becomes a message of the queue, so that a conversation of any size never holds up the shard;
    the work itself may crash and be received again, a conversation a message. Two dead-letter queues, since they hold
    different things: one conversations, to be moved back as they are; the other pointers to stream records.

    The function may send a message to its own queue, to go on with a large conversation. Lambda takes that for a
    runaway loop and stops it after about 16 rounds (developer guide, "Recursive loop detection"), so loops are allowed
    here; they end because each round removes something.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, code: lambda_.Code, data: DataStack, options: Options
    ) -> None:
        super().__init__(scope, construct_id)
        self.dead_letters: Final = dead_letter_queue(self, "DeadLetters")
        self.lost_records: Final = dead_letter_queue(self, "LostRecords")
        acknowledge(self.lost_records, "SQS3", because="It is a dead-letter queue: that of the stream's mapping")
        # Six times the function's timeout, as the Lambda developer guide asks for a queue that is an event source.
        self.queue: Final = work_queue(
            self,
            "Queue",
            visibility_timeout=cdk.Duration.seconds(6 * TIMEOUT.to_seconds()),
            receives=10,
            dead_letters=self.dead_letters,
        )
        self.handler: Final = self._handler(code, data, options)
        self.function: Final = self.handler.function
        self._follow(data)
        self._work()

    def _handler(self, code: lambda_.Code, data: DataStack, options: Options) -> PythonFunction:
        return PythonFunction(
            self,
            "Cleanup",
            name="cleanup",
            code=code,
            data=data,
            options=options,
            permissions=cleanup_permissions(data, work=self.queue, lost_records=self.lost_records),
            environment={"CLEANUP_QUEUE_URL": self.queue.queue_url},
            memory_size=512,
            timeout=TIMEOUT,
            recursive_loop=lambda_.RecursiveLoop.ALLOW,
        )

    def _work(self) -> None:
        """A few at a time: cleaning up can wait, and must not take the account's concurrency from those who cannot."""
        self.function.add_event_source(
            event_sources.SqsEventSource(self.queue, batch_size=1, report_batch_item_failures=True, max_concurrency=5)
        )

    def _follow(self, data: DataStack) -> None:
        """Only tombstones, clears and removals invoke the function: appends move a conversation, too.

        By default Lambda retries a bad record until it leaves the stream after a day, and the shard waits for it
        (DynamoDB event source mapping, "retry attempts"); so both the attempts and the age are bounded.
        """
        tombstone = {"dynamodb": {"NewImage": {"deletedAt": {"S": lambda_.FilterRule.exists()}}}}
        clear = {"dynamodb": {"NewImage": {"clearedAt": {"S": lambda_.FilterRule.exists()}}}}
        removal = {"eventName": lambda_.FilterRule.is_equal("REMOVE")}
        self.function.add_event_source(
            event_sources.DynamoEventSource(
                data.conversations,
                starting_position=lambda_.StartingPosition.TRIM_HORIZON,
                filters=[lambda_.FilterCriteria.filter(pattern) for pattern in (tombstone, clear, removal)],
                batch_size=100,
                report_batch_item_failures=True,
                bisect_batch_on_error=True,
                retry_attempts=10,
                max_record_age=cdk.Duration.hours(6),
                on_failure=event_sources.SqsDlq(self.lost_records),
            )
        )

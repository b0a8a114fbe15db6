"""Queues as this house wants them: encrypted, over TLS only, and with a dead-letter queue behind each."""

from __future__ import annotations

from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_sqs as sqs
from constructs import Construct

# The longest that SQS keeps a message (SQS quotas): time to find out why, repair it, and move the messages back.
RETENTION: Final = cdk.Duration.days(14)


def dead_letter_queue(scope: Construct, construct_id: str) -> sqs.Queue:
    return sqs.Queue(
        scope, construct_id, encryption=sqs.QueueEncryption.SQS_MANAGED, enforce_ssl=True, retention_period=RETENTION
    )


def work_queue(
    scope: Construct, construct_id: str, *, visibility_timeout: cdk.Duration, receives: int, dead_letters: sqs.IQueue
) -> sqs.Queue:
    """A message that was received ``receives`` times without success moves to ``dead_letters``."""
    return sqs.Queue(
        scope,
        construct_id,
        encryption=sqs.QueueEncryption.SQS_MANAGED,
        enforce_ssl=True,
        retention_period=RETENTION,
        visibility_timeout=visibility_timeout,
        dead_letter_queue=sqs.DeadLetterQueue(queue=dead_letters, max_receive_count=receives),
    )

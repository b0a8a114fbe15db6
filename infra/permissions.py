"""What each function may do: every action that its code calls, on the resource it calls it on, and nothing else.

The lists are written by hand because CDK's ``grant_*`` methods give more than is used (``grant_read_write_data`` alone
allows ``Scan`` and ``DeleteItem``). A transaction needs the permissions of its parts; the log group is added in
``function.py``, for each function its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs

from infra.data_stack import DataStack
from infra.models import model_access
from infra.tables import ACTIVITY_INDEX, MESSAGES_INDEX, OWNER_INDEX, TRACES_INDEX, Table


def api_statements(data: DataStack, *, turn: lambda_.IFunction) -> list[iam.PolicyStatement]:
    return [
        *_read_and_write(data),
        _query(data.messages, MESSAGES_INDEX),
        _query(data.conversations, OWNER_INDEX, ACTIVITY_INDEX),
        _allow(["s3:GetObject", "s3:PutObject", "s3:DeleteObject"], data.bodies.arn_for_objects("*")),
        _allow(["lambda:InvokeFunction"], turn.function_arn),
    ]


def turn_statements(data: DataStack, *, failures: sqs.IQueue, model_id: str) -> list[iam.PolicyStatement]:
    return [
        *_read_and_write(data),
        _query(data.messages, MESSAGES_INDEX),
        _allow(["s3:GetObject", "s3:PutObject", "s3:DeleteObject"], data.bodies.arn_for_objects("*")),
        *_answer(model_id),
        _consume(failures, "sqs:SendMessage"),
    ]


def cleanup_statements(data: DataStack, *, work: sqs.IQueue, lost_records: sqs.IQueue) -> list[iam.PolicyStatement]:
    return [
        _allow(
            ["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:DeleteItem", "dynamodb:UpdateItem"],
            data.messages.table_arn,
            data.conversations.table_arn,
        ),
        _allow(["dynamodb:BatchWriteItem"], data.messages.table_arn),
        _query(data.messages, MESSAGES_INDEX, TRACES_INDEX),
        _allow(["s3:DeleteObject"], data.bodies.arn_for_objects("*")),
        _consume(work, "sqs:SendMessage"),
        _allow(["sqs:SendMessage"], lost_records.queue_arn),
        *_read_stream(data.conversations),
    ]


def _allow(actions: Sequence[str], *resources: str) -> iam.PolicyStatement:
    return iam.PolicyStatement(actions=list(actions), resources=list(resources))


def _read_and_write(data: DataStack) -> list[iam.PolicyStatement]:
    actions = ["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"]
    return [_allow(actions, data.messages.table_arn, data.conversations.table_arn)]


def _query(table: Table, *indexes: str) -> iam.PolicyStatement:
    return _allow(["dynamodb:Query"], *(table.index_arn(index) for index in indexes))


def _consume(queue: sqs.IQueue, *more: str) -> iam.PolicyStatement:
    """The three that an event source mapping of a queue needs (Lambda developer guide, SQS execution role)."""
    return _allow(["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", *more], queue.queue_arn)


def _read_stream(table: Table) -> list[iam.PolicyStatement]:
    """The four that an event source mapping of a stream needs. Streams are listed by table, not by stream."""
    stream = table.table_stream_arn
    if stream is None:
        raise ValueError(f"{table.node.path} has no stream")
    read = ["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"]
    return [_allow(read, stream), _allow(["dynamodb:ListStreams"], f"{table.table_arn}/stream/*")]


def _answer(model_id: str) -> list[iam.PolicyStatement]:
    """ConverseStream is authorised as InvokeModelWithResponseStream (Bedrock API reference)."""
    action = ["bedrock:InvokeModelWithResponseStream"]
    access = model_access(model_id, partition=cdk.Aws.PARTITION, region=cdk.Aws.REGION, account=cdk.Aws.ACCOUNT_ID)
    if access.profile is None:
        return [_allow(action, *access.models)]
    only_through_it = {"ArnEquals": {"bedrock:InferenceProfileArn": access.profile}}
    models = iam.PolicyStatement(actions=action, resources=list(access.models), conditions=only_through_it)
    return [_allow(action, access.profile), models]

"""What each function may do: every action that its code calls, on the resource it calls it on, and nothing else.

The lists are written by hand because CDK's ``grant_*`` methods give more than is used (``grant_read_write_data`` alone
allows ``Scan`` and ``DeleteItem``). A transaction needs the permissions of its parts. What every function needs, its
log and its traces, is added in ``function.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs

from infra.data_stack import DataStack
from infra.models import model_access
from infra.tables import ACTIVITY_INDEX, MESSAGES_INDEX, OWNER_INDEX, TRACES_INDEX, Table
from infra.tools import Tool


@dataclass(frozen=True)
class Permissions:
    """Statements, and for each wildcard among their resources the reason why it is one."""

    statements: tuple[iam.PolicyStatement, ...]
    wildcards: Mapping[str, str] = field(default_factory=dict)  # keys as cdk-nag writes the resource

    def __add__(self, other: Permissions) -> Permissions:
        return Permissions(self.statements + other.statements, {**self.wildcards, **other.wildcards})


def api_permissions(data: DataStack, *, turn: lambda_.IFunction) -> Permissions:
    return (
        _read_and_write(data)
        + _query(data.messages, MESSAGES_INDEX, TRACES_INDEX)
        + _query(data.conversations, OWNER_INDEX, ACTIVITY_INDEX)
        + _objects(data, "s3:GetObject", "s3:PutObject", "s3:DeleteObject")
        + allow("lambda:InvokeFunction", on=turn.function_arn)
    )


def turn_permissions(
    data: DataStack, *, failures: sqs.IQueue, model_id: str, tools: Sequence[Tool], guardrail: str | None
) -> Permissions:
    return (
        _read_and_write(data)
        + _query(data.messages, MESSAGES_INDEX, TRACES_INDEX)
        + _objects(data, "s3:GetObject", "s3:PutObject", "s3:DeleteObject")
        + _answer(model_id)
        + _consume(failures)
        + allow("sqs:SendMessage", on=failures.queue_arn)
        + _call(tools)
        + _guard(guardrail)
    )


def cleanup_permissions(data: DataStack, *, work: sqs.IQueue, lost_records: sqs.IQueue) -> Permissions:
    read = ("dynamodb:GetItem", "dynamodb:BatchGetItem")
    change = ("dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem")
    return (
        allow(*read, *change, on=data.conversations.table_arn)
        + allow(*read, "dynamodb:BatchWriteItem", on=data.messages.table_arn)
        + _query(data.messages, MESSAGES_INDEX, TRACES_INDEX)
        + _objects(data, "s3:DeleteObject")
        + _consume(work)
        + allow("sqs:SendMessage", on=[work.queue_arn, lost_records.queue_arn])
        + _read_stream(data, data.conversations)
    )


def allow(*actions: str, on: str | list[str]) -> Permissions:
    resources = [on] if isinstance(on, str) else on
    return Permissions((iam.PolicyStatement(actions=list(actions), resources=resources),))


def _read_and_write(data: DataStack) -> Permissions:
    actions = ("dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:PutItem", "dynamodb:UpdateItem")
    return allow(*actions, on=[data.messages.table_arn, data.conversations.table_arn])


def _query(table: Table, *indexes: str) -> Permissions:
    return allow("dynamodb:Query", on=[table.index_arn(index) for index in indexes])


def _objects(data: DataStack, *actions: str) -> Permissions:
    """Cleanup lists a conversation's objects. Who reads must be allowed to list, too: a key that is not there is
    answered with 404 only then, and otherwise with 403, as if it were forbidden (S3 API reference, GetObject).
    """
    reason = {f"{_imported(data, data.bodies.bucket_arn)}/*": "The bucket's own objects: their keys are random"}
    listing = allow("s3:ListBucket", on=data.bodies.bucket_arn)
    return allow(*actions, on=data.bodies.arn_for_objects("*")) + listing + Permissions((), reason)


def _call(tools: Sequence[Tool]) -> Permissions:
    """The functions that are registered as tools, and only in the version or under the alias that is named."""
    if not tools:
        return Permissions(())
    here = f"arn:{cdk.Aws.PARTITION}:lambda:{cdk.Aws.REGION}:{cdk.Aws.ACCOUNT_ID}:function:"
    arns = [tool.function if tool.function.startswith("arn:") else here + tool.function for tool in tools]
    return allow("lambda:InvokeFunction", on=list(dict.fromkeys(arns)))


def _guard(guardrail: str | None) -> Permissions:
    """Converse applies a guardrail in the name of who asks (Bedrock user guide, "Permissions for guardrails")."""
    if guardrail is None:
        return Permissions(())
    identifier = guardrail.rpartition(":")[0]
    here = f"arn:{cdk.Aws.PARTITION}:bedrock:{cdk.Aws.REGION}:{cdk.Aws.ACCOUNT_ID}:guardrail/"
    return allow("bedrock:ApplyGuardrail", on=identifier if identifier.startswith("arn:") else here + identifier)


def _consume(queue: sqs.IQueue) -> Permissions:
    """What an event source mapping of a queue needs (Lambda developer guide, "Using Lambda with Amazon SQS")."""
    return allow("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", on=queue.queue_arn)


def _read_stream(data: DataStack, table: Table) -> Permissions:
    """What an event source mapping of a stream needs. Streams are listed by table, not by stream."""
    if table.table_stream_arn is None:
        raise ValueError(f"{table.node.path} has no stream")
    reading = ("dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator")
    reason = {f"{_imported(data, table.table_arn)}/stream/*": "The streams of this one table"}
    return (
        allow(*reading, on=table.table_stream_arn)
        + allow("dynamodb:ListStreams", on=f"{table.table_arn}/stream/*")
        + Permissions((), reason)
    )


def _answer(model_id: str) -> Permissions:
    """ConverseStream is authorised as InvokeModelWithResponseStream (Bedrock API reference)."""
    action = "bedrock:InvokeModelWithResponseStream"
    access = model_access(model_id, partition=cdk.Aws.PARTITION, region=cdk.Aws.REGION, account=cdk.Aws.ACCOUNT_ID)
    if access.profile is None:
        return allow(action, on=list(access.models))
    only_through_it = {"ArnEquals": {"bedrock:InferenceProfileArn": access.profile}}
    models = iam.PolicyStatement(actions=[action], resources=list(access.models), conditions=only_through_it)
    written = [model.replace(cdk.Aws.PARTITION, "<AWS::Partition>") for model in access.models if "*" in model]
    reasons = dict.fromkeys(written, "The regions that the inference profile may route to, and only through it")
    return allow(action, on=access.profile) + Permissions((models,), reasons)


def _imported(stack: cdk.Stack, value: str) -> str:
    """The name under which other stacks import a value of this one."""
    name: str = stack.resolve(stack.export_value(value))["Fn::ImportValue"]
    return name

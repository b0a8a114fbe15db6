"""The two tables. A test holds names of keys and indexes equal to those of ``functions/conversations/schema.py``."""

from __future__ import annotations

from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from infra.options import Options

MESSAGES_INDEX: Final = "conversationId-createdAt"
TRACES_INDEX: Final = "traceConversationId-traceKey"
OWNER_INDEX: Final = "owner-updatedAt"
ACTIVITY_INDEX: Final = "activeMonth-activeHour"


class Table(dynamodb.TableV2):
    """A table of one string key, billed by request, restorable to any second of the last 35 days.

    In production it outlives its stack and refuses to be deleted. It is the ``GlobalTable`` resource with one replica,
    since a ``Table`` cannot become one later without being replaced.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        options: Options,
        indexes: list[dynamodb.GlobalSecondaryIndexPropsV2],
        stream: dynamodb.StreamViewType | None = None,
    ) -> None:
        self.index_names: Final = [index.index_name for index in indexes]
        super().__init__(
            scope,
            construct_id,
            partition_key=_text("id"),
            global_secondary_indexes=indexes,
            time_to_live_attribute="expiresAt",
            dynamo_stream=stream,
            billing=dynamodb.Billing.on_demand(),
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            deletion_protection=options.production,
            removal_policy=cdk.RemovalPolicy.RETAIN if options.production else cdk.RemovalPolicy.DESTROY,
        )

    def index_arn(self, index: str) -> str:
        return f"{self.table_arn}/index/{index}"


def messages_table(scope: Construct, *, options: Options) -> Table:
    """One item a message. Both indexes hold all attributes: a page must not cost a read of the table per message."""
    return Table(
        scope,
        "Messages",
        options=options,
        indexes=[
            _index(MESSAGES_INDEX, "conversationId", "createdAt", dynamodb.ProjectionType.ALL),
            _index(TRACES_INDEX, "traceConversationId", "traceKey", dynamodb.ProjectionType.ALL),
        ],
    )


def conversations_table(scope: Construct, *, options: Options) -> Table:
    """Heads of conversations. The indexes hold keys only, since every append moves them and pays for their size.

    The stream carries both images: the removed one tells the owner and the chains of a conversation that expired.
    """
    return Table(
        scope,
        "Conversations",
        options=options,
        indexes=[
            _index(OWNER_INDEX, "owner", "updatedAt", dynamodb.ProjectionType.KEYS_ONLY),
            _index(ACTIVITY_INDEX, "activeMonth", "activeHour", dynamodb.ProjectionType.KEYS_ONLY),
        ],
        stream=dynamodb.StreamViewType.NEW_AND_OLD_IMAGES,
    )


def _text(name: str) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=name, type=dynamodb.AttributeType.STRING)


def _index(
    name: str, partition: str, sort: str, projection: dynamodb.ProjectionType
) -> dynamodb.GlobalSecondaryIndexPropsV2:
    return dynamodb.GlobalSecondaryIndexPropsV2(
        index_name=name, partition_key=_text(partition), sort_key=_text(sort), projection_type=projection
    )

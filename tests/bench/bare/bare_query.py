"""The yardstick of a cold start: a function that makes a client of DynamoDB and asks one Query, and nothing else."""

import os
from typing import Any

from botocore.session import get_session

_client = get_session().create_client("dynamodb")


def lambda_handler(event: dict[str, Any], _: object) -> int:
    """How many items the Query found."""
    answer = _client.query(
        TableName=os.environ["MESSAGES_TABLE"],
        IndexName=event["index"],
        KeyConditionExpression="conversationId = :id",
        ExpressionAttributeValues={":id": {"S": event["id"]}},
    )
    return int(answer["Count"])

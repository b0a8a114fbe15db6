"""The metrics that more than one place shows, each named once."""

from __future__ import annotations

from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sqs as sqs

from infra.function import NAMESPACE, PythonFunction
from infra.tables import Table

PERIOD: Final = cdk.Duration.minutes(5)


def server_errors(http: apigateway.HttpApi) -> cloudwatch.Metric:
    return http.metric_server_error(period=PERIOD, statistic="Sum")


def turns_failed(turn: PythonFunction) -> cloudwatch.Metric:
    """The turn function counts it itself: a turn that fails in order is no error of the function."""
    return cloudwatch.Metric(
        namespace=NAMESPACE,
        metric_name="TurnsFailed",
        dimensions_map={"service": turn.service},
        statistic="Sum",
        period=PERIOD,
    )


def messages(queue: sqs.Queue) -> cloudwatch.Metric:
    return queue.metric_approximate_number_of_messages_visible(period=PERIOD, statistic="Maximum")


def throttles(table: Table) -> dict[str, cloudwatch.Metric]:
    """DynamoDB counts reads and writes, the table and each of its indexes apart; the keys here say which it is."""
    places = {table.node.id: {"TableName": table.table_name}}
    for index in table.index_names:
        places[f"{table.node.id}-{index}"] = {"TableName": table.table_name, "GlobalSecondaryIndexName": index}
    return {
        f"{place}-{kind}": cloudwatch.Metric(
            namespace="AWS/DynamoDB",
            metric_name=f"{kind}ThrottleEvents",
            dimensions_map=dimensions,
            statistic="Sum",
            period=PERIOD,
        )
        for place, dimensions in places.items()
        for kind in ("Read", "Write")
    }

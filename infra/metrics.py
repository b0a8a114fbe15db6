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


def throttles(table: Table) -> cloudwatch.MathExpression:
    """DynamoDB counts reads, writes, the table and each of its indexes apart. Ids are unique within a graph."""
    prefix = table.node.id.lower()
    names = {"TableName": table.table_name}
    places = [names, *({**names, "GlobalSecondaryIndexName": index} for index in table.index_names)]
    events = [
        cloudwatch.Metric(namespace="AWS/DynamoDB", metric_name=event, dimensions_map=place, statistic="Sum")
        for place in places
        for event in ("ReadThrottleEvents", "WriteThrottleEvents")
    ]
    return cloudwatch.MathExpression(
        expression=f"SUM(METRICS('{prefix}'))",
        using_metrics={f"{prefix}{number}": metric for number, metric in enumerate(events)},
        label=f"{table.node.id} throttles",
        period=PERIOD,
    )

"""One page that tells how the service is doing."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from infra import metrics
from infra.cleanup import Cleanup
from infra.data_stack import DataStack
from infra.function import PythonFunction
from infra.turns import Turns


class Dashboard(Construct):
    """From the outside in: alarms, HTTP, functions, turns and cleanup, tables."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        alarms: Sequence[cloudwatch.Alarm],
        http: apigateway.HttpApi,
        api: PythonFunction,
        turns: Turns,
        cleanup: Cleanup,
        data: DataStack,
    ) -> None:
        super().__init__(scope, construct_id)
        functions = [api, turns.handler, cleanup.handler]
        cloudwatch.Dashboard(
            self,
            "Dashboard",
            widgets=[
                [cloudwatch.AlarmStatusWidget(title="Alarms", alarms=alarms, width=24, height=4)],
                [_requests(http), _latency(http)],
                [_invocations(functions), _durations(functions)],
                [_queues(turns, cleanup), _turns(turns)],
                [_capacity(data), _throttles(data)],
            ],
        )


def _graph(title: str, *left: cloudwatch.IMetric) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(title=title, left=list(left), width=12, height=6)


def _requests(http: apigateway.HttpApi) -> cloudwatch.GraphWidget:
    count = http.metric_count(period=metrics.PERIOD, statistic="Sum")
    refused = http.metric_client_error(period=metrics.PERIOD, statistic="Sum")
    return _graph("Requests", count, refused, metrics.server_errors(http))


def _latency(http: apigateway.HttpApi) -> cloudwatch.GraphWidget:
    percentiles = [http.metric_latency(period=metrics.PERIOD, statistic=each) for each in ("p50", "p90", "p99")]
    return _graph("Latency (long polls included)", *percentiles)


def _invocations(functions: Sequence[PythonFunction]) -> cloudwatch.GraphWidget:
    counts = [each.function.metric_invocations(period=metrics.PERIOD) for each in functions]
    errors = [each.function.metric_errors(period=metrics.PERIOD) for each in functions]
    return _graph("Invocations and errors", *counts, *errors)


def _durations(functions: Sequence[PythonFunction]) -> cloudwatch.GraphWidget:
    return _graph(
        "Duration (p90)", *(each.function.metric_duration(period=metrics.PERIOD, statistic="p90") for each in functions)
    )


def _queues(turns: Turns, cleanup: Cleanup) -> cloudwatch.GraphWidget:
    queues = [turns.failures, turns.dead_letters, cleanup.queue, cleanup.dead_letters, cleanup.lost_records]
    return _graph("Messages in queues", *(metrics.messages(queue) for queue in queues))


def _turns(turns: Turns) -> cloudwatch.GraphWidget:
    """Turns that fail, and how long an event waits before it runs (longer when Lambda asks again)."""
    waiting = turns.function.metric("AsyncEventAge", period=metrics.PERIOD, statistic="Maximum")
    return cloudwatch.GraphWidget(
        title="Turns", left=[metrics.turns_failed(turns.handler)], right=[waiting], width=12, height=6
    )


def _capacity(data: DataStack) -> cloudwatch.GraphWidget:
    tables = [data.messages, data.conversations]
    reads = [each.metric_consumed_read_capacity_units(period=metrics.PERIOD) for each in tables]
    writes = [each.metric_consumed_write_capacity_units(period=metrics.PERIOD) for each in tables]
    return _graph("Capacity units", *reads, *writes)


def _throttles(data: DataStack) -> cloudwatch.GraphWidget:
    tables = [data.messages, data.conversations]
    return _graph("Throttles", *(metric for each in tables for metric in metrics.throttles(each).values()))

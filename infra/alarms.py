"""What is worth waking somebody up for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra import metrics
from infra.cleanup import Cleanup
from infra.data_stack import DataStack
from infra.function import PythonFunction
from infra.options import Options
from infra.turns import Turns

HOUR: Final = cdk.Duration.hours(1)


class Alarms(Construct):
    """All go to one topic: ``alarmEmail`` subscribes an address to it, anything else can be subscribed later.

    It watches constructs, so no dimension of a metric is written twice. Missing data is no alarm, since most of these
    metrics exist only while something is wrong.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        http: apigateway.HttpApi,
        api: PythonFunction,
        turns: Turns,
        cleanup: Cleanup,
        data: DataStack,
        options: Options,
    ) -> None:
        super().__init__(scope, construct_id)
        self.all: Final[list[cloudwatch.Alarm]] = []
        self._notify: Final = actions.SnsAction(self._topic(options))
        self._watch_http(http)
        self._watch_turns(turns)
        self._watch_cleanup(cleanup)
        self._watch_functions([api, turns.handler, cleanup.handler])
        self._watch_tables(data)

    def _topic(self, options: Options) -> sns.Topic:
        """A policy of its own, such as TLS only, replaces the one that lets this account's alarms publish."""
        topic = sns.Topic(self, "Topic", display_name="Conversation memory: alarms", enforce_ssl=True)
        topic.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["sns:Publish"],
                resources=[topic.topic_arn],
                conditions={"StringEquals": {"aws:SourceAccount": cdk.Aws.ACCOUNT_ID}},
            )
        )
        if options.alarm_email:
            topic.add_subscription(subscriptions.EmailSubscription(options.alarm_email))
        return topic

    def _alarm(self, name: str, metric: cloudwatch.IMetric, *, at_least: float, means: str) -> None:
        alarm = cloudwatch.Alarm(
            self,
            name,
            metric=metric,
            threshold=at_least,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            evaluation_periods=1,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
            alarm_description=means,
        )
        alarm.add_alarm_action(self._notify)
        alarm.add_ok_action(self._notify)
        self.all.append(alarm)

    def _watch_http(self, http: apigateway.HttpApi) -> None:
        self._alarm("ServerErrors", metrics.server_errors(http), at_least=5, means="The HTTP API answers with 5xx")

    def _watch_turns(self, turns: Turns) -> None:
        failed = metrics.turns_failed(turns.handler)
        self._alarm("TurnsFailed", failed, at_least=3, means="Turns end without an answer: see the turn function's log")
        self._watch_queue("TurnFailures", turns.failures, "Failed events wait for long to be marked as failed")
        self._watch_dead_letters("TurnDeadLetters", turns.dead_letters, "A failed turn could not be marked as failed")

    def _watch_cleanup(self, cleanup: Cleanup) -> None:
        self._watch_queue("CleanupQueue", cleanup.queue, "Deleted conversations wait for long to be cleaned up")
        self._watch_dead_letters("CleanupDeadLetters", cleanup.dead_letters, "A conversation could not be cleaned up")
        self._watch_dead_letters("LostRecords", cleanup.lost_records, "Stream records could not be queued for cleanup")
        self._alarm(
            "StreamAge",
            cleanup.function.metric("IteratorAge", statistic="Maximum", period=metrics.PERIOD),
            at_least=HOUR.to_milliseconds(),
            means="Cleanup is far behind the stream, whose records live for a day",
        )

    def _watch_queue(self, name: str, queue: sqs.Queue, means: str) -> None:
        age = queue.metric_approximate_age_of_oldest_message(period=metrics.PERIOD, statistic="Maximum")
        self._alarm(f"{name}Age", age, at_least=HOUR.to_seconds(), means=means)

    def _watch_dead_letters(self, name: str, queue: sqs.Queue, means: str) -> None:
        self._alarm(name, metrics.messages(queue), at_least=1, means=f"{means}: read the message, repair, redrive")

    def _watch_functions(self, functions: Sequence[PythonFunction]) -> None:
        """A single error is retried or answered; throttles mean that the account's concurrency is used up."""
        for each in functions:
            name = each.node.id
            errors = each.function.metric_errors(period=metrics.PERIOD)
            throttles = each.function.metric_throttles(period=metrics.PERIOD)
            self._alarm(f"{name}Errors", errors, at_least=5, means=f"{each.service} fails, times out or crashes")
            self._alarm(f"{name}Throttles", throttles, at_least=1, means=f"{each.service} finds no free concurrency")

    def _watch_tables(self, data: DataStack) -> None:
        """One alarm a metric: the local emulator knows no alarms on expressions."""
        for place, throttles in {**metrics.throttles(data.messages), **metrics.throttles(data.conversations)}.items():
            means = f"DynamoDB throttles ({place}): a hot partition, or a sudden rise"
            self._alarm(f"Throttles-{place}", throttles, at_least=10, means=means)

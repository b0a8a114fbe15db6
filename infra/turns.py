"""The turn function: asked asynchronously, retried by Lambda, and what fails for good is marked as failed."""

from __future__ import annotations

from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_destinations as destinations
from aws_cdk import aws_lambda_event_sources as event_sources
from constructs import Construct

from infra.data_stack import DataStack
from infra.function import PythonFunction
from infra.options import Options
from infra.permissions import turn_permissions
from infra.queues import dead_letter_queue, work_queue

TIMEOUT: Final = cdk.Duration.minutes(10)
LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")  # an AppSync API of one's own machine, for the local stage alone
LEASE: Final = cdk.Duration.minutes(1)  # how long an attempt holds a turn without a sign of life


class Turns(Construct):
    """One asynchronous invocation answers one user message.

    A model's answer may take minutes, hence the timeout. Lambda asks again twice, one and two minutes later, and for no
    longer than 15 minutes (developer guide, "Retry behavior" of asynchronous invocation): nobody waits longer for an
    answer. An event that still failed goes to a queue whose consumer is the same function. It marks the attempt as
    failed; while another attempt holds the turn it leaves the message, which comes back when that attempt has ended or
    lost its lease.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, code: lambda_.Code, data: DataStack, options: Options
    ) -> None:
        super().__init__(scope, construct_id)
        self.dead_letters: Final = dead_letter_queue(self, "DeadLetters")
        self.failures: Final = work_queue(
            self, "Failures", visibility_timeout=TIMEOUT.plus(LEASE), receives=5, dead_letters=self.dead_letters
        )
        self.handler: Final = PythonFunction(
            self,
            "Turn",
            name="turn",
            code=code,
            data=data,
            options=options,
            permissions=turn_permissions(
                data,
                failures=self.failures,
                model_id=options.model_id,
                tools=options.tools,
                guardrail=options.guardrail,
            ),
            environment={
                "MODEL_ID": options.model_id,
                "MAX_OUTPUT_TOKENS": str(options.max_output_tokens or ""),
                "SYSTEM_PROMPT": options.system_prompt,
                "HISTORY_TOKENS": str(options.history_tokens),
                "GRAPHQL_HOSTS": ",".join((*options.graphql_hosts, *(LOOPBACK if options.is_local else ()))),
                "TOOL_ROUNDS": str(options.tool_rounds),
                "MODEL_FIELDS": options.model_fields,
                "GUARDRAIL": options.guardrail or "",
                "CACHE_POINTS": "true" if options.cache_points else "",
            },
            memory_size=1024,
            timeout=TIMEOUT,
        )
        self.function: Final = self.handler.function
        self.for_appsync: Final = self._alias_that_keeps_nothing()
        self._retry_then_mark_failed()

    def _alias_that_keeps_nothing(self) -> lambda_.Alias:
        """What AppSync invokes. Its events hold the user's token: one whose invocation breaks off (out of memory or
        time) is not delivered again, and goes to no queue. The function itself raises none of them.
        """
        return lambda_.Alias(
            self,
            "AppSync",
            alias_name="appsync",
            version=self.function.latest_version,
            retry_attempts=0,
            max_event_age=cdk.Duration.minutes(1),
        )

    def _retry_then_mark_failed(self) -> None:
        self.function.configure_async_invoke(
            max_event_age=cdk.Duration.minutes(15),
            retry_attempts=2,
            on_failure=destinations.SqsDestination(self.failures),
        )
        self.function.add_event_source(
            event_sources.SqsEventSource(
                self.failures, batch_size=1, report_batch_item_failures=True, max_concurrency=2
            )
        )

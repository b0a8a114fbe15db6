"""How every function of the house is set up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.bundling import ARCHITECTURE, RUNTIME
from infra.data_stack import DataStack
from infra.findings import acknowledge
from infra.logs import log_group
from infra.options import Options
from infra.permissions import Permissions, allow

NAMESPACE: Final = "ConversationMemory"  # of the metrics that the functions emit


class PythonFunction(Construct):
    """A function of the one bundle, with a role and a log group of its own.

    - arm64: a fifth cheaper by the millisecond than x86-64 (Lambda pricing), and the bundle holds nothing native.
    - X-Ray traces come from Lambda's own setting: the X-Ray SDK in the bundle would double the cold start.
    - Logs are JSON, also those that Lambda itself writes, into a log group that ends with the stack.
    - The role holds the statements that are given here, and CDK cannot add to it: event sources, destinations and
      tracing see a role that ignores their own, broader grants.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        name: str,
        code: lambda_.Code,
        data: DataStack,
        options: Options,
        permissions: Permissions,
        environment: Mapping[str, str],
        memory_size: int,
        timeout: cdk.Duration,
        recursive_loop: lambda_.RecursiveLoop | None = None,
        snap_start: lambda_.SnapStartConf | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.service: Final = f"conversation-memory-{name}"  # the dimension of its metrics
        logs = log_group(self, "Logs", options=options)
        write_logs = allow("logs:CreateLogStream", "logs:PutLogEvents", on=logs.log_group_arn)
        role = self._role(permissions + write_logs + _traces())
        self.function: Final = lambda_.Function(
            self,
            "Function",
            description=f"Conversation memory: {name}",
            runtime=RUNTIME,
            architecture=ARCHITECTURE,
            code=code,
            handler=f"{name}.handler.lambda_handler",
            role=role.without_policy_updates(),
            environment={**self._environment(data, options), **environment},
            memory_size=memory_size,
            timeout=timeout,
            tracing=lambda_.Tracing.ACTIVE,
            log_group=logs,
            logging_format=lambda_.LoggingFormat.JSON,
            recursive_loop=recursive_loop,
            snap_start=snap_start,
        )
        acknowledge(self.function, "L1", because="3.13 is what the tests and the local emulator run, too")

    def _environment(self, data: DataStack, options: Options) -> dict[str, str]:
        return {
            "MESSAGES_TABLE": data.messages.table_name,
            "CONVERSATIONS_TABLE": data.conversations.table_name,
            "BODIES_BUCKET": data.bodies.bucket_name,
            "STAGE": options.stage,
            "POWERTOOLS_SERVICE_NAME": self.service,
            "POWERTOOLS_METRICS_NAMESPACE": NAMESPACE,
            "POWERTOOLS_LOG_LEVEL": "INFO",
        }

    def _role(self, permissions: Permissions) -> iam.Role:
        document = iam.PolicyDocument(statements=list(permissions.statements), minimize=True)
        role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            inline_policies={"Actions": document},
        )
        for resource, reason in permissions.wildcards.items():
            acknowledge(role, f"IAM5[Resource::{resource}]", because=reason)
        return role


def _traces() -> Permissions:
    tracing = allow("xray:PutTraceSegments", "xray:PutTelemetryRecords", on="*")
    return tracing + Permissions((), {"*": "X-Ray has no resources to name (service authorization reference)"})

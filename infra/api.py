"""The api function: all routes of the HTTP API."""

from __future__ import annotations

from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.data_stack import DataStack
from infra.function import PythonFunction
from infra.options import Options
from infra.permissions import api_permissions

# The gateway gives up after 30 s (HTTP API quotas). The function ends before it, so that the error is one of ours;
# its longest work, a long poll or a busy conversation's retries, takes up to 20 s.
TIMEOUT: Final = cdk.Duration.seconds(29)


class ApiFunction(PythonFunction):
    """Memory buys CPU: at 1 GB a cold start has 0.6 of a core, and a long poll still costs little while it waits.

    ``invoked`` is what the gateway calls. With the option ``snapStart`` it is an alias of the version that was deployed
    last, since Lambda takes snapshots of versions only. Nobody waits for the other functions, so they have none.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        code: lambda_.Code,
        data: DataStack,
        turn: lambda_.IFunction,
        options: Options,
    ) -> None:
        super().__init__(
            scope,
            construct_id,
            name="api",
            code=code,
            data=data,
            options=options,
            permissions=api_permissions(data, turn=turn),
            environment={
                "AUTH": options.auth,
                "TURN_FUNCTION": turn.function_name,
                "SYSTEM_PROMPT": options.system_prompt,
                "HISTORY_TOKENS": str(options.history_tokens),
                "MODEL_ID": options.model_id,
                "MAX_OUTPUT_TOKENS": str(options.max_output_tokens or ""),
                "MESSAGE_UPDATED_TIME": str(options.message_updated_time).lower(),
            },
            memory_size=1024,
            timeout=TIMEOUT,
            snap_start=lambda_.SnapStartConf.ON_PUBLISHED_VERSIONS if options.snap_start else None,
        )
        self.invoked: Final = self._alias() if options.snap_start else self.function

    def _alias(self) -> lambda_.Alias:
        return lambda_.Alias(self, "Live", alias_name="live", version=self.function.current_version)

"""The stack of what runs: functions, HTTP API, queues, alarms. It holds no state and can be destroyed at any time."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from infra.alarms import Alarms
from infra.api import ApiFunction
from infra.bundling import bundled_code
from infra.cleanup import Cleanup
from infra.dashboard import Dashboard
from infra.data_stack import DataStack
from infra.http_api import ConversationsApi
from infra.options import Options
from infra.turns import Turns


class AppStack(cdk.Stack):
    """Wires the constructs, and says where everything is: outputs for people, parameters for other stacks."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        data: DataStack,
        options: Options,
        env: cdk.Environment | None = None,
    ) -> None:
        super().__init__(
            scope, construct_id, env=env, description="Conversation memory: functions, HTTP API, queues, alarms"
        )
        code = bundled_code(self, tools=options.tools, played_locally=options.is_local)
        self.turns = Turns(self, "Turns", code=code, data=data, options=options)
        self.api = ApiFunction(self, "Api", code=code, data=data, turn=self.turns.function, options=options)
        self.cleanup = Cleanup(self, "Cleanup", code=code, data=data, options=options)
        self.http = ConversationsApi(self, "Http", function=self.api.invoked, users=data.users, options=options)
        self._monitor(data, options)
        self._parameters(options)
        self._outputs(data)

    def _monitor(self, data: DataStack, options: Options) -> None:
        http = self.http.api
        alarms = Alarms(
            self,
            "Alarms",
            http=http,
            api=self.api,
            turns=self.turns,
            cleanup=self.cleanup,
            data=data,
            options=options,
        )
        Dashboard(
            self,
            "Dashboard",
            alarms=alarms.all,
            http=http,
            api=self.api,
            turns=self.turns,
            cleanup=self.cleanup,
            data=data,
        )

    def _parameters(self, options: Options) -> None:
        """The only physical names, since other stacks look the service up by them."""
        values = {
            "api-url": self.http.api.api_endpoint,
            "turn-function-arn": self.turns.function.function_arn,
            "appsync-handler-arn": self.turns.for_appsync.function_arn,
        }
        for name, value in values.items():
            ssm.StringParameter(
                self,
                f"Parameter-{name}",
                parameter_name=f"/conversation-memory/{options.stage}/{name}",
                string_value=value,
            )

    def _outputs(self, data: DataStack) -> None:
        values = {
            "ApiUrl": self.http.api.api_endpoint,
            "ApiId": self.http.api.api_id,
            "ApiFunctionName": self.api.function.function_name,
            "TurnFunctionName": self.turns.function.function_name,
            "TurnFunctionArn": self.turns.function.function_arn,
            "AppSyncHandlerArn": self.turns.for_appsync.function_arn,
            "CleanupFunctionName": self.cleanup.function.function_name,
            "MessagesTable": data.messages.table_name,
            "ConversationsTable": data.conversations.table_name,
            "BodiesBucket": data.bodies.bucket_name,
            "UserPoolId": data.users.pool.user_pool_id,
            "UserPoolClientId": data.users.client.user_pool_client_id,
            "CleanupQueueUrl": self.cleanup.queue.queue_url,
            "TurnFailuresQueueUrl": self.turns.failures.queue_url,
        }
        for name, value in values.items():
            cdk.CfnOutput(self, name, value=value)

"""The deployed local stack of a test session: what `make run` brings up, with doubles in its functions' way.

The CDK command line deploys the real app once (about 20 seconds). The functions reach the scripted Bedrock instead of
MiniStack's stand-in, their invocations of other functions pass the recorder, and their calls of DynamoDB the meter. All
their calls of AWS can be made to go wrong (`faults`).
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from infra.local import sign_in, sockets
from infra.local.clients import client
from infra.local.local_stack import LocalStack, LocalStackSettings, running
from tests.bed import processes
from tests.bed.documented import check_response
from tests.bed.dynamodb_meter import DynamoDBMeter
from tests.bed.fault_proxy import Faults
from tests.bed.forwarder import Forwarder
from tests.bed.recorder import LambdaRecorder
from tests.bed.scripted_bedrock import ScriptedBedrock


@dataclass(frozen=True, kw_only=True)
class Stack:
    """What a test may touch."""

    folder: Path
    local: LocalStack
    bedrock: ScriptedBedrock
    lambda_recorder: LambdaRecorder
    meter: DynamoDBMeter
    faults: Faults

    @property
    def api_url(self) -> str:
        return self.local.api_url

    @property
    def endpoint_url(self) -> str:
        return self.local.emulator.endpoint_url

    @property
    def messages_table(self) -> str:
        return self.local.outputs["MessagesTable"]

    @property
    def conversations_table(self) -> str:
        return self.local.outputs["ConversationsTable"]

    @property
    def bodies_bucket(self) -> str:
        return self.local.outputs["BodiesBucket"]

    @property
    def turn_function(self) -> str:
        return self.local.outputs["TurnFunctionName"]

    @property
    def api_function(self) -> str:
        return self.local.outputs["ApiFunctionName"]

    @property
    def cleanup_function(self) -> str:
        return self.local.outputs["CleanupFunctionName"]

    def http(self, token: str | None = None) -> httpx.Client:
        """A client whose root is the service, for someone who sends this token.

        Every answer is held to the OpenAPI document.
        """
        return httpx.Client(
            base_url=self.api_url,
            headers={"authorization": f"Bearer {token}"} if token else {},
            timeout=60,
            trust_env=False,
            limits=httpx.Limits(max_connections=64),
            event_hooks={"response": [check_response]},
        )

    def token(self, user: str, *groups: str) -> str:
        """An access token of a user of the stack's pool, as `make token` makes it."""
        return sign_in.token(self.folder, user, list(groups))

    def client(self, service: str) -> Any:
        """An SDK client of the emulated account."""
        return client(service, self.endpoint_url)

    def workers(self, function_name: str) -> list[int]:
        """The ids of the processes that run a function."""
        return processes.workers(self.folder, function_name)

    def reset(self) -> None:
        """Forget what the last test scripted and what was recorded."""
        self.bedrock.reset()
        self.lambda_recorder.reset()
        self.meter.reset()
        self.faults.reset()

    def log_tail(self) -> str:
        return self.local.emulator.log_tail(120)


@contextmanager
def deployed(
    folder: Path, *, auth: str = "none", options: Mapping[str, str] | None = None, **variables: str
) -> Iterator[Stack]:
    """Deploy into a fresh emulator; `variables` are added to the environment of all functions."""
    faults = Faults()
    with (
        ScriptedBedrock() as bedrock,
        LambdaRecorder(faults.detour) as recorder,
        DynamoDBMeter(faults.detour) as meter,
        Forwarder(faults.detour) as others,
        sockets.listening() as front,
    ):
        doubles = {
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": bedrock.url,
            "AWS_ENDPOINT_URL_LAMBDA": recorder.url,
            "AWS_ENDPOINT_URL_DYNAMODB": meter.url,
            "AWS_ENDPOINT_URL_S3": others.url,
            "AWS_ENDPOINT_URL_SQS": others.url,
        }
        settings = LocalStackSettings(
            folder=folder, front=front, auth=auth, options=options or {}, variables=doubles | variables
        )
        with running(settings) as local:
            recorder.upstream = meter.upstream = others.upstream = local.emulator.endpoint_url
            yield Stack(
                folder=folder, local=local, bedrock=bedrock, lambda_recorder=recorder, meter=meter, faults=faults
            )

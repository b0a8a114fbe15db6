"""The deployed local stack of a test session: what `make run` brings up, with two doubles in its functions' way.

The CDK command line deploys the real app once (about 20 seconds). The functions reach the scripted Bedrock instead of
MiniStack's stand-in, and their invocations of other functions pass the recorder.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.local import sockets
from infra.local.clients import client
from infra.local.local_stack import LocalStack, LocalStackSettings, running
from tests.bed.recorder import LambdaRecorder
from tests.bed.scripted_bedrock import ScriptedBedrock


@dataclass(frozen=True, kw_only=True)
class Stack:
    """What a test may touch."""

    local: LocalStack
    bedrock: ScriptedBedrock
    lambda_recorder: LambdaRecorder

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

    def client(self, service: str) -> Any:
        """An SDK client of the emulated account."""
        return client(service, self.endpoint_url)

    def reset(self) -> None:
        """Forget what the last test scripted and what was recorded."""
        self.bedrock.reset()
        self.lambda_recorder.reset()

    def log_tail(self) -> str:
        return self.local.emulator.log_tail(120)


@contextmanager
def deployed(
    folder: Path, *, auth: str = "none", options: Mapping[str, str] | None = None, **variables: str
) -> Iterator[Stack]:
    """Deploy into a fresh emulator; `variables` are added to the environment of all functions."""
    with ScriptedBedrock() as bedrock, LambdaRecorder() as recorder, sockets.listening() as front:
        doubles = {"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": bedrock.url, "AWS_ENDPOINT_URL_LAMBDA": recorder.url}
        settings = LocalStackSettings(
            folder=folder, front=front, auth=auth, options=options or {}, variables=doubles | variables
        )
        with running(settings) as local:
            recorder.upstream = local.emulator.endpoint_url
            yield Stack(local=local, bedrock=bedrock, lambda_recorder=recorder)

"""The whole of it, from an empty folder to an API that answers: `make run` shows it, the test bed uses it."""

import socket
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from infra.local import leftovers, node, sockets, stack_file, state
from infra.local.deployment import Deployment
from infra.local.emulator import Emulator, EmulatorError, EmulatorSettings
from infra.local.mending import mend
from infra.local.progress import step

STAGE = "local"
_ANSWER_TIMEOUT_S = 60.0


@dataclass(frozen=True, kw_only=True)
class LocalStackSettings:
    """What may differ between two local stacks."""

    folder: Path
    front: socket.socket  # listens already, at the service's one address
    auth: str = "none"
    options: Mapping[str, str] = field(default_factory=dict)  # of the deployment, beside those that are fixed here
    variables: Mapping[str, str] = field(default_factory=dict)  # of the emulator and all functions

    @property
    def context(self) -> dict[str, str]:
        """A page of any origin may call what runs on the developer's own machine."""
        return {"stage": STAGE, "auth": self.auth, "corsOrigins": "*", **self.options}


@dataclass(frozen=True, kw_only=True)
class LocalStack:
    """A stack that answers."""

    api_url: str
    emulator: Emulator
    outputs: Mapping[str, str]


@contextmanager
def running(settings: LocalStackSettings) -> Iterator[LocalStack]:
    """Bring the stack up; at the end its state is saved and all that was started has ended."""
    api_url = f"http://{sockets.HOST}:{sockets.port_of(settings.front)}"
    stack_file.remove(settings.folder)  # what a killed run left
    node_folder = node.prepare()
    with _emulator(settings) as emulator:
        deployment = Deployment(
            endpoint_url=emulator.endpoint_url,
            folder=settings.folder,
            context=settings.context,
            node_folder=node_folder,
        )
        outputs = _deployed(deployment)
        _hand_over_leftovers(emulator.endpoint_url, outputs)
        with step("the API answers"):
            emulator.serve_api_at_front(outputs["ApiId"])
            _wait_until_it_answers(api_url, emulator)
        stack_file.write(
            settings.folder,
            api_url=api_url,
            aws_endpoint_url=emulator.endpoint_url,
            auth=settings.auth,
            outputs=outputs,
        )
        try:
            yield LocalStack(api_url=api_url, emulator=emulator, outputs=outputs)
        finally:
            stack_file.remove(settings.folder)


@contextmanager
def _emulator(settings: LocalStackSettings) -> Iterator[Emulator]:
    state.tidy(settings.folder)
    emulator = Emulator(
        EmulatorSettings(folder=settings.folder, keep_state=True, variables=settings.variables),
        aws=state.aws_socket(settings.folder),
        front=settings.front,
    )
    with step(f"AWS emulator at {emulator.endpoint_url}"):
        emulator.start()
    with emulator:
        yield emulator


def _deployed(deployment: Deployment) -> dict[str, str]:
    if not deployment.is_bootstrapped:
        with step("cdk bootstrap"):
            deployment.bootstrap()
    with step("cdk deploy"):
        outputs = deployment.deploy()
        mend(deployment, outputs["ApiId"])
    return outputs


def _hand_over_leftovers(endpoint_url: str, outputs: Mapping[str, str]) -> None:
    leftovers.hand_over(
        endpoint_url,
        conversations_table=outputs["ConversationsTable"],
        queue_url=outputs["CleanupQueueUrl"],
    )


def _wait_until_it_answers(api_url: str, emulator: Emulator) -> None:
    """Ask for the status, which also makes the first function warm."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + _ANSWER_TIMEOUT_S
    while True:
        try:
            with direct.open(f"{api_url}/status", timeout=30):
                return
        except OSError as error:
            if time.monotonic() > deadline:
                raise EmulatorError(f"the API does not answer: {error}\n{emulator.log_tail()}") from error
            time.sleep(0.5)

"""Deploys the CDK app into the emulator with the CDK's own command line, and reads what was deployed."""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.local import environment, node
from infra.local.clients import client

APP_STACK = "ConversationMemory-App"
_BOOTSTRAP_STACK = "CDKToolkit"
_TIMEOUT_S = 600.0


class DeploymentError(Exception):
    """The CDK command line failed; the message holds what it printed."""


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """One emulator, seen as the account to deploy into."""

    endpoint_url: str
    folder: Path
    context: Mapping[str, str]
    node_folder: Path

    @property
    def is_bootstrapped(self) -> bool:
        stack = self._stack(_BOOTSTRAP_STACK)
        return stack is not None and stack["StackStatus"] in ("CREATE_COMPLETE", "UPDATE_COMPLETE")

    def bootstrap(self) -> None:
        """Create the bucket and the roles that CDK deploys with. Away from `cdk.json`: it needs no app to be built."""
        self._cdk("bootstrap", f"aws://{environment.ACCOUNT}/{environment.REGION}", cwd=self.folder)

    def deploy(self) -> dict[str, str]:
        """Bring both stacks up to date, and return the outputs of the app's."""
        context = [part for name, value in self.context.items() for part in ("--context", f"{name}={value}")]
        assembly = ["--output", str(self.folder / "cdk.out")]  # its own: several deployments may run side by side
        self._cdk("deploy", "--all", "--require-approval", "never", *assembly, *context)
        self._drop_old_assets()
        stack = self._stack(APP_STACK)
        if stack is None:
            raise DeploymentError(f"the CDK says it is done, but there is no stack {APP_STACK}")
        return {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}

    def resources_of_type(self, kind: str) -> list[dict[str, Any]]:
        """The properties that the app's template gives to resources of a type."""
        template = json.loads((self.folder / "cdk.out" / f"{APP_STACK}.template.json").read_text())
        return [found["Properties"] for found in template["Resources"].values() if found["Type"] == kind]

    def _drop_old_assets(self) -> None:
        """Keep the bundle of this deployment only: each change of a function leaves one of some megabytes."""
        assembly = self.folder / "cdk.out"
        used = "".join(manifest.read_text() for manifest in assembly.glob("*.assets.json"))
        for asset in assembly.glob("asset.*"):
            if asset.name not in used:
                shutil.rmtree(asset) if asset.is_dir() else asset.unlink()

    def _stack(self, name: str) -> dict[str, Any] | None:
        cloudformation = client("cloudformation", self.endpoint_url)
        with suppress(cloudformation.exceptions.ClientError):
            stacks = cloudformation.describe_stacks(StackName=name)["Stacks"]
            return dict(stacks[0])
        return None

    def _cdk(self, *arguments: str, cwd: Path = node.ROOT) -> None:
        log = self.folder / "cdk.log"
        settings = environment.for_cdk(os.environ, self.endpoint_url)
        with log.open("wb") as written:
            process = subprocess.Popen(
                [*node.cdk(self.node_folder), *arguments, "--no-notices"],
                cwd=cwd,
                env=settings | {"PATH": node.path_with(self.node_folder, settings.get("PATH", os.defpath))},
                stdin=subprocess.DEVNULL,
                stdout=written,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # so that all it starts (Python, Node, pip) can be ended with it
            )
            try:
                failed = process.wait(_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                failed = True
            finally:
                _end_group(process)
        if failed:
            raise DeploymentError(f"cdk {arguments[0]} failed:\n{log.read_text(errors='replace')}")


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End what was left running, when the person lost patience."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()

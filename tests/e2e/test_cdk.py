"""The CDK command line as the README gives it, without make: deployed, nothing to change, and gone without a trace.

Where others deploy into an account, these commands deploy into the emulator, for the stage that they deploy by default.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from infra.local import environment, node
from infra.local.clients import client
from infra.local.emulator import Emulator, EmulatorSettings

pytestmark = [pytest.mark.stack, pytest.mark.timeout(400)]

README = (node.ROOT / "README.md").read_text()
TIMEOUT_S = 180


@dataclass(frozen=True)
class Terminal:
    """A shell of someone who has activated the virtual environment and whose account is the emulator."""

    endpoint_url: str
    output: Path

    def run(self, command: str, *unattended: str) -> str:
        """What a command of the README prints, with what answers its questions where nobody does."""
        assert command in README
        path = node.path_with(node.prepare(), os.environ["PATH"])
        settings = {"CDK_REQUIRE_APPROVAL": "never", "CDK_OUTPUT": str(self.output), "CDK_NOTICES": "false"}
        done = subprocess.run(
            [*shlex.split(command), *unattended],
            cwd=node.ROOT,
            env=environment.for_cdk(os.environ, self.endpoint_url) | settings | {"PATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    folder = tmp_path_factory.mktemp("account")
    with Emulator(EmulatorSettings(folder=folder)) as emulator:
        yield Terminal(emulator.endpoint_url, folder / "cdk.out")


def test_what_is_deployed_needs_no_change_and_leaves_nothing_when_it_is_destroyed(terminal: Terminal) -> None:
    terminal.run("npx cdk bootstrap")
    before = _inventory(terminal.endpoint_url)

    terminal.run("npx cdk deploy --all")
    deployed = _inventory(terminal.endpoint_url)
    [api] = client("apigatewayv2", terminal.endpoint_url).get_apis()["Items"]
    url = f"{terminal.endpoint_url}/_aws/execute-api/{api['ApiId']}/$default"
    status = httpx.get(f"{url}/status", trust_env=False, timeout=60).json()
    refused = httpx.get(f"{url}/conversations", trust_env=False, timeout=60)
    compared = terminal.run("npx cdk diff --all")
    terminal.run("npx cdk destroy --all", "--force")

    assert all(len(deployed[kind]) > len(before[kind]) for kind in before), deployed
    assert (status["stage"], refused.status_code) == ("dev", 401)
    assert "Number of stacks with differences: 0" in compared
    assert _inventory(terminal.endpoint_url) == before


def _inventory(endpoint_url: str) -> dict[str, set[str]]:
    """The names of all that a stack of ours may leave behind."""

    def of(service: str, read: Callable[[Any], Any]) -> set[str]:
        return {str(found) for found in read(client(service, endpoint_url))}

    return {
        "alarms": of("cloudwatch", lambda c: [a["AlarmName"] for a in c.describe_alarms()["MetricAlarms"]]),
        "apis": of("apigatewayv2", lambda c: [a["ApiId"] for a in c.get_apis()["Items"]]),
        "buckets": of("s3", lambda c: [b["Name"] for b in c.list_buckets()["Buckets"]]),
        "dashboards": of("cloudwatch", lambda c: [d["DashboardName"] for d in c.list_dashboards()["DashboardEntries"]]),
        "functions": of("lambda", lambda c: [f["FunctionName"] for f in c.list_functions()["Functions"]]),
        "log groups": of("logs", lambda c: [g["logGroupName"] for g in c.describe_log_groups()["logGroups"]]),
        "mappings": of("lambda", lambda c: [m["UUID"] for m in c.list_event_source_mappings()["EventSourceMappings"]]),
        "parameters": of("ssm", lambda c: [p["Name"] for p in c.describe_parameters()["Parameters"]]),
        "pools": of("cognito-idp", lambda c: [p["Id"] for p in c.list_user_pools(MaxResults=60)["UserPools"]]),
        "queues": of("sqs", lambda c: c.list_queues().get("QueueUrls", [])),
        "roles": of("iam", lambda c: [r["RoleName"] for r in c.list_roles()["Roles"]]),
        "stacks": of("cloudformation", lambda c: [s["StackName"] for s in c.describe_stacks()["Stacks"]]),
        "tables": of("dynamodb", lambda c: c.list_tables()["TableNames"]),
        "topics": of("sns", lambda c: [t["TopicArn"] for t in c.list_topics()["Topics"]]),
    }


def test_tests_are_collected_without_make(tmp_path: Path) -> None:
    """As someone does who has just installed `requirements.txt`, without any setting of this session."""
    plain = {name: os.environ[name] for name in ("HOME", "LANG", "PATH") if name in os.environ}

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"],
        cwd=node.ROOT,
        env=plain,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )

    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "tests/e2e/test_cdk.py::test_tests_are_collected_without_make" in done.stdout

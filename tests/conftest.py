"""What every suite shares: an environment without the developer's AWS settings, and two engines.

`dynamodb_endpoint` is one bare MiniStack process for the session (0.4 s), with fresh tables for each test that asks
for `tables`. `stack` is the whole service, deployed once by the CDK command line (tests that use it carry the marker
`stack`).
"""

import os
import signal
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest
from botocore.config import Config

from infra.local import environment, node
from infra.local.emulator import Emulator, EmulatorSettings
from tests.bed.stack import Stack, deployed
from tests.bed.tables import Tables, fresh_tables

_STACKS = ("guarded", "secured", "stack")  # the fixtures that are one


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--faults", action="store_true", help="also those tests that take minutes (make test-faults)")


def pytest_configure() -> None:
    """Let a plain `pytest` find Node.js: CDK's library starts it on import, and the stack is deployed with it. And let
    the programs that tests interrupt be interrupted: a shell starts what it runs in the background with SIGINT ignored,
    and whatever that starts inherits it.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    with suppress(node.ToolError):  # the tests that need them fail, the others need not
        os.environ["PATH"] = node.path_with(node.prepare(), os.environ.get("PATH", os.defpath))


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in its own
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what takes minutes, unless it is asked for, and tell which tests stay together when two processes share
    the work: those that share something costly.

    The deployed stacks and the kernel of the CDK are made once that way. All others may run anywhere.
    """
    if not config.getoption("--faults"):
        left_out = [item for item in items if item.get_closest_marker("faults")]
        items[:] = [item for item in items if not item.get_closest_marker("faults")]
        config.hook.pytest_deselected(items=left_out)
    for item in items:
        if group := _group(item):
            item.add_marker(pytest.mark.xdist_group(group))


def _group(item: pytest.Item) -> str | None:
    """What is costly and shared by a test with others: a deployed stack, else what its folder shares."""
    deployed_here = next(filter(getattr(item, "fixturenames", ()).__contains__, _STACKS), None)
    folder = item.path.relative_to(Path(__file__).parent).parts[0]
    return deployed_here or (folder if folder in ("e2e", "infra", "local") else None)


@pytest.fixture(scope="session", autouse=True)
def _no_aws_settings_of_the_developer() -> Iterator[None]:
    """Fake credentials and no files: a test that forgets an endpoint fails instead of reaching an account."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patch.delenv(name)
        for name, value in environment.aws_settings().items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="session")
def dynamodb_endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a bare MiniStack: DynamoDB, S3 and the rest, nothing deployed."""
    with Emulator(EmulatorSettings(folder=tmp_path_factory.mktemp("engine"))) as emulator:
        yield emulator.endpoint_url


@pytest.fixture(scope="session")
def dynamodb(dynamodb_endpoint: str) -> Any:
    """A client of the engine: real retries, enough connections for concurrent writers."""
    config = Config(max_pool_connections=64, retries={"mode": "standard", "total_max_attempts": 3}, proxies={})
    return boto3.client("dynamodb", endpoint_url=dynamodb_endpoint, config=config)


@pytest.fixture(scope="session")
def s3(dynamodb_endpoint: str) -> Any:
    config = Config(s3={"addressing_style": "path"}, proxies={})
    return boto3.client("s3", endpoint_url=dynamodb_endpoint, config=config)


@pytest.fixture
def tables(dynamodb: Any, s3: Any) -> Iterator[Tables]:
    """Tables and a bucket of this test's own."""
    with fresh_tables(dynamodb, s3) as created:
        yield created


@pytest.fixture(scope="session")
def _deployed_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with deployed(tmp_path_factory.mktemp("stack")) as stack:
        yield stack


@pytest.fixture
def stack(_deployed_stack: Stack) -> Stack:
    """The deployed service, with nothing scripted and nothing recorded yet."""
    _deployed_stack.reset()
    return _deployed_stack


@pytest.fixture
def http(stack: Stack) -> Iterator[httpx.Client]:
    """A client whose root is the service."""
    with stack.http() as client:
        yield client


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Beside a failure of a test on the stack, show what the functions logged."""
    report = yield
    stack = getattr(item, "funcargs", {}).get("stack")
    if report.failed and isinstance(stack, Stack):
        report.sections.append(("Log of the emulator and its functions", stack.log_tail()))
    return report

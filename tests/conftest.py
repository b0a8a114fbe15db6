"""What every suite shares: an environment without the developer's AWS settings, and two engines.

`dynamodb_endpoint` is one MiniStack process for the session (0.4 s), with fresh tables for each test that asks for
`tables`.
"""

import os
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config

from infra.local import environment
from infra.local.emulator import Emulator, EmulatorSettings
from tests.bed.tables import Tables, fresh_tables


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
    config = Config(max_pool_connections=64, retries={"mode": "standard", "total_max_attempts": 3})
    return boto3.client("dynamodb", endpoint_url=dynamodb_endpoint, config=config)


@pytest.fixture(scope="session")
def s3(dynamodb_endpoint: str) -> Any:
    return boto3.client("s3", endpoint_url=dynamodb_endpoint, config=Config(s3={"addressing_style": "path"}))


@pytest.fixture
def tables(dynamodb: Any, s3: Any) -> Iterator[Tables]:
    """Tables and a bucket of this test's own."""
    with fresh_tables(dynamodb, s3) as created:
        yield created

"""SDK clients of the local stack, for processes that called `environment.forget_aws_settings` first."""

from typing import Any

import boto3
from botocore.config import Config


def client(service: str, endpoint_url: str) -> Any:
    """A client for one service at the emulator's address, past any proxy."""
    settings = Config(
        connect_timeout=5,
        read_timeout=60,
        retries={"mode": "standard", "total_max_attempts": 3},
        s3={"addressing_style": "path"},
        proxies={},
    )
    return boto3.client(service, endpoint_url=endpoint_url, config=settings)

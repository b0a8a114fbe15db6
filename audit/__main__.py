"""Command line: audit a deployment.

Without names it audits the service that `make run` keeps going, by the file that says where it is.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from audit.auditor import Audit, Deployment, audit

BROKEN, IMPOSSIBLE = 1, 2  # exit codes; 0: nothing is broken
_SHOW_EVERY_S = 2.0
_CONFIG = Config(connect_timeout=5, read_timeout=60, retries={"mode": "standard", "total_max_attempts": 8})
_NOWHERE = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}


def main(arguments: list[str] | None = None) -> int:
    """The exit code: 0 nothing is broken, 1 something is, 2 it could not be found out."""
    given = _parser().parse_args(arguments)
    try:
        done = audit(_deployment(given), time.time_ns(), _Progress())
    except (ClientError, BotoCoreError, OSError, KeyError, ValueError) as error:
        print(f"cannot audit: {error}", file=sys.stderr)
        return IMPOSSIBLE
    _show(done, shows_warnings=not given.quiet)
    return BROKEN if done.broken else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m audit",
        description="Reads all that a deployment stores and reports every invariant that is broken. It writes nothing.",
        epilog="Exit code: 0 nothing is broken, 1 something is, 2 it could not be found out. It needs dynamodb:Scan "
        "and dynamodb:GetItem on both tables and s3:ListBucket on the bucket, and costs one read unit for 4 KB.",
    )
    parser.add_argument("--stack", type=Path, default=Path(".local/stack.json"), help="where a local service runs")
    parser.add_argument("--messages-table", help="instead of --stack, with --conversations-table: a deployment on AWS")
    parser.add_argument("--conversations-table")
    parser.add_argument("--bodies-bucket", help="without it nothing is said of large bodies")
    parser.add_argument("--profile", help="an AWS profile; else the usual credentials")
    parser.add_argument("--region")
    parser.add_argument("--quiet", action="store_true", help="only what is broken, no warnings")
    return parser


def _deployment(given: argparse.Namespace) -> Deployment:
    if bool(given.messages_table) != bool(given.conversations_table):
        raise ValueError("--messages-table and --conversations-table go together")
    if given.messages_table:
        session = boto3.Session(profile_name=given.profile, region_name=given.region)
        dynamodb, s3 = (session.client(service, config=_CONFIG) for service in ("dynamodb", "s3"))
        return Deployment(dynamodb, s3, given.messages_table, given.conversations_table, given.bodies_bucket)
    return _local(given.stack)


def _local(stack_file: Path) -> Deployment:
    if not stack_file.exists():
        raise ValueError(f"{stack_file} is not there: is `make run` at work? For AWS, name the tables (--help)")
    stack: dict[str, Any] = json.loads(stack_file.read_text())
    where = {"endpoint_url": stack["awsEndpointUrl"], "region_name": stack["region"], **_NOWHERE}
    config = _CONFIG.merge(Config(s3={"addressing_style": "path"}, proxies={}))
    dynamodb, s3 = (boto3.client(service, config=config, **where) for service in ("dynamodb", "s3"))
    return Deployment(dynamodb, s3, stack["messagesTable"], stack["conversationsTable"], stack["bodiesBucket"])


class _Progress:
    """Says on standard error how far it has come, now and then."""

    def __init__(self) -> None:
        self._shown = time.monotonic()

    def __call__(self, text: str) -> None:
        if time.monotonic() - self._shown >= _SHOW_EVERY_S:
            self._shown = time.monotonic()
            print(text, file=sys.stderr, flush=True)


def _show(done: Audit, *, shows_warnings: bool) -> None:
    for finding in done.findings:
        if finding.is_broken or shows_warnings:
            print(finding)
    if done.moved:
        print(f"{len(done.moved)} conversations changed while they were read; audit again to check these")
    warnings = len(done.findings) - len(done.broken)
    print(
        f"{done.conversations} conversations, {done.items} items, {done.objects} objects: "
        f"{len(done.broken)} broken, {warnings} warnings"
    )


if __name__ == "__main__":
    sys.exit(main())

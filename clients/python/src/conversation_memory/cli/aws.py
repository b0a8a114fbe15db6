"""What the command line asks AWS itself: where a stage's service is, and whose credentials sign. Needs botocore."""

from __future__ import annotations

from typing import Any

from conversation_memory.cli.exits import FAILED, NOT_ALLOWED, NOT_FOUND, Failure
from conversation_memory.errors import MissingExtraError

try:
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.session import Session
except ImportError as error:
    raise MissingExtraError("sigv4", "botocore") from error

_CONFIG = Config(connect_timeout=5, read_timeout=10, retries={"total_max_attempts": 3, "mode": "standard"})


def api_url(stage: str, region: str | None, profile: str | None) -> tuple[str, str]:
    """The address of a stage's service, and the region in which it was found."""
    name = f"/conversation-memory/{stage}/api-url"
    try:
        ssm = _session(profile).create_client("ssm", region_name=region, config=_CONFIG)
        found = ssm.get_parameter(Name=name)["Parameter"]["Value"]
    except ClientError as error:
        raise _refused(error, stage, name) from error
    except BotoCoreError as error:
        raise Failure(f"AWS cannot be asked for the stage {stage}: {error}") from error
    return str(found), str(ssm.meta.region_name)


def signer(owner: str, region: str | None, profile: str | None) -> Any:
    """The identity that acts for an owner."""
    from conversation_memory.sigv4 import SigV4  # noqa: PLC0415

    try:
        session = _session(profile)
        region = region or session.get_config_variable("region")
        return SigV4(owner, region=region, credentials=session.get_credentials())
    except (BotoCoreError, ValueError) as error:
        raise Failure(str(error)) from error


def _session(profile: str | None) -> Any:
    return Session(profile=profile)


def _refused(error: Any, stage: str, name: str) -> Failure:
    code = error.response.get("Error", {}).get("Code")
    if code == "ParameterNotFound":
        where = "in this account and region; --region and --profile name others"
        return Failure(
            f"No service of the stage {stage} is deployed {where} (there is no parameter {name}).", NOT_FOUND
        )
    return Failure(f"AWS does not tell {name}: {error}", NOT_ALLOWED if code == "AccessDeniedException" else FAILED)

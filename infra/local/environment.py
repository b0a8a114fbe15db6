"""The environments of the processes that the local stack starts.

Nothing of the developer's AWS settings may reach them: a profile, a region or an endpoint that slipped in could
turn a local deployment into one to a real account. So the emulator's environment is built up from a short list
(MiniStack hands its own on to every Lambda), and the CDK's is the developer's without anything of AWS.
"""

import os
from collections.abc import Mapping, MutableMapping

ACCOUNT = "000000000000"
REGION = "us-east-1"

# What a process needs to find programs and to print text.
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH")
_DROPPED_PREFIXES = ("AWS_", "CDK_", "PYTHONPATH", "PYTHONHOME", "NODE_OPTIONS", "JSII_")
_LOOPBACK = "127.0.0.1,localhost"


def aws_settings(endpoint_url: str | None = None) -> dict[str, str]:
    """Credentials that are valid nowhere, and no file or metadata service to find others in."""
    settings = {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    if endpoint_url:
        # S3 on its own as well: the CDK command line builds virtual-host addresses from the general one.
        settings |= {"AWS_ENDPOINT_URL": endpoint_url, "AWS_ENDPOINT_URL_S3": endpoint_url}
    return settings


def forget_aws_settings(environ: MutableMapping[str, str]) -> None:
    """Leave nothing of the developer's AWS settings in a process's own environment."""
    for name in [name for name in environ if name.startswith("AWS_")]:
        del environ[name]
    environ.update(aws_settings())


def for_emulator(environ: Mapping[str, str]) -> dict[str, str]:
    """A small environment, since every Lambda inherits it."""
    kept = {name: environ[name] for name in _KEPT if name in environ}
    return kept | aws_settings()


def for_cdk(environ: Mapping[str, str], endpoint_url: str) -> dict[str, str]:
    """The developer's own (pip and npm may be configured in it) but for AWS, aimed at the emulator."""
    kept = {name: value for name, value in environ.items() if not name.startswith(_DROPPED_PREFIXES)}
    no_proxy = ",".join(filter(None, (_LOOPBACK, environ.get("NO_PROXY") or environ.get("no_proxy", ""))))
    return (
        kept
        | aws_settings(endpoint_url)
        | {
            "CDK_DISABLE_CLI_TELEMETRY": "true",
            "NO_PROXY": no_proxy,
            "no_proxy": no_proxy,
        }
    )

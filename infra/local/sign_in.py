"""Prints a token of a user of the local pool (`make token USER=alice GROUPS=admin`), who is created if missing."""

import argparse
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from infra.local import environment, stack_file
from infra.local.clients import client

_PASSWORD = "Local-only-1"  # noqa: S105 - of users in a pool on loopback that this program makes


class SignInError(Exception):
    """There is nothing to sign in to."""


def token(folder: Path, user: str, groups: list[str]) -> str:
    """An access token of the user, who is then in these groups and in no other."""
    stack = stack_file.read(folder)
    if not stack:
        raise SignInError(f"no local stack runs on {folder}: start one with make run AUTH=jwt")
    if stack["auth"] != "jwt":
        raise SignInError("the local stack runs without authentication: start it with AUTH=jwt to need a token")
    cognito = client("cognito-idp", stack["awsEndpointUrl"])
    _ensure_user(cognito, stack["userPoolId"], user)
    _ensure_groups(cognito, stack["userPoolId"], user, set(groups))
    signed_in = cognito.initiate_auth(
        ClientId=stack["userPoolClientId"],
        AuthFlow="USER_PASSWORD_AUTH",
        AuthParameters={"USERNAME": user, "PASSWORD": _PASSWORD},
    )
    return str(signed_in["AuthenticationResult"]["AccessToken"])


def _ensure_user(cognito: Any, pool: str, user: str) -> None:
    with suppress(cognito.exceptions.UsernameExistsException):
        cognito.admin_create_user(UserPoolId=pool, Username=user, MessageAction="SUPPRESS")
    cognito.admin_set_user_password(UserPoolId=pool, Username=user, Password=_PASSWORD, Permanent=True)


def _ensure_groups(cognito: Any, pool: str, user: str, wanted: set[str]) -> None:
    listed = cognito.admin_list_groups_for_user(UserPoolId=pool, Username=user)["Groups"]
    present = {group["GroupName"] for group in listed}
    for group in present - wanted:
        cognito.admin_remove_user_from_group(UserPoolId=pool, Username=user, GroupName=group)
    for group in wanted - present:
        with suppress(cognito.exceptions.GroupExistsException):
            cognito.create_group(UserPoolId=pool, GroupName=group)
        cognito.admin_add_user_to_group(UserPoolId=pool, Username=user, GroupName=group)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make token", description=__doc__)
    parser.add_argument("--user", default="alice", metavar="USER")
    parser.add_argument("--groups", default="", metavar="GROUPS", help="names with commas or spaces between them")
    parser.add_argument("--local-dir", type=Path, default=Path(os.environ.get("LOCAL_DIR") or ".local"))
    given = parser.parse_args(arguments)
    environment.forget_aws_settings(os.environ)
    try:
        print(token(given.local_dir, given.user, given.groups.replace(",", " ").split()))
    except SignInError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

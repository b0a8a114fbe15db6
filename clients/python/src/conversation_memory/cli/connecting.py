"""The options of every command that asks the service, and the client that they come to."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from conversation_memory.cli import finding
from conversation_memory.cli.finding import Target
from conversation_memory.cli.program import TARGET, debugged

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--url", envvar="CONVERSATION_MEMORY_URL", metavar="URL", help="The service's address."),
    click.option(
        "--stage", envvar="CONVERSATION_MEMORY_STAGE", metavar="STAGE", help="A stage deployed in your AWS account."
    ),
    click.option(
        "--local",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="FOLDER",
        help="The state of a local stack (found by itself: .local here or above).",
    ),
    click.option("--token", envvar="CONVERSATION_MEMORY_TOKEN", metavar="TOKEN", help="Who you are."),
    click.option(
        "--token-command",
        envvar="CONVERSATION_MEMORY_TOKEN_COMMAND",
        metavar="COMMAND",
        help="What prints a token, run without a shell.",
    ),
    click.option("--sigv4", metavar="OWNER", help="Sign as an AWS principal that acts for OWNER."),
    click.option("--region", metavar="REGION", help="Of AWS, for --stage and --sigv4."),
    click.option("--profile", metavar="PROFILE", help="Of AWS, for --stage and --sigv4."),
)
_NAMES = ("url", "stage", "local", "token", "token_command", "sigv4", "region", "profile")
_PLACES = ("url", "stage", "local")
_IDENTITIES = ("token", "token_command", "sigv4")


def connected(command: Command) -> Command:
    """Give a command the options, and call it with the client as ``memory``."""

    @click.pass_context
    @functools.wraps(command)
    def with_client(ctx: click.Context, /, **given: Any) -> Any:
        for name in _NAMES:
            given.pop(name)
        return command(memory=ctx.with_resource(client(ctx)), **given)

    for option in (debugged, *reversed(_OPTIONS)):
        with_client = option(with_client)
    return with_client  # type: ignore[return-value]


def client(ctx: click.Context, **settings: Any) -> Any:
    """The client that the options of a command come to; ``settings`` are further arguments of it."""
    from conversation_memory import Client  # noqa: PLC0415 - nothing of it for `--help`

    target = target_of(ctx)
    ctx.meta[TARGET] = target
    try:
        return Client(target.url, **_identity(ctx, target), **settings)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def target_of(ctx: click.Context) -> Target:
    """Where the service is that the options name."""
    given = ctx.params
    place = _most_explicit(ctx, _PLACES)
    if place == "url":
        return finding.named(given["url"])
    if place == "stage":
        return finding.deployed(given["stage"], given["region"], given["profile"])
    return finding.local(given["local"])


def _identity(ctx: click.Context, target: Target) -> dict[str, Any]:
    given = ctx.params
    who = _most_explicit(ctx, _IDENTITIES)
    if who == "token":
        return {"token": given["token"]}
    if who == "token_command":
        from conversation_memory.cli.tokens import TokenOfCommand  # noqa: PLC0415

        return {"token": TokenOfCommand(given["token_command"])}
    if who == "sigv4":
        from conversation_memory.cli import aws  # noqa: PLC0415 - needs botocore

        return {"identity": aws.signer(given["sigv4"], given["region"] or target.region, given["profile"])}
    return {}


def _most_explicit(ctx: click.Context, names: tuple[str, ...]) -> str | None:
    """Which of these options counts: one on the command line before one of the environment.

    Raises:
        click.UsageError: two are given that way.
    """
    given = [name for name in names if ctx.params[name]]
    typed = [name for name in given if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE]
    counting = typed or given
    if len(counting) > 1:
        both = " and ".join(f"--{name.replace('_', '-')}" for name in counting)
        raise click.UsageError(f"{both} cannot be given together.")
    return counting[0] if counting else None

"""``import``: conversations from elsewhere, moved in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from conversation_memory import Client
from conversation_memory.cli.connecting import connected
from conversation_memory.cli.exits import Failure
from conversation_memory.cli.reporting import moved_options, moving
from conversation_memory.cli.showing import Output, shown


@click.group("import")
def command() -> None:
    """Move conversations in: from LangChain's tables, an OpenSearch memory, or an export.

    Moving again changes nothing but what the source has more by then: a run that ended anywhere is begun again.
    Exit code 5 says that something could not be moved; the report says what and why.
    """


@command.command("langchain")
@click.argument("table")
@click.option("--messages-attribute", metavar="NAME", help="Where the messages stand; told by what is in it otherwise.")
@click.option("--ttl-attribute", metavar="NAME", help="When an item expires; that of the table's TTL, or expireAt.")
@click.option("--table-region", metavar="REGION", help="The table's.")
@click.option("--table-profile", metavar="PROFILE", help="Of AWS, to read the table.")
@click.option("--table-endpoint", metavar="URL", help="Of DynamoDB, if it is not AWS's.")
@click.option("--segment", metavar="K/N", default="0/1", help="The K-th of N parts, from 0: N runs move them together.")
@click.option(
    "--read-units",
    type=click.FloatRange(min=0, min_open=True),
    metavar="UNITS",
    help="Read units that the scan may take in a second.",
)
@moved_options
@connected
@shown
def langchain(memory: Client, output: Output, **given: Any) -> None:
    """Move a DynamoDB TABLE of LangChain's DynamoDBChatMessageHistory, of Python or of JavaScript.

    A session keeps its id, so that ConversationMemoryHistory with that id gives its messages as that class did. Of a
    key with two attributes it is both, joined by /.

    \b
    Examples:
      conversation-memory import langchain SessionTable --dry-run
      conversation-memory import langchain SessionTable --stage prod --table-region eu-west-1
      conversation-memory import langchain langchain --messages-attribute said --read-units 100
    """
    from conversation_memory.moving.langchain_tables import LangChainTable  # noqa: PLC0415 - needs its extra

    options, to_move = moving(given)
    source = _of_aws(
        lambda: LangChainTable(
            options["table"],
            messages_attribute=options["messages_attribute"],
            ttl_attribute=options["ttl_attribute"],
            segment=_segment(options["segment"]),
            read_units=options["read_units"],
            region=options["table_region"],
            profile=options["table_profile"],
            endpoint_url=options["table_endpoint"],
        )
    )
    _of_aws(lambda: to_move(source, memory, output))


@command.command("opensearch")
@click.argument("address", metavar="URL")
@click.option("--user", metavar="NAME", help="For basic authentication.")
@click.option("--password", envvar="OPENSEARCH_PASSWORD", metavar="PASSWORD", help="Of the user.")
@click.option("--ca-file", metavar="FILE", type=click.Path(exists=True, dir_okay=False), help="Certificates to trust.")
@click.option("--sign", is_flag=True, help="Sign for Amazon OpenSearch Service with your credentials.")
@click.option("--source-region", metavar="REGION", help="Of the cluster, for --sign.")
@click.option("--source-profile", metavar="PROFILE", help="Of AWS, for --sign.")
@moved_options
@connected
@shown
def opensearch(memory: Client, output: Output, **given: Any) -> None:
    """Move the conversational memories of an OpenSearch cluster at URL that a user sees.

    A memory's id becomes the session id of its conversation.

    \b
    Examples:
      OPENSEARCH_PASSWORD=... conversation-memory import opensearch https://localhost:9200 --user alice
      conversation-memory import opensearch https://search-mine.es.amazonaws.com --sign --stage prod
    """
    from conversation_memory.moving.opensearch import OpenSearchMemory  # noqa: PLC0415

    options, to_move = moving(given)
    if options["sign"] and options["user"]:
        raise click.UsageError("--sign and --user cannot be given together.")
    try:
        source = OpenSearchMemory(
            options["address"],
            user=options["user"],
            password=options["password"] or "",
            sign=_signer(options["source_region"], options["source_profile"]) if options["sign"] else None,
            ca_file=options["ca_file"],
        )
    except (ValueError, OSError) as error:
        raise click.UsageError(str(error)) from error
    to_move(source, memory, output)


@command.command("jsonl")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@moved_options
@connected
@shown
def jsonl(memory: Client, output: Output, file: Path, **given: Any) -> None:
    """Move the conversations of an export: the FILE that `export` wrote.

    \b
    Examples:
      conversation-memory import jsonl conversations.jsonl
      conversation-memory import jsonl conversations.jsonl --stage prod --json
    """
    from conversation_memory.moving.json_lines import JsonLinesFile  # noqa: PLC0415

    _, to_move = moving(given)
    to_move(JsonLinesFile(file), memory, output)


def _signer(region: str | None, profile: str | None) -> Any:
    from conversation_memory.moving.signing import signer  # noqa: PLC0415 - needs its extra

    try:
        return _of_aws(lambda: signer(region, profile))
    except ValueError as error:
        raise Failure(str(error)) from error


def _segment(text: str) -> tuple[int, int]:
    number, slash, of = text.partition("/")
    if not (slash and number.isdigit() and of.isdigit() and int(number) < int(of)):
        raise click.BadParameter(f"{text} is not like 0/4", param_hint="--segment")
    return int(number), int(of)


def _of_aws(work: Any) -> Any:
    """Do it, and say in a line what AWS has against it."""
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - the source has said that it is needed

    try:
        return work()
    except (BotoCoreError, ClientError) as error:
        raise Failure(f"AWS: {error}") from error

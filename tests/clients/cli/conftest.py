"""The command line, called as a program would be, on the API in this process."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import StringIO
from typing import Any

import pytest
from click.testing import CliRunner

from conversation_memory.cli import main
from conversations.dynamo import DynamoStore
from tests.bed.in_process import Api
from tests.bed.lagging import LaggingStore
from tests.bed.listening import listening
from tests.bed.served import Served
from tests.integration.conftest import TestClock


@dataclass(frozen=True)
class Ran:
    """What a command came to."""

    exit_code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def documents(self) -> list[Any]:
        """The JSON that was printed, a document a line."""
        return [json.loads(line) for line in self.lines]


Run = Callable[..., Ran]


@pytest.fixture
def api(lagging: LaggingStore, clock: TestClock) -> Api:
    """The API of a test, whose log is not among what a command of the same process prints."""
    return Api(lagging, clock, log=StringIO())


@pytest.fixture
def url(served: Served) -> Iterator[str]:
    """Where the API of this test answers."""
    with listening(served) as address:
        yield address


def called(*arguments: str, stdin: str | None = None, **variables: str) -> Ran:
    """`conversation-memory ARGUMENTS` with these variables."""
    done = CliRunner(env=variables).invoke(main, arguments, input=stdin, prog_name="conversation-memory")
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return Ran(done.exit_code, done.stdout_bytes.decode(), done.stderr)


@pytest.fixture
def run(url: str) -> Run:
    """Calls a command on the API of this test."""

    def run(*arguments: str, **named: Any) -> Ran:
        return called(*arguments, CONVERSATION_MEMORY_URL=url, **named)

    return run


@pytest.fixture
def secured(store: DynamoStore, clock: TestClock) -> Api:
    """The API of those who have a token."""
    return Api(store, clock, auth="jwt", log=StringIO())


@pytest.fixture
def run_secured(secured: Api) -> Iterator[Run]:
    """Calls a command on that API."""
    with listening(Served(secured)) as address:

        def run(*arguments: str, **named: Any) -> Ran:
            return called(*arguments, CONVERSATION_MEMORY_URL=address, **named)

        yield run

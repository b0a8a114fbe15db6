"""The real store and the real API over an engine in a process of its own, so that only our part is measured here.

What the functions are given in Lambda is given here: the clients' own configuration, and nothing of the tests'.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from botocore.client import Config
from botocore.session import get_session

from conversations import ids
from conversations.appending import LARGEST_BATCH, Appending, append
from conversations.clients import DATA, OBJECTS
from conversations.clock import Clock, SystemClock
from conversations.creating import NewConversation, create
from conversations.dynamo import DynamoStore
from conversations.dynamo import Tables as TableNames
from conversations.model import About, Draft, Role
from conversations.objects import Objects
from infra.local import environment
from infra.local.emulator import Emulator, EmulatorSettings
from tests.bed.in_process import Api
from tests.bed.prose import prose
from tests.bed.tables import fresh_tables

OWNER = "anonymous"  # as the API names everybody when it is not told to ask for tokens
_PATIENT = Config(read_timeout=60)  # the engine is slower than DynamoDB, and a repeated call would count twice
ROLES: tuple[Role, Role] = ("user", "assistant")


@dataclass(frozen=True)
class Bed:
    """One deployment's worth: its tables, a client of the engine, the store, and the API as one user calls it."""

    endpoint_url: str
    dynamodb: Any
    tables: TableNames
    bodies: str
    objects: Objects
    store: DynamoStore
    clock: Clock
    api: Api

    def store_through(self, url: str) -> DynamoStore:
        """A store over the same tables that reaches DynamoDB at another address."""
        return DynamoStore(client("dynamodb", url, DATA), self.tables, self.objects, self.clock)

    def fill(self, messages: int, size: int) -> str:
        """A conversation of so many messages of so many bytes of English, by turns of both roles; returns its id."""
        conversation, _ = create(self.store, self.clock, NewConversation(OWNER, About()))
        self.extend(conversation.id, 0, messages, size)
        return conversation.id

    def extend(self, conversation_id: str, start: int, end: int, size: int) -> None:
        """Add the messages from ``start`` (counted from 0) up to ``end``, in batches as large as a transaction is."""
        for first in range(start, end, LARGEST_BATCH):
            places = range(first, min(first + LARGEST_BATCH, end))
            drafts = [Draft(ids.new_local(), ROLES[place % 2], [{"text": text(place, size)}]) for place in places]
            append(self.store, self.clock, Appending(OWNER, conversation_id, drafts, "bench"))


def text(place: int, size: int) -> str:
    """What the message at a place says: other English for each of a hundred places, and nowhere the same twice."""
    return "".join(prose(place % 100 * 100 + part) for part in range(size // 1024 + 1))[:size]


@contextmanager
def engine(folder: Path) -> Iterator[str]:
    """The address of an engine in a process of its own."""
    with Emulator(EmulatorSettings(folder=folder / "engine")) as emulator:
        yield emulator.endpoint_url


def client(service: str, endpoint_url: str, config: Config) -> Any:
    """A botocore client of the engine."""
    settings = environment.aws_settings()
    return get_session().create_client(
        service,
        endpoint_url=endpoint_url,
        region_name=settings["AWS_REGION"],
        aws_access_key_id=settings["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=settings["AWS_SECRET_ACCESS_KEY"],
        config=config.merge(_PATIENT),
    )


@contextmanager
def bed(endpoint_url: str, *, clock: Clock | None = None) -> Iterator[Bed]:
    """Fresh tables at an engine, and the functions at them."""
    clock = clock or SystemClock()
    dynamodb = client("dynamodb", endpoint_url, DATA)
    s3 = client("s3", endpoint_url, OBJECTS.merge(Config(s3={"addressing_style": "path"})))
    with fresh_tables(dynamodb, s3) as tables:
        names, objects = TableNames(tables.messages, tables.conversations), Objects(lambda: s3, tables.bodies)
        store = DynamoStore(dynamodb, names, objects, clock)
        yield Bed(endpoint_url, dynamodb, names, tables.bodies, objects, store, clock, Api(store, clock))

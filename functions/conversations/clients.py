"""AWS clients, and the store made of them. One botocore session serves all clients of a function.

Time-outs and retries are set on purpose: botocore's own (a minute for each of five tries) would outlast the function,
and the caller would get the gateway's error instead of ours with its ``Retry-After``. One call, when nothing answers at
all, takes its tries times the read time-out, and between them up to 1 and 2 s (botocore's full jitter):

=========  =====  ============  =============  ========================================================
client     tries  read timeout  worst case     why
=========  =====  ============  =============  ========================================================
DynamoDB   3      2 s           9 s            a write is begun again until 16 s have passed
... reads  4      2 s           11 s           then a read fails; that of a write that was begun again, too,
                                               within the API's 29 s
S3         3      3 s           12 s           eight objects are read or written at a time, and eight more
                                               may have been begun when the first fails: 24 s
Lambda     2      3 s           7 s            after an append of up to 16 s
=========  =====  ============  =============  ========================================================

The first try of a read is ``dynamo_reads``' own, with the client's time-outs; if it brings no answer, the client makes
its three without a pause before them.

The read time-out counts the silence between bytes, not a whole transfer: DynamoDB answers within tens of milliseconds.
"""

from functools import partial
from threading import Lock
from typing import Any

from botocore import __version__ as botocore_version
from botocore.config import Config
from botocore.session import Session, get_session

from conversations import VERSION
from conversations.clock import Clock
from conversations.dynamo import DynamoStore, Tables
from conversations.dynamo_cleaning import DynamoRemains
from conversations.objects import Objects
from conversations.settings import StoreSettings

_CONNECT_S = 1
# botocore would put a longer name together for each call, twice and letter by letter: a tenth of the call's time.
_NAME = f"conversation-memory/{VERSION} Botocore/{botocore_version}"


def _config(read_s: float, tries: int) -> Config:
    retries = {"mode": "standard", "total_max_attempts": tries}
    return Config(connect_timeout=_CONNECT_S, read_timeout=read_s, retries=retries, user_agent=_NAME)


# What the adapters ask for is checked by their tests; checking each request again takes a twentieth of a call's time.
DATA = _config(2, 3).merge(Config(parameter_validation=False))
OBJECTS = _config(3, 3)
# Asynchronous invocations are repeated once only: a lost answer starts the turn twice, for nothing.
INVOKE = _config(3, 2)
# The first token of a long prompt may take minutes; the turn watches its own time.
_MODEL = _config(300, 3)


class Clients:
    """Makes clients when they are first needed, and keeps them."""

    def __init__(self) -> None:
        self._session: Session = get_session()
        self._made: dict[tuple[str, str | None, str], Any] = {}
        self._making = Lock()

    def store(self, settings: StoreSettings, clock: Clock) -> DynamoStore:
        """The store of this deployment."""
        tables = Tables(settings.messages_table, settings.conversations_table)
        objects = Objects(lambda: self._client("s3", OBJECTS), settings.bodies_bucket)
        return DynamoStore(self._client("dynamodb", DATA), tables, objects, clock)

    def remains(self, settings: StoreSettings, clock: Clock) -> DynamoRemains:
        """What is left of conversations in this deployment."""
        tables = Tables(settings.messages_table, settings.conversations_table)
        objects_client = partial(self._client, "s3", OBJECTS)
        return DynamoRemains(self._client("dynamodb", DATA), tables, objects_client, settings.bodies_bucket, clock)

    def queues(self) -> Any:
        """The client of SQS."""
        return self._client("sqs", DATA)

    def functions(self) -> Any:
        """The client of Lambda."""
        return self._client("lambda", INVOKE)

    def tools(self, region: str | None, timeout_s: float) -> Any:
        """The client of Lambda by which tools are called: a call that took too long must not be made twice."""
        config = _config(timeout_s, 1)
        return self._client("lambda", config, region, f"within {timeout_s} s")

    def model(self, region: str | None) -> Any:
        """The client of Bedrock's models in a region (``None``: the function's own)."""
        return self._client("bedrock-runtime", _MODEL, region)

    def _client(self, service: str, config: Config, region: str | None = None, use: str = "") -> Any:
        """The client of that service, region and use. One at a time: sessions are not safe in several threads."""
        key = (service, region, use)
        with self._making:
            if key not in self._made:
                self._made[key] = self._session.create_client(service, region_name=region, config=config)
            return self._made[key]

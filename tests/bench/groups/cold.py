"""Cold starts of the three functions from the real bundle, beside a function of bare botocore that asks one Query."""

import compileall
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from conversations import ids, schema
from infra.bundling import FUNCTIONS, REQUIREMENTS, Bundler
from infra.local import environment
from tests.bed.installed import installed
from tests.bed.variables import OF_FUNCTIONS
from tests.bench.bed import OWNER, Bed, bed, engine
from tests.bench.cold_process import Start, start
from tests.bench.measuring import Row

CPU = "CPU of a cold start, to the first answer"
MEMORY = "Peak memory of a cold start"
MESSAGES, SIZE = 20, 500
_YARDSTICK = "bare botocore: a client and one Query"


@contextmanager
def rows(folder: Path) -> Iterator[list[Row]]:
    bundle, bare = folder / "bundle", folder / "bare"
    Bundler(FUNCTIONS, compiler=Path(sys.executable)).bundle(bundle)
    shutil.copytree(installed(FUNCTIONS / REQUIREMENTS, "bare-botocore"), bare)
    shutil.copytree(Path(__file__).parents[1] / "bare", bare, dirs_exist_ok=True)
    compileall.compile_dir(bare, quiet=2)
    with engine(folder) as url, bed(url) as direct:
        variables = _variables(direct)
        yield [
            row
            for name, (code, handler, event, is_right) in _starts(direct, bundle, bare).items()
            for row in _rows(name, partial(start, handler, event, [code], variables, folder / "log"), is_right)
        ]


def _variables(direct: Bed) -> Mapping[str, str]:
    tables = {"MESSAGES_TABLE": direct.tables.messages, "CONVERSATIONS_TABLE": direct.tables.conversations}
    return OF_FUNCTIONS | environment.aws_settings(direct.endpoint_url) | tables | {"BODIES_BUCKET": direct.bodies}


def _starts(direct: Bed, bundle: Path, bare: Path) -> Mapping[str, tuple[Path, str, Any, Callable[[Any], bool]]]:
    """By name: where the code lies, the handler, the event of its first invocation, and whether an answer is right."""
    id_ = direct.fill(MESSAGES, SIZE)
    path = f"/conversations/{id_}/messages"
    answered = direct.api.call("GET", path).body["messages"][0]["id"]
    about = {"http": {"method": "GET", "path": path}, "requestId": "r", "stage": "$default"}
    request = {
        "rawPath": path,
        "headers": {},
        "requestContext": about,
    }
    task = {"conversationId": id_, "currentMessageId": answered, "owner": OWNER}
    record = {
        "messageId": "1",
        "eventSource": "aws:sqs",
        "body": f'{{"conversationId": "{ids.new_conversation_id()}"}}',
    }
    query = {"index": schema.MESSAGES_INDEX, "id": id_}
    return {
        _YARDSTICK: (bare, "bare_query.lambda_handler", query, lambda count: count == MESSAGES),
        "api: the HTTP answer of GET /messages": (
            bundle, "api.handler.lambda_handler", request, lambda answer: answer["statusCode"] == 200,
        ),
        "turn: an event whose message has its answer": (
            bundle, "turn.handler.lambda_handler", task, lambda answer: "errorType" not in answer,
        ),
        "cleanup: a conversation that is gone": (
            bundle, "cleanup.handler.lambda_handler", {"Records": [record]},
            lambda answer: answer == {"batchItemFailures": []},
        ),
    }  # fmt: skip


def _rows(name: str, begin: Callable[[], Start], is_right: Callable[[Any], bool]) -> Iterator[Row]:
    """Each row starts a process of its own: the two do not stand beside each other in a round."""

    def begun() -> Start:
        found = begin()
        assert is_right(found.answer), found.answer
        return found

    yardstick = None if name == _YARDSTICK else _YARDSTICK
    yield Row(CPU, name, lambda: begun().cpu_ms, yardstick, "ms")
    yield Row(MEMORY, name, lambda: begun().peak_mb, yardstick, "MB")

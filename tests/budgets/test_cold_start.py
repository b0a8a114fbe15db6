"""What a cold start loads up to its first answer: a module more is a third of a millisecond more, each time."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from infra.bundling import FUNCTIONS
from infra.local import environment
from tests.bed.variables import OF_FUNCTIONS
from tests.bench.metered import Metered

pytestmark = pytest.mark.slow

LIBRARIES = {"aws_lambda_powertools", "botocore", "dateutil", "jmespath", "urllib3"}
OURS = {"api", "cleanup", "conversations", "turn"}
HEAVY = {
    *(
        "aiohttp",
        "aws_lambda_powertools.utilities.parser",
        "aws_xray_sdk",
        "boto3",
        "fastjsonschema",
        "multiprocessing",
        "pydantic",
    ),
    *("api.openapi", "api.opensearch", "conversations.search", "conversations.searching", "turn.appsync"),
}
# By function: of our own modules, and of the libraries'.
BUDGETS = {"api": (79, 233), "turn": (72, 161), "cleanup": (44, 161)}
SCRIPT = """
import importlib, json, sys
class Context:
    aws_request_id = "r"
    get_remaining_time_in_millis = staticmethod(lambda: 20_000)
part, event = sys.argv[1], json.loads(sys.argv[2])
answer = importlib.import_module(part + ".handler").lambda_handler(event, Context)
print("\\n" + json.dumps({"answer": answer, "modules": sorted(sys.modules)}))
"""


@pytest.mark.parametrize("part", BUDGETS)
def test_a_cold_start_loads_no_more_than_it_needs(part: str, service: Metered) -> None:
    id_ = service.unmetered.fill(2, 100)
    found = _started(part, _event(part, id_, service), service)

    modules = found["modules"]
    ours = [name for name in modules if name.split(".")[0] in OURS]
    libraries = [name for name in modules if name.split(".")[0] in LIBRARIES]
    assert not [name for name in modules if any(name == heavy or name.startswith(f"{heavy}.") for heavy in HEAVY)]
    assert len(ours) <= BUDGETS[part][0], ours
    assert len(libraries) <= BUDGETS[part][1], libraries


def _event(part: str, id_: str, service: Metered) -> Any:
    path = f"/conversations/{id_}/messages"
    message_id = service.request("GET", path)["messages"][0]["id"]
    about = {"http": {"method": "GET", "path": path}, "requestId": "r", "stage": "$default"}
    return {
        "api": {
            "rawPath": path,
            "headers": {},
            "requestContext": about,
        },
        "turn": {"conversationId": id_, "currentMessageId": message_id, "owner": "anonymous"},
        "cleanup": {
            "Records": [{"messageId": "1", "eventSource": "aws:sqs", "body": f'{{"conversationId": "{id_}"}}'}]
        },
    }[part]


def _started(part: str, event: Any, service: Metered) -> Any:
    direct = service.unmetered
    tables = {"MESSAGES_TABLE": direct.tables.messages, "CONVERSATIONS_TABLE": direct.tables.conversations}
    variables = environment.for_emulator(os.environ) | environment.aws_settings(direct.endpoint_url)
    variables |= OF_FUNCTIONS | tables | {"BODIES_BUCKET": direct.bodies}
    command = [sys.executable, "-c", SCRIPT, part, json.dumps(event)]
    run = subprocess.run(command, cwd=FUNCTIONS, env=variables, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    found: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    answer = found["answer"]
    assert answer.get("statusCode", 200) == 200, answer
    return found

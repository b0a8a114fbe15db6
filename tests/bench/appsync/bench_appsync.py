"""What an answer costs an AppSync API: requests and bytes, beside Amplify's own handler in the same run.

    python tests/bench/appsync/bench_appsync.py

A scripted model sends pieces of 20 bytes, one every 5 ms (1,000 tokens a second) or 50 ms (100), to both handlers; the
API answers after 0 or 50 ms. Counted are the requests of the mutation that takes the answer, their bodies, and the
write units that storing each chunk over the last one costs (content and 350 bytes, in the base table alone). Amplify's
handler comes from npm, and needs Node.js. Budget: requests and bytes linear in the answer. It takes some minutes.
"""

import os
import sys
import time
from collections.abc import Callable, Mapping
from math import ceil
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))
sys.path.insert(0, str(Path(__file__).parents[3] / "functions"))

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics
from botocore.config import Config
from botocore.session import get_session

from conversations.bedrock import BedrockModel
from conversations.clock import NANOSECONDS, SystemClock
from conversations.settings import StoreSettings
from infra.local import environment
from tests.bed.amplify_handler import running
from tests.bed.appsync import AppSync, ListedMessages
from tests.bed.http2 import OverHttp2
from tests.bed.replies import Pause, Raw, Reply, Step
from tests.bed.scripted_bedrock import ScriptedBedrock
from turn.appsync.client import new_pool
from turn.appsync.worker import AppSyncWorker
from turn.reporting import Reports
from turn.settings import TurnSettings

SIZES = (2_000, 4_000, 20_000)
PIECE = 20
RUNS = ((0.005, 0.0), (0.005, 0.05), (0.05, 0.0), (0.05, 0.05))  # seconds between pieces, latency in seconds
QUESTION = {"id": "CUR", "conversationId": "C", "role": "user", "content": [{"text": "q"}]}
CONTENT, ITEM_BYTES, WRITE_UNIT = "accumulatedTurnContent", 350, 1024

Handler = Callable[[Mapping[str, Any]], object]


def answer_of(size: int, every_s: float) -> Reply:
    """Pieces of one block, with pauses between them."""
    piece = Raw("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "x" * PIECE}})
    stop = Raw("contentBlockStop", {"contentBlockIndex": 0})
    steps: list[Step] = [piece, Pause(every_s)] * (size // PIECE)
    return Reply([*steps, stop])


def measure(api: AppSync, bedrock: ScriptedBedrock, handler: Handler, size: int, every_s: float) -> str:
    api.requests.clear()
    bedrock.script(answer_of(size, every_s))
    started = time.monotonic()
    handler(api.event("C", "CUR"))
    took_s = time.monotonic() - started
    assert api.text == "x" * size, "the client was not shown the answer"
    sent = [request for request in api.requests if request.operation == "PublishModelResponse"]
    stored = [sum(len(block["text"]) for block in request.input[CONTENT]) for request in sent]
    units = sum(ceil((content + ITEM_BYTES) / WRITE_UNIT) for content in stored)
    return f"{len(sent):>8} {sum(request.size for request in sent):>11,} {units:>7,} {took_s:>7.1f}"


def worker(bedrock: ScriptedBedrock) -> AppSyncWorker:
    client = get_session().create_client(
        "bedrock-runtime", endpoint_url=bedrock.url, config=Config(retries={"total_max_attempts": 1})
    )
    settings = TurnSettings(
        StoreSettings("", "", ""), "model", "", 100_000, None, graphql_hosts=frozenset(("127.0.0.1",))
    )
    logger = Logger(service="bench", level="ERROR")
    reports = Reports(logger, Metrics("bench", "bench"))
    return AppSyncWorker(new_pool(), SystemClock(), BedrockModel(lambda _: client), settings, logger, reports)


def main() -> None:
    environment.forget_aws_settings(os.environ)
    with (
        AppSync() as api,
        ScriptedBedrock() as bedrock,
        OverHttp2(bedrock) as model,
        running(model.url) as theirs,
    ):
        api.messages = ListedMessages([QUESTION])
        ours = worker(bedrock)
        handlers: dict[str, Handler] = {
            "ours": lambda event: ours.answer(event, time.time_ns() + 600 * NANOSECONDS),
            "Amplify's": theirs.answer,
        }
        print("each piece  latency   bytes    handler requests  bytes sent   units       s")
        for every_s, latency_s in RUNS:
            api.latency_s = latency_s
            for size in SIZES:
                for name, handler in handlers.items():
                    told = measure(api, bedrock, handler, size, every_s)
                    case = f"{every_s * 1000:>7.0f} ms {latency_s * 1000:>5.0f} ms {size:>7,}"
                    print(f"{case} {name:>10} {told}", flush=True)


if __name__ == "__main__":
    main()

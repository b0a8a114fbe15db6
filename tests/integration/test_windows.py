"""How much of a history the model is sent, and how it is asked: on request, by deployment, by model, by experience."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics

from conversations.bedrock import BedrockModel
from conversations.clients import Clients
from conversations.lambda_tools import LambdaTools
from conversations.language_model import Features
from tests.bed.in_process import Api
from tests.bed.lagging import LaggingStore
from tests.bed.messages import complaints, said, tool_result
from tests.bed.played_functions import PlayedFunctions
from tests.bed.played_model import PLENTY_MS, SETTINGS
from tests.bed.prose import prose
from tests.bed.replies import Answer, EndWithoutStop, Raw, Reasoning, Reply, Step, Text, ToolUse, invalid, text
from tests.bed.scripted_bedrock import ModelRequest as Received
from tests.bed.scripted_bedrock import ScriptedBedrock
from tests.integration.conftest import TestClock
from tests.integration.test_tools import TOOLS
from turn.worker import Worker

pytestmark = pytest.mark.slow

TOO_LONG = "The model returned the following errors: Input is too long for requested model."


class Service:
    """The API and the turn function over the same store, with the real adapter of Bedrock."""

    def __init__(self, store: LaggingStore, clock: TestClock, bedrock: ScriptedBedrock) -> None:
        self.bedrock = bedrock
        self.store, self.clock = store, clock
        self.api = Api(store, clock)
        self.worker = Worker(
            store, clock, BedrockModel(Clients().model), SETTINGS, Logger(service="test"), Metrics("test", "test")
        )
        self.path = f"/conversations/{self.api.create()}"

    def turn(self, content: Any = "q", event: Mapping[str, Any] | None = None, **members: Any) -> dict[str, Any]:
        """Ask and follow; what was sent must be what is shown of it."""
        blocks = said(content) if isinstance(content, str) else content
        asked = self.api.call("POST", f"{self.path}/turns", {"content": blocks, **members})
        assert asked.status == 202, asked
        message_id = asked.body["message"]["id"]
        shown = self.history(message_id)
        self.worker.answer({**self.api.invocations.descriptors[-1], **(event or {})}, PLENTY_MS)
        if event is None and len(self.bedrock.requests) == 1:
            sent = _without_points(self.bedrock.requests[-1].body)
            assert (sent["messages"], sent.get("system", [])) == (shown["messages"], shown["system"])
        body: dict[str, Any] = self.api.call("GET", f"{self.path}/turns/{message_id}").body
        return body

    def history(self, message_id: str | None = None, **query: Any) -> dict[str, Any]:
        named = {"currentMessageId": message_id} if message_id else {}
        shown = self.api.call("GET", f"{self.path}/history", query={**named, **query})
        assert shown.status == 200, shown
        body: dict[str, Any] = shown.body
        return body

    def history_before(self, question: str) -> int:
        """The tokens of the history with a question that is taken back."""
        asked = self.api.say(self.path.rpartition("/")[2], question)
        tokens = self.history(asked["id"])["tokens"]
        assert isinstance(tokens, int)
        return tokens

    def fill(self, turns: int, *, size: int = 1) -> None:
        """Turns that were answered, of that many kilobytes of English each."""
        batch = [
            {"role": role, "content": said(f"{place} " + " ".join(prose(place * 100 + n) for n in range(size)))}
            for place in range(turns)
            for role in ("user", "assistant")
        ]
        for first in range(0, len(batch), 90):
            appended = self.api.call("POST", f"{self.path}/messages", {"messages": batch[first : first + 90]})
            assert appended.status == 201, appended


@pytest.fixture
def service(lagging: LaggingStore, clock: TestClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    with ScriptedBedrock() as scripted:
        monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", scripted.url)
        yield Service(lagging, clock, scripted)


def _takes(tokens: int, counted_per_character: float = 0.25) -> Any:
    """A model of a context of that size, which counts by its own measure."""

    def answer(request: Received) -> Answer:
        size = int(len(json.dumps(request.body)) * counted_per_character)
        return invalid(TOO_LONG) if size > tokens else text("fine", input_tokens=size)

    return answer


# On request


@pytest.mark.parametrize(
    ("window", "sent"), [({"maxMessages": 3}, 3), ({"maxMessages": 1}, 1), ({"maxTokens": 700}, 3), (None, 9)]
)
def test_a_turn_asks_for_its_window(service: Service, window: dict[str, int] | None, sent: int) -> None:
    service.fill(4)
    service.turn("now", window=window)

    assert len(service.bedrock.requests[-1].body["messages"]) == sent


def test_an_event_may_ask_for_a_window(service: Service) -> None:
    service.fill(4)
    service.turn("now", event={"window": {"maxMessages": 5, "unknown": 1}})

    assert len(service.bedrock.requests[-1].body["messages"]) == 5


def test_a_continuation_has_the_options_of_its_question(service: Service) -> None:
    service.fill(4)
    tool = {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}]}
    service.bedrock.script(Reply([ToolUse("f", {}, "t1")], stop_reason="tool_use"))
    service.turn("now", window={"maxMessages": 3}, toolConfiguration=tool)
    service.turn([tool_result("t1")])

    assert len(service.bedrock.requests[-1].body["messages"]) == 3


@pytest.mark.parametrize(
    ("members", "field"),
    [
        ({"window": []}, "window"),
        ({"window": {"maxMessages": 0}}, "window.maxMessages"),
        ({"window": {"maxMessages": True}}, "window.maxMessages"),
        ({"window": {"maxTokens": 10_000_001}}, "window.maxTokens"),
        ({"inferenceConfiguration": {"maxTokens": 1.5}}, "inferenceConfiguration.maxTokens"),
        ({"inferenceConfiguration": {"maxTokens": True}}, "inferenceConfiguration.maxTokens"),
        ({"window": {"most": 1}}, "window.most"),
        ({"recall": {"maxInteractions": 21}}, "recall.maxInteractions"),
        ({"recall": 3}, "recall"),
        ({"inferenceConfiguration": {"temperature": 2}}, "inferenceConfiguration.temperature"),
        ({"inferenceConfiguration": {"stopSequences": []}}, "inferenceConfiguration.stopSequences"),
        ({"inferenceConfiguration": {"stopSequences": [""]}}, "inferenceConfiguration.stopSequences"),
        ({"inferenceConfiguration": {"topK": 3}}, "inferenceConfiguration.topK"),
    ],
)
def test_wrong_options_are_refused_by_name(service: Service, members: dict[str, Any], field: str) -> None:
    refused = service.api.call("POST", f"{service.path}/turns", {"content": said("q"), **members})

    assert (refused.status, refused.body["error"]["field"]) == (400, field)


# By deployment and by model


def test_the_tools_take_room_in_the_window(service: Service) -> None:
    service.fill(4)
    service.bedrock.otherwise = _takes(1_000_000)
    long = "What it is for, at length. " * 60
    tool = {"toolSpec": {"name": "f", "description": long, "inputSchema": {"json": {"type": "object"}}}}
    service.turn("now", window={"maxTokens": 800}, toolConfiguration={"tools": [tool]})
    shown = service.history()
    service.turn("now", window={"maxTokens": 800})

    assert [len(request.body["messages"]) for request in service.bedrock.requests] == [1, 5]
    assert shown["tokens"] > len(long) / 4


def test_a_model_whose_context_is_known_is_never_sent_more(service: Service) -> None:
    """8,192 tokens for prompt and answer: of them the answer is left room for."""
    service.fill(40)
    service.bedrock.otherwise = _takes(8_192 - 1_000)
    service.api = Api(service.store, service.clock, model_id="meta.llama3-8b-instruct-v1:0", answer_tokens=1_000)
    settings = replace(SETTINGS, model_id="meta.llama3-8b-instruct-v1:0", max_output_tokens=1_000)
    service.worker = replace(service.worker, settings=settings)
    service.turn("now")

    assert len(service.bedrock.requests) == 1
    assert 2_000 < service.history()["tokens"] < 7_200


# By experience


@pytest.mark.parametrize(
    "refusal",
    [
        TOO_LONG,
        "prompt is too long: 208310 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 197502 + 8192 > 200000",
        "400 Bad Request: Too many input tokens. Max input tokens: 8192, request input token count: 9279 ",
        "This model's maximum context length is 8192 tokens. Please reduce the length of the prompt",
        "Input Tokens Exceeded: Number of input tokens exceeds maximum length.",
    ],
)
def test_what_the_model_finds_too_long_is_halved_and_asked_again(service: Service, refusal: str) -> None:
    service.fill(16)
    service.bedrock.script(invalid(refusal))
    followed = service.turn("now")
    sizes = [len(json.dumps(request.body["messages"])) for request in service.bedrock.requests]

    assert followed["turn"]["status"] == "complete"
    assert len(sizes) == 2
    assert sizes[1] / sizes[0] < (0.97 if re.search("[0-9]{5} |: [0-9]{4} ", refusal) else 0.55)
    assert complaints(service.bedrock.requests[1].body["messages"]) == []


def test_it_is_asked_three_times_at_most_and_not_when_nothing_can_be_left_out(service: Service) -> None:
    service.bedrock.otherwise = lambda _: invalid(TOO_LONG)
    alone = service.turn("only this")
    service.fill(16)
    full = service.turn("now")

    assert (alone["turn"]["status"], alone["turn"]["error"]["code"]) == ("failed", "InputTooLong")
    assert (full["turn"]["status"], full["turn"]["error"]["code"]) == ("failed", "InputTooLong")
    assert len(service.bedrock.requests) == 1 + 3


def test_a_refusal_of_something_else_is_final(service: Service) -> None:
    service.fill(4)
    service.bedrock.script(invalid("messages.0.content is too long for this field"))

    assert service.turn("now")["turn"]["error"]["code"] == "ModelError"
    assert len(service.bedrock.requests) == 1


@pytest.mark.parametrize("per_character", [0.25, 0.6], ids=["estimated well", "counts more than twice the estimate"])
def test_a_conversation_far_beyond_an_unknown_context_goes_on_without_an_error(
    service: Service, per_character: float
) -> None:
    """What is learned of the first turn serves the others: each is asked once."""
    service.fill(60)
    service.bedrock.otherwise = _takes(10_000, per_character)
    service.turn("first")
    learning = len(service.bedrock.requests)
    for place in range(12):
        assert service.turn(f"{place} {prose(place)}")["turn"]["status"] == "complete"

    assert 1 < learning <= 3
    assert len(service.bedrock.requests) == learning + 12


def test_the_next_estimate_is_corrected_by_what_the_model_counted(service: Service) -> None:
    service.fill(4)
    estimated = service.history_before("one")
    counted = estimated * 2
    service.bedrock.script(text("fine", input_tokens=counted))
    service.turn("one")

    assert service.history_before("two") == pytest.approx(counted, rel=0.02)


# How the model is asked


def test_features_of_the_deployment_and_the_event_reach_the_model(service: Service) -> None:
    features = Features({"top_k": 5}, {"guardrailIdentifier": "g", "guardrailVersion": "1"})
    service.worker = replace(service.worker, settings=replace(SETTINGS, max_output_tokens=500, features=features))
    service.turn("now", inferenceConfiguration={"maxTokens": 900.0, "temperature": 0.5, "stopSequences": ["END"]})
    configuration: dict[str, dict[str, Any]] = {
        "inferenceConfiguration": {"maxTokens": 700.0, "stopSequences": ["STOP"]},
        "additionalModelRequestFields": {"thinking": {"type": "enabled"}},
        "guardrail": {"guardrailIdentifier": "h", "guardrailVersion": "DRAFT", "trace": "enabled"},
    }
    service.turn("now", event={"modelConfiguration": configuration})
    first, second = (request.body for request in service.bedrock.requests)

    assert first["inferenceConfig"] == {"maxTokens": 500, "temperature": 0.5, "stopSequences": ["END"]}
    assert first["additionalModelRequestFields"] == {"top_k": 5}
    assert first["guardrailConfig"] == {"guardrailIdentifier": "g", "guardrailVersion": "1"}
    assert second["inferenceConfig"] == {"maxTokens": 700, "stopSequences": ["STOP"]}
    assert second["additionalModelRequestFields"] == {"top_k": 5, "thinking": {"type": "enabled"}}
    assert second["guardrailConfig"] == {**configuration["guardrail"]}


def test_what_a_guardrail_found_stands_with_the_answer(service: Service) -> None:
    found = {"inputAssessment": {"g": {"wordPolicy": {"customWords": [{"match": "x", "action": "BLOCKED"}]}}}}
    stop = Raw("messageStop", {"stopReason": "guardrail_intervened"})
    metadata = {"usage": {"inputTokens": 1}, "metrics": {"latencyMs": 2}, "trace": {"guardrail": found}}
    service.bedrock.script(Reply([Text(["Blocked."]), stop, Raw("metadata", metadata), EndWithoutStop()]))
    message = service.turn("x")["message"]

    assert (message["stopReason"], message["guardrailTrace"]) == ("guardrail_intervened", found)


def test_cache_points_stand_behind_what_comes_again(service: Service) -> None:
    functions = PlayedFunctions({"function-weather": lambda _: "blue"})
    service.api.say(service.path.rpartition("/")[2], "Be brief.", "system")
    settings = replace(SETTINGS, features=Features(has_cache_points=True))
    service.worker = replace(service.worker, settings=settings, toolbox=LambdaTools(TOOLS, functions))
    service.turn("first")
    service.bedrock.script(Reply([ToolUse("weather", {"city": "Turin"}, "t1")], stop_reason="tool_use"))
    service.turn("second")
    first, second, third = (request.body for request in service.bedrock.requests)
    point = {"cachePoint": {"type": "default"}}

    assert [_points(body["messages"]) for body in (first, second, third)] == [[], [1], [1, 4]]
    for body in (first, second, third):
        assert body["system"] == [{"text": "Be brief."}, point]
        assert body["toolConfig"]["tools"][-1] == point
    assert second["messages"][1]["content"] == [{"text": "You said: first"}, point]
    assert third["messages"][:3] == second["messages"]


def _without_points(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_points(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_without_points(member) for member in value if "cachePoint" not in member]
    return value


def _points(messages: list[dict[str, Any]]) -> list[int]:
    return [place for place, entry in enumerate(messages) if "cachePoint" in entry["content"][-1]]


def test_reasoning_goes_back_with_its_signature_while_tools_are_at_work_and_no_longer(service: Service) -> None:
    functions = PlayedFunctions({"function-weather": lambda _: "blue"})
    service.worker = replace(service.worker, toolbox=LambdaTools(TOOLS, functions))
    thinks: list[Step] = [
        Reasoning(["let me ", "see"], "signed"),
        Text(["I look."]),
        ToolUse("weather", {"city": "Turin"}, "t1"),
    ]
    service.bedrock.script(Reply(thinks, stop_reason="tool_use"))
    answer = service.turn("first")["message"]
    service.turn("second")
    _, second, third = (request.body["messages"] for request in service.bedrock.requests)
    reasoning = {"reasoningContent": {"reasoningText": {"text": "let me see", "signature": "signed"}}}

    assert second[1]["content"][0] == reasoning
    assert answer["content"][0] == reasoning
    assert "reasoningContent" not in json.dumps(third)


def test_a_large_image_in_a_result_is_kept_and_reaches_the_model_encoded_once(service: Service) -> None:
    import os
    from base64 import b64encode

    image = {"image": {"format": "png", "source": {"bytes": b64encode(os.urandom(300_000)).decode()}}}
    functions = PlayedFunctions({"function-weather": lambda _: {"toolResult": {"content": [image]}}})
    service.worker = replace(service.worker, toolbox=LambdaTools(TOOLS, functions))
    service.bedrock.script(Reply([ToolUse("weather", {"city": "Turin"}, "t1")], stop_reason="tool_use"))
    answer = service.turn("first")["message"]

    sent = service.bedrock.requests[-1].body["messages"][-1]["content"][0]["toolResult"]["content"]
    assert sent == answer["toolCalls"][0]["content"] == [image]

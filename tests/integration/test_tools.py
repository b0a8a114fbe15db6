"""Tools: those that the service calls itself, those of the client, and both at once."""

import json
import os
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics

from conversations import answering
from conversations.amending import InteractionChange, change_interaction
from conversations.errors import InputTooLongError, ModelUnavailableError
from conversations.lambda_tools import LambdaTools
from conversations.language_model import ModelRequest
from conversations.registration import RegisteredTool
from tests.bed.in_process import Api
from tests.bed.lagging import LaggingStore
from tests.bed.messages import complaints, said
from tests.bed.played_functions import Played, PlayedFunctions
from tests.bed.played_model import PLENTY_MS, SETTINGS, PlayedModel, deltas
from tests.integration.conftest import TestClock
from turn.worker import Worker

pytestmark = pytest.mark.slow

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
CLIENT_TOOLS = {"tools": [{"toolSpec": {"name": "ask_user", "inputSchema": {"json": {"type": "object"}}}}]}
RELEASED_AFTER_S = 20
UNSEEN = {"text": "(A part of the result cannot be shown.)"}
PNG = b64encode(b"\x89PNG").decode()


def registered(name: str, timeout_s: float = 10) -> RegisteredTool:
    return RegisteredTool(name, f"What {name} does.", CITY, f"function-{name}", timeout_s)


TOOLS = (registered("weather"), registered("time", timeout_s=0.3))


class Service:
    """The API and the turn function with registered tools, a model that plays, and functions that play."""

    def __init__(self, store: LaggingStore, clock: TestClock) -> None:
        self.played: dict[str, Played] = {"function-weather": lambda event: {"sky": "blue"}}
        self.functions = PlayedFunctions(self.played)
        self.api = Api(store, clock, tools=TOOLS)
        self.model = PlayedModel()
        toolbox = LambdaTools(TOOLS, self.functions)
        logger, metrics = Logger(service="test"), Metrics("test", "test")
        self.worker = Worker(store, clock, self.model, SETTINGS, logger, metrics, toolbox)
        self.conversation_id = self.api.create()

    @property
    def path(self) -> str:
        return f"/conversations/{self.conversation_id}"

    def turn(self, content: Any = "q", **members: Any) -> dict[str, Any]:
        """Ask, let the function work, and follow: ``{turn, message?}``."""
        blocks = said(content) if isinstance(content, str) else content
        asked = self.api.call("POST", f"{self.path}/turns", {"content": blocks, **members})
        assert asked.status == 202, asked
        self.worker.answer(dict(self.api.invocations.descriptors[-1]), PLENTY_MS)
        followed = self.api.call("GET", f"{self.path}/turns/{asked.body['message']['id']}")
        for request in self.model.requests:
            assert complaints(request.messages) == []
        body: dict[str, Any] = followed.body
        return body

    def results(self, request: int = -1) -> list[dict[str, Any]]:
        """The results in the last message of a request to the model."""
        return [block["toolResult"] for block in self.model.requests[request].messages[-1]["content"]]


@pytest.fixture(autouse=True)
def _short_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is waited for the sake of a model that is down is short."""
    monkeypatch.setattr(answering, "PAUSES_S", (0.01, 0.02, 0.03))


@pytest.fixture
def service(lagging: LaggingStore, clock: TestClock) -> Service:
    return Service(lagging, clock)


def asks(*uses: tuple[str, str, Any], text: str = "", stop: str = "tool_use") -> Callable[[], Iterator[Any]]:
    """A model's message that asks for tools: ``(toolUseId, name, input)``; text as input stands as it is."""

    def script() -> Iterator[Mapping[str, Any]]:
        yield {"messageStart": {"role": "assistant"}}
        if text:
            yield {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": text}}}
        for place, (tool_use_id, name, given) in enumerate(uses, start=1):
            start = {"toolUse": {"toolUseId": tool_use_id, "name": name}}
            yield {"contentBlockStart": {"contentBlockIndex": place, "start": start}}
            written = given if isinstance(given, str) else json.dumps(given)
            for chunk in ("", written[:3], "", written[3:], ""):
                yield {"contentBlockDelta": {"contentBlockIndex": place, "delta": {"toolUse": {"input": chunk}}}}
            yield {"contentBlockStop": {"contentBlockIndex": place}}
        yield {"messageStop": {"stopReason": stop}}
        usage = {"inputTokens": 3, "outputTokens": 5, "totalTokens": 8}
        yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 20}}}

    return script


def test_an_answer_that_is_given_anew_stands_behind_the_tools_that_were_called(
    service: Service, lagging: LaggingStore, clock: TestClock
) -> None:
    service.model.scripts = [
        asks(("t1", "weather", {"city": "Turin"}), text="I look."),
        asks(("t2", "weather", {"city": "Rome"}), text="And there."),
        lambda: deltas("It is blue."),
    ]
    question = service.turn("How is it?")["turn"]["userMessageId"]
    change = InteractionChange(response="It is grey.")

    change_interaction(lagging, clock, owner=None, message_id=question, change=change)

    answer = service.api.call("GET", f"{service.path}/messages/{question}.response").body
    assert answer["content"] == said("It is grey.")
    assert [(call["toolUseId"], call["round"], call["contentIndex"]) for call in answer["toolCalls"]] == [
        ("t1", 1, 0),
        ("t2", 2, 0),
    ]
    service.turn("Sure?")
    sent = service.model.requests[-1].messages
    assert [[next(iter(block)) for block in message["content"]] for message in sent] == [["text"], ["text"], ["text"]]
    assert sent[1]["content"] == said("It is grey.")


def test_two_tools_at_once_of_which_one_fails_are_both_told_and_kept(service: Service) -> None:
    both = threading.Barrier(2, timeout=10)

    def weather(event: dict[str, Any]) -> Any:
        both.wait()
        return {"sky": "blue", "in": event["input"]["city"]}

    def fails(event: dict[str, Any]) -> Any:
        both.wait()
        raise ValueError("no such city")

    service.played |= {"function-weather": weather, "function-time": fails}
    service.model.scripts = [
        asks(("t1", "weather", {"city": "Turin"}), ("t2", "time", {"city": "X"}), text="I look."),
        lambda: deltas("It is blue."),
    ]
    followed = service.turn("How is it?")
    answer = followed["message"]

    assert service.results() == [
        {"toolUseId": "t1", "status": "success", "content": [{"json": {"sky": "blue", "in": "Turin"}}]},
        {"toolUseId": "t2", "status": "error", "content": [{"text": "The tool 'time' failed: no such city"}]},
    ]
    assert [tool["toolSpec"]["name"] for tool in (service.model.requests[0].tool_configuration or {})["tools"]] == [
        "weather",
        "time",
    ]
    assert answer["content"] == [{"text": "I look."}, {"text": "It is blue."}]
    assert [(call["name"], call["status"], call["round"], call["contentIndex"]) for call in answer["toolCalls"]] == [
        ("weather", "success", 1, 1),
        ("time", "error", 1, 1),
    ]
    assert answer["toolCalls"][0]["input"] == {"city": "Turin"}
    assert answer["toolCalls"][0]["content"] == [{"json": {"sky": "blue", "in": "Turin"}}]
    assert (answer["usage"]["inputTokens"], answer["usage"]["totalTokens"], answer["latencyMs"]) == (6, 16, 20)
    assert answer["stopReason"] == "end_turn"
    assert dict(service.functions.events)["function-weather"] == {
        "name": "weather",
        "input": {"city": "Turin"},
        "toolUseId": "t1",
        "conversationId": service.conversation_id,
        "messageId": followed["turn"]["userMessageId"],
        "owner": "anonymous",
    }


def test_later_turns_strip_what_tools_did(service: Service) -> None:
    service.model.scripts = [asks(("t1", "weather", {"city": "Turin"}), text="I look."), lambda: deltas("Blue.")]
    service.turn("How is it?")
    service.turn("Thanks.")

    assert service.model.requests[-1].messages == [
        {"role": "user", "content": said("How is it?")},
        {"role": "assistant", "content": [{"text": "I look."}, {"text": "Blue."}]},
        {"role": "user", "content": said("Thanks.")},
    ]
    shown = service.api.call("GET", f"{service.path}/history").body
    assert shown["messages"] == service.model.requests[-1].messages


def _endless(_: dict[str, Any]) -> Any:
    threading.Event().wait(RELEASED_AFTER_S)


def _raises(_: dict[str, Any]) -> Any:
    raise RuntimeError("x" * 5_000)


def _raises_half_a_character(_: dict[str, Any]) -> Any:
    raise RuntimeError("\ud83d")


@pytest.mark.parametrize(
    ("name", "plays", "status", "content"),
    [
        ("weather", lambda _: 42, "success", [{"text": "42"}]),
        ("weather", lambda _: [1, "a"], "success", [{"text": '[1,"a"]'}]),
        ("weather", lambda _: None, "success", [{"text": "null"}]),
        ("weather", lambda _: "", "success", [{"text": "(nothing)"}]),
        ("weather", lambda _: "sunny", "success", [{"text": "sunny"}]),
        ("weather", lambda _: b"<html>", "error", "is not JSON"),
        ("weather", lambda _: b"[" * 100_000, "error", "is not JSON"),
        ("weather", lambda _: {"a": "x" * 5_000_000}, "error", "too large"),
        ("weather", lambda _: {"toolResult": {"content": "no"}}, "error", "no content blocks"),
        ("weather", lambda _: {"toolResult": {"content": [{"toolUse": {}}, {"text": 5}]}}, "error", "nothing that can"),
        ("weather", lambda _: {"toolResult": {"content": [{"text": 5}, *said("a")]}}, "success", [UNSEEN, *said("a")]),
        ("weather", lambda _: {"toolResult": {"content": []}}, "success", said("(nothing)")),
        ("weather", lambda _: {"degrees": float("nan")}, "success", [{"json": {"degrees": None}}]),
        ("weather", lambda _: "\U0001f31e\ud83d", "success", said("\U0001f31e\ufffd")),
        ("weather", lambda _: {"toolResult": {"content": said("bad"), "status": "error"}}, "error", "bad"),
        ("weather", lambda _: {"toolResult": {"content": said(" "), "status": "error"}}, "error", "The tool failed."),
        ("weather", _raises, "error", "xxx"),
        ("weather", _raises_half_a_character, "error", "\ufffd"),
        ("time", _endless, "error", "did not answer within 0.3 s"),
    ],
    ids=[
        *("a number", "a list", "null", "nothing", "text", "no JSON", "too deep", "5 MB"),
        *("no blocks", "blocks that cannot be", "one that cannot be", "an empty list", "no number", "half a character"),
        *("an error", "a blank error", "raises", "raises half a character", "never returns"),
    ],
)
def test_a_tool_that_lies_fails_no_turn(service: Service, name: str, plays: Played, status: str, content: Any) -> None:
    service.played[f"function-{name}"] = plays
    service.model.scripts = [asks(("t1", name, {"city": "Turin"}))]

    assert service.turn()["message"]["content"] == said("done")
    [result] = service.results()

    assert result["status"] == status
    assert len(json.dumps(result)) < 2_000
    if isinstance(content, str):
        assert content in result["content"][0]["text"]
        assert "secret" not in result["content"][0]["text"]
    else:
        assert result["content"] == content


def test_an_image_in_a_result_reaches_the_model(service: Service) -> None:
    image = {"image": {"format": "png", "source": {"bytes": PNG}}}
    service.played["function-weather"] = lambda _: {"toolResult": {"content": [image, {"text": "a map"}]}}
    service.model.scripts = [asks(("t1", "weather", {"city": "Turin"}))]
    answer = service.turn()["message"]

    assert service.results()[0]["content"] == answer["toolCalls"][0]["content"] == [image, {"text": "a map"}]


def test_the_results_of_one_answer_fit_into_an_answer_of_the_api(service: Service) -> None:
    image = {"image": {"format": "png", "source": {"bytes": b64encode(os.urandom(1_200_000)).decode()}}}
    service.played["function-weather"] = lambda _: {"toolResult": {"content": [image]}}
    uses = [(f"t{place}", "weather", {"city": "Turin"}) for place in range(5)]
    service.model.scripts = [asks(*uses)]
    answer = service.turn()["message"]

    assert [call["status"] for call in answer["toolCalls"]] == ["success", "success", *["error"] * 3]
    assert "no more can be kept" in answer["toolCalls"][-1]["content"][0]["text"]
    assert service.api.call("GET", f"{service.path}/messages").status == 200


def test_a_name_that_cannot_be_fails_the_turn_and_says_so(service: Service) -> None:
    service.model.scripts = [asks(("t1", "the weather", {"city": "Turin"}))]
    turn = service.turn()["turn"]

    assert (turn["status"], turn["error"]["code"]) == ("failed", "ModelError")
    assert "'the weather'" in turn["error"]["message"]


def test_a_model_that_must_use_a_tool_must_do_so_once(service: Service) -> None:
    service.model.scripts = [asks(("t1", "weather", {"city": "Turin"}))]
    service.turn("q", toolConfiguration={**CLIENT_TOOLS, "toolChoice": {"any": {}}})
    first, second = (request.tool_configuration or {} for request in service.model.requests)

    assert first["toolChoice"] == {"any": {}}
    assert "toolChoice" not in second
    assert second["tools"] == first["tools"]


@pytest.mark.parametrize(
    ("use", "told"),
    [
        (("t1", "weather", {"town": "Turin"}), "The input does not fit the schema of 'weather'"),
        (("t1", "weather", {"city": 7}), "city must be string"),
        (("t1", "weather", '{"city": '), "is not JSON"),
        (("t1", "wether", {"city": "Turin"}), "There is no tool 'wether'. There are: time, weather."),
        (("t1", "absent", {}), "There is no tool"),
    ],
    ids=["a member is missing", "a wrong type", "no JSON", "not there", "not there, empty"],
)
def test_what_the_model_asks_wrongly_it_is_told(service: Service, use: tuple[str, str, Any], told: str) -> None:
    service.model.scripts = [asks(use)]

    assert service.turn()["message"]["content"] == said("done")
    [result] = service.results()

    assert result["status"] == "error"
    assert told in result["content"][0]["text"]
    assert service.functions.events == []


def test_a_function_that_is_not_there_is_told_without_its_name(service: Service) -> None:
    service.model.scripts = [asks(("t1", "time", {"city": "Turin"}))]
    service.turn()

    assert service.results()[0]["content"] == said("The tool 'time' cannot be called.")


@pytest.mark.parametrize(("rounds", "status"), [(10, "complete"), (11, "complete"), (30, "failed")])
def test_rounds_of_tools_have_an_end(service: Service, rounds: int, status: str) -> None:
    """After ten rounds the model is told to answer with what it has; one that goes on fails."""
    service.model.scripts = [
        asks((f"t{place}", "weather", {"city": "Turin"}), text=f"{place}.") for place in range(1, rounds + 1)
    ]
    followed = service.turn()

    assert followed["turn"]["status"] == status
    assert len(service.functions.events) == 10
    assert len(service.model.requests) == min(rounds + 1, 12)
    if status == "failed":
        assert "10 rounds" in followed["turn"]["error"]["message"]
        assert followed["turn"]["partialText"].startswith("1.\n\n2.")
    if rounds == 11:
        assert [call["status"] for call in followed["message"]["toolCalls"]] == ["success"] * 10 + ["error"]


class NarrowModel(PlayedModel):
    """Refuses what is longer than so many characters, and tells by how much."""

    most = 14_000

    def ask(self, request: ModelRequest) -> Iterator[Mapping[str, Any]]:
        answered = super().ask(request)
        size = len(json.dumps(request.messages))
        return self._refused(self.most / size) if size > self.most else answered

    def _refused(self, part: float) -> Iterator[Mapping[str, Any]]:
        yield {"messageStart": {"role": "assistant"}}
        raise InputTooLongError("The input is too long.", 0.9 * part)


def test_what_tools_told_counts_where_a_history_must_be_shorter(service: Service) -> None:
    turns = [{"role": role, "content": said("x" * 450)} for _ in range(13) for role in ("user", "assistant")]
    assert service.api.call("POST", f"{service.path}/messages", {"messages": turns}).status == 201
    service.played["function-weather"] = lambda _: "y" * 9_000
    service.model = NarrowModel()
    service.worker = replace(service.worker, model=service.model)
    service.model.scripts = [asks(("t1", "weather", {"city": "Turin"}))]
    followed = service.turn("How is it?")

    lengths = [len(request.messages) for request in service.model.requests]
    assert followed["turn"]["status"] == "complete"
    assert (lengths[0], len(lengths), len(service.functions.events)) == (27, 3, 1)
    assert 5 < lengths[2] < lengths[1]


def test_a_tool_of_the_client_beside_one_of_ours_ends_the_turn_and_both_are_in_its_continuation(
    service: Service,
) -> None:
    reasoning = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}}

    def thinks_and_asks() -> Iterator[Mapping[str, Any]]:
        yield {"messageStart": {"role": "assistant"}}
        for delta in ({"text": "hm"}, {"signature": "s"}):
            yield {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"reasoningContent": delta}}}
        yield from asks(("t2", "ask_user", {"q": "sure?"}), ("t3", "weather", {"city": "Turin"}))()

    service.model.scripts = [asks(("t1", "weather", {"city": "Rome"}), text="First."), thinks_and_asks]
    answer = service.turn("How is it?", toolConfiguration=CLIENT_TOOLS)["message"]

    assert answer["stopReason"] == "tool_use"
    use = {"toolUse": {"toolUseId": "t2", "name": "ask_user", "input": {"q": "sure?"}}}
    assert answer["content"] == [{"text": "First."}, reasoning, use]
    assert [(call["toolUseId"], call["round"]) for call in answer["toolCalls"]] == [("t1", 1), ("t3", 2)]

    told = {"toolResult": {"toolUseId": "t2", "status": "success", "content": said("yes")}}
    service.model.scripts = [asks(("t4", "weather", {"city": "Oslo"})), lambda: deltas("All blue.")]
    continued = service.turn([told])["message"]

    sent = service.model.requests[2].messages
    assert [block for entry in sent for block in entry["content"] if "reasoningContent" in block] == [reasoning]
    assert [[next(iter(block)) for block in entry["content"]] for entry in sent] == [
        ["text"],
        ["text", "toolUse"],
        ["toolResult"],
        ["reasoningContent", "toolUse", "toolUse"],
        ["toolResult", "toolResult"],
    ]
    assert sent[1]["content"][1]["toolUse"]["toolUseId"] == "t1"
    assert sent[2]["content"][0]["toolResult"]["content"] == [{"json": {"sky": "blue"}}]
    assert service.model.requests[3].messages[: len(sent)] == sent
    assert continued["content"] == said("All blue.")

    service.turn("Thanks.")
    assert [entry["role"] for entry in service.model.requests[-1].messages] == ["user", "assistant", "user"]
    assert "tool" not in json.dumps(service.model.requests[-1].messages)


def test_a_client_that_never_answers_its_tool_may_go_on(service: Service) -> None:
    service.model.scripts = [
        asks(("t1", "ask_user", {}), ("t2", "weather", {"city": "Turin"}), text="I ask."),
    ]
    service.turn("How is it?", toolConfiguration=CLIENT_TOOLS)
    service.turn("Never mind.")

    assert service.model.requests[-1].messages == [
        {"role": "user", "content": said("How is it?")},
        {"role": "assistant", "content": said("I ask.")},
        {"role": "user", "content": said("Never mind.")},
    ]


def test_a_tool_use_that_was_cut_off_is_not_done(service: Service) -> None:
    service.model.scripts = [asks(("t1", "weather", '{"city": "Tu'), text="I look.", stop="max_tokens")]
    answer = service.turn()["message"]

    assert (answer["content"], answer["stopReason"]) == (said("I look."), "max_tokens")
    assert service.functions.events == []
    assert "toolCalls" not in answer


def unavailable() -> Iterator[Mapping[str, Any]]:
    yield {"messageStart": {"role": "assistant"}}
    raise ModelUnavailableError("The model is not available.")


def test_tools_are_not_used_again_because_the_model_is_not_available_for_a_while(service: Service) -> None:
    uses = asks(("t1", "weather", {"city": "Turin"}), text="I look.")
    service.model.scripts = [uses, unavailable, unavailable, lambda: deltas("It is blue.")]
    followed = service.turn("How is it?")

    assert followed["message"]["content"] == [{"text": "I look."}, {"text": "It is blue."}]
    assert followed["turn"]["attempt"] == 1
    assert len(service.functions.events) == 1
    assert service.model.requests[3] == service.model.requests[1]


def test_a_model_that_stays_away_after_tools_were_used_is_asked_again_by_lambda(service: Service) -> None:
    service.model.scripts = [asks(("t1", "weather", {"city": "Turin"})), *[unavailable] * (1 + len(answering.PAUSES_S))]
    with pytest.raises(ModelUnavailableError):
        service.turn("How is it?")
    assert service.model.scripts == []

    service.worker.answer(dict(service.api.invocations.descriptors[-1]), PLENTY_MS)

    answered = service.api.call("GET", f"{service.path}/messages").body["messages"][-1]
    assert answered["content"] == said("done")


def test_a_turn_is_cancelled_while_the_model_is_waited_for(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "PAUSES_S", (RELEASED_AFTER_S,))
    service.model.scripts = [asks(("t1", "weather", {"city": "Turin"})), unavailable]
    asked = service.api.call("POST", f"{service.path}/turns", {"content": said("q")})
    turn = f"{service.path}/turns/{asked.body['message']['id']}"

    def weather(_: dict[str, Any]) -> Any:
        assert service.api.call("DELETE", turn).status == 200

    service.played["function-weather"] = weather
    started = time.monotonic()
    outcome = service.worker.answer(dict(service.api.invocations.descriptors[-1]), PLENTY_MS)

    assert outcome["outcome"] == "superseded"
    assert time.monotonic() - started < RELEASED_AFTER_S / 2


def test_a_turn_is_cancelled_while_a_tool_is_at_work(service: Service) -> None:
    called, go_on = threading.Event(), threading.Event()

    def slow(_: dict[str, Any]) -> Any:
        called.set()
        go_on.wait(RELEASED_AFTER_S)

    service.played["function-weather"] = slow
    service.model.scripts = [asks(("t1", "weather", {"city": "Turin"}), text="I look.")]
    asked = service.api.call("POST", f"{service.path}/turns", {"content": said("q")})
    turn = f"{service.path}/turns/{asked.body['message']['id']}"

    def cancel() -> None:
        assert called.wait(RELEASED_AFTER_S)
        assert service.api.call("DELETE", turn).status == 200

    canceller = threading.Thread(target=cancel)
    canceller.start()
    outcome = service.worker.answer(dict(service.api.invocations.descriptors[-1]), PLENTY_MS)
    is_at_work = not go_on.is_set()
    go_on.set()
    canceller.join(RELEASED_AFTER_S)

    assert (outcome["outcome"], is_at_work, len(service.model.requests)) == ("superseded", True, 1)
    assert service.api.call("GET", turn).body["turn"]["status"] == "cancelled"


def test_a_name_stands_for_one_tool(service: Service) -> None:
    mine = {"toolSpec": {"name": "weather", "inputSchema": {"json": {"type": "object"}}}}
    twice = {"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}
    message = {"role": "user", "content": said("q"), "toolConfiguration": {"tools": [twice, mine]}}
    refusals = [
        service.api.call("POST", f"{service.path}/turns", {"content": said("q"), "toolConfiguration": {"tools": tools}})
        for tools in ([mine], [twice, twice])
    ]
    refusals.append(service.api.call("POST", f"{service.path}/messages", message))
    refusals.append(service.api.call("POST", f"{service.path}/messages", {"messages": [message]}))

    assert [refused.status for refused in refusals] == [400] * 4
    assert [refused.body["error"]["field"] for refused in refusals] == [
        "toolConfiguration.tools[0]",
        "toolConfiguration.tools[1]",
        "toolConfiguration.tools[1]",
        "messages[0].toolConfiguration.tools[1]",
    ]
    assert "'weather' is a tool of the service" in refusals[0].body["error"]["message"]


def test_a_tool_of_the_event_may_not_have_the_name_of_a_registered_one(service: Service) -> None:
    asked = service.api.call("POST", f"{service.path}/turns", {"content": said("q")})
    event = {**service.api.invocations.descriptors[-1], "toolsConfiguration": {"clientTools": [{"name": "weather"}]}}
    service.worker.answer(event, PLENTY_MS)
    turn = service.api.call("GET", f"{service.path}/turns/{asked.body['message']['id']}").body["turn"]

    assert (turn["status"], turn["error"]["code"]) == ("failed", "InvalidRequest")
    assert service.model.requests == []

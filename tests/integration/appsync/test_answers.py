"""How an answer reaches the clients of an AppSync API."""

import json
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from conversations.tool_use import ToolUse as ToolUsed
from conversations.turns import Question
from tests.bed.appsync import AppSync, Fault, ListedMessages
from tests.bed.messages import complaints, said
from tests.bed.replies import Hold, Pause, Raw, Reasoning, Reply, Step, Text, ToolUse, text, throttled, tool_use
from tests.bed.scripted_bedrock import ScriptedBedrock
from tests.integration.appsync.conftest import Turns

QUESTION = {"id": "CUR", "conversationId": "C", "role": "user", "content": said("q")}
NAMES = {"conversationId": "C", "associatedUserMessageId": "CUR"}
TEMPERATURE = {
    "name": "thermometer",
    "description": "Tells the temperature.",
    "inputSchema": {"json": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}},
    "graphqlRequestInputDescriptor": {
        "queryName": "getTemperature",
        "selectionSet": "value unit",
        "propertyTypes": {"city": "String!"},
    },
}
TODOS = {
    "name": "todos",
    "description": "Lists.",
    "inputSchema": {"json": {"type": "object", "properties": {}, "required": []}},
    "graphqlRequestInputDescriptor": {
        "queryName": "listTodos",
        "selectionSet": "items { id content } nextToken",
        "propertyTypes": {},
    },
}
WEATHER = {"name": "weather", "description": "Shows it.", "inputSchema": {"json": {"type": "object"}}}
TOOLS = {"dataTools": [TEMPERATURE, TODOS], "clientTools": [WEATHER]}


@pytest.fixture(autouse=True)
def _asked(appsync: AppSync) -> None:
    appsync.messages = ListedMessages([QUESTION])


def _whole(given: Mapping[str, Any]) -> Any:
    return given["accumulatedTurnContent"]


def _tool_queries(appsync: AppSync) -> list[tuple[str, Any]]:
    return [(each.document, each.variables) for each in appsync.requests if each.operation == "ToolQuery"]


def test_an_answer_comes_in_pieces_that_a_client_puts_together(
    appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns
) -> None:
    bedrock.script(text(*["all is well, "] * 40))

    assert turns.answer() == "complete"

    first, *between, done, last = appsync.published
    assert first == {
        **NAMES,
        "contentBlockIndex": 0,
        "contentBlockDeltaIndex": 0,
        "contentBlockText": "all is well, ",
        "accumulatedTurnContent": said("all is well, "),
    }
    assert [given["contentBlockDeltaIndex"] for given in between] == list(range(1, len(between) + 1))
    whole = said("all is well, " * 40)
    assert done == {
        **NAMES,
        "contentBlockIndex": 0,
        "contentBlockDoneAtIndex": len(between),
        "accumulatedTurnContent": whole,
    }
    assert last == {**NAMES, "contentBlockIndex": 0, "stopReason": "end_turn", "accumulatedTurnContent": whole}
    assert appsync.text == whole[0]["text"]
    for given in between:
        assert _whole(given)[0]["text"].endswith(given["contentBlockText"])


def test_each_part_says_what_kind_of_response_it_is(appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns) -> None:
    turns.answer()
    turns.answer(request={"headers": {"authorization": appsync.token}})

    with_agent, without = [
        each.headers["x-amz-user-agent"] for each in appsync.requests if "stopReason" in each.variables.get("input", {})
    ]
    assert with_agent.endswith("transformer#1.1.16 md/conversation-memory md/turn-response-type#streaming")
    assert without == "lib/conversation-memory md/turn-response-type#streaming"


def test_what_the_model_thinks_is_neither_shown_nor_stored(
    appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns
) -> None:
    """Amplify's handler stores an empty text for each such block."""
    bedrock.script(Reply([Reasoning(["hm"]), Text(["well"]), Reasoning(["hm"])]))

    assert turns.answer() == "complete"

    assert _whole(appsync.published[-1]) == said("well")
    assert {given["contentBlockIndex"] for given in appsync.published} == {0}


def test_two_blocks_of_text_have_their_own_places(appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns) -> None:
    bedrock.script(Reply([Text(["one"]), Text(["two"])]))

    assert turns.answer() == "complete"

    places = [
        (given["contentBlockIndex"], given.get("contentBlockText"), given.get("contentBlockDoneAtIndex"))
        for given in appsync.published
    ]
    assert places == [(0, "one", None), (0, None, 0), (1, "two", None), (1, None, 0), (1, None, None)]
    assert _whole(appsync.published[-1]) == [{"text": "one"}, {"text": "two"}]


def test_a_turn_of_which_nothing_is_shown_ends_all_the_same(
    appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns
) -> None:
    bedrock.script(Reply([]))

    assert turns.answer() == "complete"

    assert appsync.published == [
        {**NAMES, "contentBlockIndex": 0, "stopReason": "end_turn", "accumulatedTurnContent": []}
    ]


def test_a_character_in_two_halves_is_sent_whole(appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns) -> None:
    bedrock.script(text("a\ud83d", "\ude00b"))

    assert turns.answer() == "complete"

    assert appsync.text == "a\U0001f600b"


def test_a_slow_model_s_words_are_not_held_back(appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns) -> None:
    """A piece that is too short to be sent at once is sent when nothing more came for a while."""
    hold = Hold()
    bedrock.script(Reply([Text(["a"]), Pause(0.2), Text(["b" * 60]), hold]))

    def let_go() -> None:
        assert hold.reached.wait(10)
        for _ in range(100):
            if "b" in appsync.text:
                break
            Hold().released.wait(0.05)
        seen.append(appsync.text)
        hold.released.set()

    seen: list[str] = []
    watcher = threading.Thread(target=let_go)
    watcher.start()
    assert turns.answer() == "complete"
    watcher.join(10)

    assert seen == ["a" + "b" * 60]


# Tools


def test_a_data_tool_is_a_query_of_the_api(appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns) -> None:
    bedrock.script(tool_use("thermometer", {"city": "Turin"}, before="Let me see. "), text("It is 5."))

    assert turns.answer(toolsConfiguration=TOOLS) == "complete"

    assert _tool_queries(appsync) == [
        ("query ToolQuery($city: String!) { getTemperature(city: $city) { value unit } }", {"city": "Turin"})
    ]
    first, second = (request.body for request in bedrock.requests)
    assert [tool["toolSpec"]["name"] for tool in first["toolConfig"]["tools"]] == ["thermometer", "todos", "weather"]
    assert second["messages"][1:] == [
        {
            "role": "assistant",
            "content": [
                {"text": "Let me see. "},
                {"toolUse": {"toolUseId": "tool-1", "name": "thermometer", "input": {"city": "Turin"}}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "toolResult": {
                        "toolUseId": "tool-1",
                        "status": "success",
                        "content": [{"json": {"data": {"getTemperature": {"value": 5, "unit": "C"}}}}],
                    }
                }
            ],
        },
    ]
    assert _whole(appsync.published[-1]) == [{"text": "Let me see. "}, {"text": "It is 5."}]
    assert [given["contentBlockIndex"] for given in appsync.published if "contentBlockText" in given] == [0, 1]
    assert not any("contentBlockToolUse" in given for given in appsync.published)


def test_a_data_tool_without_arguments(appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns) -> None:
    bedrock.script(tool_use("todos", {}), text("Sleep."))

    assert turns.answer(toolsConfiguration=TOOLS) == "complete"

    assert _tool_queries(appsync) == [("query ToolQuery { listTodos { items { id content } nextToken } }", {})]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [({"city": "Atlantis"}, "There is no such city."), ({"town": "Turin"}, "city")],
    ids=["the query fails", "an argument is missing"],
)
def test_what_goes_wrong_with_a_data_tool_is_told_to_the_model(
    arguments: dict[str, str], told: str, bedrock: ScriptedBedrock, turns: Turns
) -> None:
    bedrock.script(tool_use("thermometer", arguments), text("I could not see."))

    assert turns.answer(toolsConfiguration=TOOLS) == "complete"

    (result,) = bedrock.requests[1].body["messages"][-1]["content"]
    assert result["toolResult"]["status"] == "error"
    assert told in result["toolResult"]["content"][0]["text"]


def test_a_client_tool_is_asked_of_the_client(appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns) -> None:
    bedrock.script(tool_use("weather", {"city": "Turin", "of": None}, before="Look: "))

    assert turns.answer(toolsConfiguration=TOOLS) == "complete"

    use = {"toolUseId": "tool-1", "name": "weather"}
    arguments = {"city": "Turin", "of": None}
    *_, asked, last = appsync.published
    assert json.loads(asked["contentBlockToolUse"]) == {"toolUse": {**use, "input": arguments}}
    assert asked["contentBlockIndex"] == 1
    assert [set(block) for block in _whole(last)] == [{"text"}, {"toolUse"}]
    assert json.loads(_whole(last)[1]["toolUse"].pop("input")) == arguments
    assert _whole(last)[1]["toolUse"] == use
    assert last["stopReason"] == "tool_use"
    assert len(bedrock.requests) == 1


def test_beside_a_data_tool_the_client_tool_alone_is_shown(
    appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns
) -> None:
    """The others are not done: AppSync would keep nothing of it, and the model asks for them again."""
    calls = _Calls()
    turns.worker = replace(turns.worker, toolbox=calls)
    uses = [
        ToolUse("thermometer", {"city": "Turin"}, "t1"),
        ToolUse("registered", {}, "t2"),
        ToolUse("weather", {"city": "Turin"}, "t3"),
        ToolUse("imagined", {}, "t4"),
    ]
    bedrock.script(Reply([Text(["Look: "]), *uses], stop_reason="tool_use"))

    assert turns.answer(toolsConfiguration=TOOLS) == "complete"

    assert [block.get("toolUse", {}).get("toolUseId") for block in _whole(appsync.published[-1])] == [None, "t3"]
    assert [request.operation for request in appsync.requests if request.operation == "ToolQuery"] == []
    assert (calls.used, len(bedrock.requests)) == ([], 1)


def test_the_result_of_a_client_tool_continues_the_turn(
    appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns
) -> None:
    bedrock.script(tool_use("weather", {"city": "Turin"}), text("Sunny."))
    turns.answer(toolsConfiguration=TOOLS)
    stored = {"id": "CUR#response", "conversationId": "C", "role": "assistant", "associatedUserMessageId": "CUR"}
    result = {"toolResult": {"toolUseId": "tool-1", "status": "success", "content": [{"json": '{"sun": true}'}]}}
    told = {**QUESTION, "id": "R", "content": [result]}
    appsync.messages = ListedMessages([QUESTION, {**stored, "content": _whole(appsync.published[-1])}, told])

    assert turns.answer(message_id="R", toolsConfiguration=TOOLS) == "complete"

    messages = bedrock.requests[1].body["messages"]
    assert complaints(messages) == []
    assert messages[2]["content"][0]["toolResult"]["content"] == [{"json": {"sun": True}}]


def test_tools_are_not_used_again_because_the_model_is_not_available_for_a_while(
    appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns
) -> None:
    tools = {"dataTools": [TEMPERATURE]}
    bedrock.script(tool_use("thermometer", {"city": "Turin"}, before="Look: "), throttled(), throttled(), text("5 C"))

    assert turns.answer(toolsConfiguration=tools) == "complete"

    assert turns.outcomes == [{"outcome": "complete", "attempt": 1}]
    assert appsync.text == "Look: 5 C"
    assert [request.operation for request in appsync.requests].count("ToolQuery") == 1


def test_tools_are_not_used_again_because_the_model_stays_away(
    appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns
) -> None:
    uses = tool_use("thermometer", {"city": "Turin"})
    bedrock.script(uses, *[throttled()] * 4, uses, text("5 C"))

    assert turns.answer(toolsConfiguration={"dataTools": [TEMPERATURE]}) == "failed"

    assert [error["errorType"] for error in appsync.errors] == ["ModelUnavailable"]
    assert [request.operation for request in appsync.requests].count("ToolQuery") == 1


def test_tools_of_one_name_are_refused_as_the_client_is_told(appsync: AppSync, turns: Turns) -> None:
    clash = {**TOOLS, "clientTools": [{**WEATHER, "name": "thermometer"}]}

    assert turns.answer(toolsConfiguration=clash) == "failed"

    assert appsync.errors == [{"errorType": "InvalidRequest", "message": "Two tools have the same name."}]


def test_a_tool_that_is_not_there_is_told_to_the_model(bedrock: ScriptedBedrock, turns: Turns) -> None:
    """Amplify's handler fails the turn."""
    bedrock.script(tool_use("imagined", {}), text("There is none."))

    assert turns.answer(toolsConfiguration={"dataTools": [TEMPERATURE]}) == "complete"

    result = bedrock.requests[1].body["messages"][-1]["content"][0]["toolResult"]
    assert (result["status"], "imagined" in result["content"][0]["text"]) == ("error", True)


def test_an_empty_piece_of_a_tool_s_input_does_not_spoil_it(
    appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns
) -> None:
    """Amplify's handler begins anew with what follows. Nor do members that the schema does not know reach it."""
    use = {"toolUseId": "t1", "name": "weather", "type": "server_tool_use"}
    pieces = [{"toolUse": {"input": piece}} for piece in ('{"city": ', "", '"Turin"}')]
    deltas: list[Step] = [Raw("contentBlockDelta", {"contentBlockIndex": 0, "delta": piece}) for piece in pieces]
    start = Raw("contentBlockStart", {"contentBlockIndex": 0, "start": {"toolUse": use}})
    stop = Raw("contentBlockStop", {"contentBlockIndex": 0})
    bedrock.script(Reply([start, *deltas, stop], stop_reason="tool_use"))

    assert turns.answer(toolsConfiguration=TOOLS) == "complete"

    known = {"toolUseId": "t1", "name": "weather"}
    assert _whole(appsync.published[-1]) == [{"toolUse": {**known, "input": '{"city":"Turin"}'}}]
    shown = json.loads(appsync.published[0]["contentBlockToolUse"])
    assert shown == {"toolUse": {**known, "input": {"city": "Turin"}}}


# What is repeated, and what is not streamed


@pytest.mark.parametrize(
    "fault",
    [
        Fault(503, {"message": "down"}),
        Fault(429, {"errors": [{"errorType": "ThrottlingException", "message": "slow down"}]}),
        Fault(200, {"data": None, "errors": [{"errorType": "DynamoDB:ProvisionedThroughputExceededException"}]}),
        Fault(0),
    ],
    ids=["down", "throttled", "throttled behind", "broken connection"],
)
@pytest.mark.parametrize("place", range(4))
def test_one_failure_of_the_api_is_not_noticed(
    fault: Fault, place: int, appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns
) -> None:
    bedrock.script(text("one ", "two"))
    appsync.faults.extend([None] * place + [fault])

    assert turns.answer() == "complete"

    assert (appsync.text, appsync.errors) == ("one two", [])
    assert len(bedrock.requests) == 1


@pytest.mark.parametrize("errors", [None, []], ids=["null", "empty"])
def test_errors_that_are_none_are_no_failure(errors: Any, appsync: AppSync, turns: Turns) -> None:
    """Amplify's handler fails when the member is there at all."""
    data = {"listConversationMessageChats": {"items": [QUESTION], "nextToken": None}}
    appsync.faults.append(Fault(200, {"data": data, "errors": errors}))

    assert turns.answer() == "complete"


def test_an_event_that_does_not_stream_gets_its_answer_in_one(
    appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns
) -> None:
    bedrock.script(text("one ", "two"))
    mutation = {
        "name": "createAssistantResponseChat",
        "inputTypeName": "CreateConversationMessageChatAssistantInput",
        "selectionSet": "id",
    }

    assert turns.answer(streamResponse=None, responseMutation=mutation) == "complete"

    assert appsync.published == [{**NAMES, "content": said("one two")}]
    assert appsync.requests[-1].headers["x-amz-user-agent"].endswith("md/turn-response-type#single")


class _Calls:
    """A toolbox with one tool, which remembers for which turn it was called."""

    specification: Mapping[str, Any] = {"name": "registered", "inputSchema": {"json": {"type": "object"}}}
    timeout_s = 5.0

    def __init__(self) -> None:
        self.questions: list[Question] = []
        self.used: list[str] = []

    def tools_for(self, question: Question) -> "list[_Calls]":
        self.questions.append(question)
        return [self]

    def call(self, use: ToolUsed) -> list[Any]:
        self.used.append(use.name)
        return [{"text": f"{use.name} was used"}]


def test_tools_of_the_deployment_are_called_for_the_token_s_subject(
    appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns
) -> None:
    calls = _Calls()
    turns.worker = replace(turns.worker, toolbox=calls)
    bedrock.script(tool_use("registered", {}), text("Done."))

    assert turns.answer(toolsConfiguration=TOOLS) == "complete"

    names = [tool["toolSpec"]["name"] for tool in bedrock.requests[0].body["toolConfig"]["tools"]]
    assert names == ["thermometer", "todos", "registered", "weather"]
    assert calls.questions == [Question("C", "CUR", "alice")]
    result = bedrock.requests[1].body["messages"][-1]["content"][0]["toolResult"]
    assert result["content"] == [{"text": "registered was used"}]
    assert _whole(appsync.published[-1]) == said("Done.")


def test_a_continuation_that_brings_no_tools_may_use_those_of_its_history(
    appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns
) -> None:
    """Converse wants a configuration beside tool blocks; AppSync's answers do not say which it was."""
    use = {"toolUse": {"toolUseId": "t1", "name": "weather", "input": "{}"}}
    asked = {"id": "A", "conversationId": "C", "role": "assistant", "associatedUserMessageId": "CUR", "content": [use]}
    result = {"toolResult": {"toolUseId": "t1", "content": [{"text": "Sunny."}]}}
    appsync.messages = ListedMessages([QUESTION, asked, {**QUESTION, "id": "R", "content": [result]}])
    bedrock.script(tool_use("weather", {"city": "Rome"}, "t2"))

    assert turns.answer(message_id="R") == "complete"

    assert [block["toolUse"]["toolUseId"] for block in _whole(appsync.published[-1])] == ["t2"]


@pytest.mark.parametrize("size", [2_000, 4_000, 20_000])
def test_requests_and_bytes_grow_with_the_answer_and_not_with_its_square(
    size: int, appsync: AppSync, bedrock: ScriptedBedrock, turns: Turns
) -> None:
    """Bounds for any speed of the model and the machine; `tests/bench/appsync` measures beside Amplify's handler."""
    appsync.latency_s = 0.01
    bedrock.script(text(*["x" * 20] * (size // 20)))

    assert turns.answer() == "complete"

    publishing = [request for request in appsync.requests if request.operation == "PublishModelResponse"]
    assert appsync.text == "x" * size
    assert len(publishing) <= 90
    assert sum(request.size for request in publishing) <= 26 * size + 1_000 * len(publishing)

"""Lambda functions as tools, on the deployed service, in an account that enforces IAM."""

import json

import pytest

from tests.bed.guarded import TOOLS, Guarded
from tests.bed.messages import complaints, said
from tests.bed.replies import Reply, ToolUse, text
from tests.e2e.calls import ask, create, followed

pytestmark = pytest.mark.stack

TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}
WEATHER = """
def lambda_handler(event, context):
    if event["input"]["city"] == "Atlantis":
        raise ValueError("no such city")
    return {"sky": "blue", "for": event["owner"], "in": event["input"]["city"]}
"""
SLOW = """
import time

def lambda_handler(event, context):
    time.sleep(4)
"""


@pytest.fixture
def tools(guarded: Guarded) -> Guarded:
    """With the functions that the deployment registered; they may do nothing but be called."""
    iam = guarded.client("iam")
    role = iam.create_role(RoleName="played-tools", AssumeRolePolicyDocument=json.dumps(TRUST))["Role"]["Arn"]
    for name, code in (("played-weather", WEATHER), ("played-slow", SLOW)):
        guarded.make_function(name, role, code)
    return guarded


def test_functions_are_called_as_the_model_asks_and_what_fails_it_is_told(tools: Guarded) -> None:
    """That the call is allowed at all shows the permission; nothing else allows it."""
    uses = [
        ToolUse("weather", {"city": "Turin"}, "t1"),
        ToolUse("weather", {"city": "Atlantis"}, "t2"),
        ToolUse("weather", {"town": "Turin"}, "t3"),
        ToolUse("slow", {}, "t4"),
        ToolUse("absent", {}, "t5"),
    ]
    tools.bedrock.script(Reply(uses, stop_reason="tool_use"), text("It is blue."))
    with tools.http() as http:
        path = create(http)
        answer = followed(http, path, ask(http, path, "How is it?"))["message"]

    asked = [request.body for request in tools.bedrock.requests]
    assert [tool["toolSpec"]["name"] for tool in asked[0]["toolConfig"]["tools"]] == [
        tool["name"] for tool in json.loads(TOOLS.read_text())
    ]
    assert complaints(asked[1]["messages"]) == []
    results = {block["toolResult"]["toolUseId"]: block["toolResult"] for block in asked[1]["messages"][-1]["content"]}
    assert results["t1"]["content"] == [{"json": {"sky": "blue", "for": "anonymous", "in": "Turin"}}]
    told = {place: results[place]["content"][0]["text"] for place in ("t2", "t3", "t4", "t5")}
    assert told["t2"] == "The tool 'weather' failed: no such city"
    assert told["t3"].startswith("The input does not fit the schema of 'weather'")
    assert told["t4"] == "The tool 'slow' did not answer within 2 s."
    assert told["t5"].startswith("There is no tool 'absent'")
    assert answer["content"] == said("It is blue.")
    assert [call["status"] for call in answer["toolCalls"]] == ["success", *["error"] * 4]

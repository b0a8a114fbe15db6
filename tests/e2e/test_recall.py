"""Recall on the deployed service, in an account that enforces IAM: the turn function searches with its own role."""

import pytest

from tests.bed.guarded import Guarded
from tests.bed.messages import said
from tests.bed.prose import prose
from tests.e2e.calls import create, followed

pytestmark = pytest.mark.stack


def test_the_turn_function_finds_what_was_said_long_ago(guarded: Guarded) -> None:
    with guarded.http() as http:
        path = create(http)
        pairs = [("The parrot is called Balthazar.", "Fine."), *((prose(place)[:80], "Yes.") for place in range(40))]
        batch = [
            {"role": role, "content": said(text)}
            for pair in pairs
            for role, text in zip(("user", "assistant"), pair, strict=True)
        ]
        assert http.post(f"{path}/messages", json={"messages": batch}).status_code == 201
        question = {"content": said("What is the parrot called?"), "window": {"maxMessages": 5}}
        asked = http.post(f"{path}/turns", json={**question, "recall": {"maxInteractions": 2}})
        assert asked.status_code == 202, asked.text
        message_id = asked.json()["message"]["id"]
        shown = http.get(f"{path}/history", params={"currentMessageId": message_id}).json()
        assert followed(http, path, message_id)["turn"]["status"] == "complete"

    [request] = guarded.bedrock.requests
    assert "Balthazar" in request.body["messages"][-1]["content"][0]["text"]
    assert request.body["messages"] == shown["messages"]
    assert shown["recalled"][0]["score"] > 0

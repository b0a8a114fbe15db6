"""The main job over HTTP on the deployed local stack: a message in, a turn in the background, an answer out."""

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.bed.messages import VECTORS, complaints, said
from tests.bed.replies import EndWithoutStop, Hold, Reply, Text, invalid, text, throttled
from tests.bed.stack import Stack
from tests.e2e.calls import append, ask, create, followed

pytestmark = pytest.mark.stack


def test_two_turns_are_four_items_and_the_second_is_asked_with_the_first(http: httpx.Client, stack: Stack) -> None:
    path = create(http)
    answers = []
    for question in ("first question", "second question"):
        message_id = ask(http, path, question)
        answers.append(followed(http, path, message_id)["message"])
        history = http.get(f"{path}/history", params={"currentMessageId": message_id}).json()

    page = http.get(f"{path}/messages").json()
    items = stack.client("dynamodb").scan(TableName=stack.messages_table)["Items"]
    own = [item for item in items if item["id"]["S"].startswith(path.removeprefix("/conversations/"))]

    assert [message["role"] for message in page["messages"]] == ["user", "assistant"] * 2
    assert [message["id"] for message in page["messages"][1::2]] == [answer["id"] for answer in answers]
    assert sorted(item["id"]["S"] for item in own if "createdAt" in item) == sorted(m["id"] for m in page["messages"])
    first, second = stack.bedrock.requests
    assert first.body["messages"] == [{"role": "user", "content": said("first question")}]
    assert [entry["content"] for entry in second.body["messages"]] == [
        said("first question"),
        answers[0]["content"],
        said("second question"),
    ]
    assert second.body["messages"] == history["messages"]
    assert second.body.get("system", []) == history["system"]


def test_the_descriptor_is_small_and_holds_no_text_however_long_the_conversation(
    http: httpx.Client, stack: Stack
) -> None:
    path = create(http)
    marker = "marker-of-the-text"
    for _ in range(10):
        append(http, path, said(marker + os.urandom(512 * 1024).hex()))
    message_id = ask(http, path, marker)

    assert followed(http, path, message_id)["turn"]["status"] == "complete"
    [invocation] = stack.lambda_recorder.invocations
    descriptor = json.loads(invocation.payload)
    assert (invocation.invocation_type, invocation.function_name) == ("Event", stack.turn_function)
    assert len(invocation.payload) < 4096
    assert marker not in invocation.payload.decode()
    assert descriptor["currentMessageId"] == message_id
    assert descriptor["messageHistoryQuery"]["listQueryLimit"] == 1000


def _eventually_complete(http: httpx.Client, path: str, message_id: str) -> dict[str, Any]:
    for _ in range(100):
        answer = http.get(f"{path}/turns/{message_id}", params={"wait": 1})
        if answer.status_code == 200 and answer.json()["turn"]["status"] == "complete":
            body: dict[str, Any] = answer.json()
            return body
        time.sleep(0.1)
    raise AssertionError(f"not complete: {answer.text}")


def test_forty_requests_at_once_append_in_a_strict_chain(http: httpx.Client) -> None:
    path = create(http)

    def write(place: int) -> httpx.Response:
        return http.post(f"{path}/messages", json={"role": "user", "content": said(str(place))})

    with ThreadPoolExecutor(40) as pool:
        # Two cores start forty processes in about the time for which a writer tries: that must not be part of it.
        list(pool.map(http.get, [path] * 40))
        answers = list(pool.map(write, range(40)))
    messages = http.get(f"{path}/messages").json()["messages"]

    assert [answer.text for answer in answers if answer.status_code != 201] == []
    assert sorted(int(message["content"][0]["text"]) for message in messages) == list(range(40))
    assert [message["position"] for message in messages] == list(range(1, 41))
    assert [message["previousMessageId"] for message in messages] == [None, *(m["id"] for m in messages)][:-1]
    times = [message["createdAt"] for message in messages]
    assert times == sorted(set(times))


CASES = [case for case in VECTORS if case["source"] == "any"]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_history_is_arranged_as_the_vectors_say(http: httpx.Client, case: dict[str, Any]) -> None:
    path = create(http)
    ids: dict[str, str] = {}
    for message in [*case.get("listed", ()), *([case["fetchedById"]] if "fetchedById" in case else ())]:
        members = {"aiContext": message["aiContext"]} if "aiContext" in message else {}
        if "associatedUserMessageId" in message:
            members["associatedUserMessageId"] = ids[message["associatedUserMessageId"]]
        ids[message["id"]] = append(http, path, message["content"], message["role"], **members)["id"]

    history = http.get(f"{path}/history", params={"currentMessageId": ids[case["currentMessageId"]]})

    if "error" in case["expected"]:
        assert history.json()["error"]["code"] == case["expected"]["error"]
        assert history.status_code == 422
    else:
        assert history.json()["messages"] == case["expected"]["messages"]


def test_windows_are_valid_keep_the_newest_and_whole_tool_pairs(http: httpx.Client) -> None:
    path = create(http)
    tool_case = next(case for case in VECTORS if case["name"].startswith("tool blocks stripped"))
    ids: dict[str, str] = {}
    for message in tool_case["listed"]:
        question = message.get("associatedUserMessageId")
        members = {"associatedUserMessageId": ids[question]} if question else {}
        ids[message["id"]] = append(http, path, message["content"], message["role"], **members)["id"]
    whole = http.get(f"{path}/history").json()["messages"]

    windows = [{"maxMessages": most} for most in range(1, len(ids) + 1)]
    windows += [{"maxTokens": most} for most in (1, 10, 30, 60, 90, 120, 1000)]
    for window in windows:
        history = http.get(f"{path}/history", params=window).json()
        assert complaints(history["messages"]) == []
        assert history["messages"] == whole[-len(history["messages"]) :]
        assert history["truncated"] == (len(history["messages"]) < len(whole))


@pytest.mark.parametrize(
    "content",
    [
        said('quotes " and \\ and \n newlines \t'),
        said("emoji 😀 日本語 العربية é"),
        [{"madeUp": {"int": 2**63, "float": 1.0, "small": 1e-300, "none": None, "true": True, "list": [[], {}]}}],
        [{"image": {"format": "png", "source": {"bytes": "iVBORw0KGgo="}}}],
        said("x" * 1_000_000),
        said("😀" * 250_000),
    ],
    ids=["escapes", "scripts", "numbers and nulls", "image", "1 MB", "1 MB of emoji"],
)
def test_what_is_sent_comes_back_equal_by_type(http: httpx.Client, content: Any) -> None:
    path = create(http, metadata={"a": [1, 1.0, None, "ü"]})
    message = append(http, path, content, metadata={"n": 1.0}, aiContext={"page": None})

    back = http.get(f"{path}/messages/{message['id']}").json()

    assert json.dumps(back) == json.dumps(message)
    assert json.dumps(back["content"]) == json.dumps(content)
    assert json.dumps(http.get(path).json()["metadata"]) == '{"a": [1, 1.0, null, "\\u00fc"]}'


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ("{", "body"),
        ("[]", "body"),
        ('{"role": "bot", "content": [{"text": "x"}]}', "role"),
        ('{"role": "user", "content": [{"text": " "}]}', "content"),
        ('{"role": "user", "content": [{"text": 5}]}', "content[0].text"),
        ('{"role": "user", "content": "x"}', "content"),
        ('{"role": "user"}', "content"),
        ('{"content": [{"text": "x"}]}', "role"),
    ],
)
def test_what_is_malformed_is_refused_by_name_and_nothing_stored(http: httpx.Client, raw: str, field: str) -> None:
    path = create(http)

    for headers in ({"content-type": "application/json"}, {}):  # without a type the gateway encodes the body
        refused = http.post(f"{path}/messages", content=raw, headers=headers)
        assert (refused.status_code, refused.json()["error"]["field"]) == (400, field)
    assert http.get(f"{path}/messages").json()["messages"] == []


def test_a_body_that_is_too_large_is_refused_with_the_limit(http: httpx.Client) -> None:
    path = create(http)
    refused = http.post(f"{path}/messages", json={"role": "user", "content": said('"' * 2_000_000)})

    assert (refused.status_code, refused.json()["error"]["code"]) == (413, "TooLarge")
    assert "5242880" in refused.json()["error"]["message"]


def test_a_page_of_another_origin_may_call(http: httpx.Client) -> None:
    origin = {"origin": "https://chat.example.org"}
    asking = {"access-control-request-method": "POST", "access-control-request-headers": "content-type,idempotency-key"}

    preflight = http.options("/conversations", headers=origin | asking)
    called = http.post("/conversations", json={}, headers=origin)
    refused = http.post("/conversations", json={"name": 5}, headers=origin)

    assert preflight.status_code in (200, 204)
    assert preflight.headers["access-control-allow-origin"] in ("*", origin["origin"])
    assert "POST" in preflight.headers["access-control-allow-methods"]
    allowed = preflight.headers["access-control-allow-headers"].lower()
    assert all(name in allowed for name in ("content-type", "authorization", "idempotency-key"))
    for answer in (called, refused):
        assert answer.headers["access-control-allow-origin"] in ("*", origin["origin"])
    assert (called.status_code, refused.status_code) == (201, 400)


def test_status_says_what_runs_where(http: httpx.Client) -> None:
    assert http.get("/status").json() == {"version": "0.1.0", "stage": "local", "region": "us-east-1"}


# How turns go


def test_the_answer_can_be_read_while_it_comes(http: httpx.Client, stack: Stack) -> None:
    path = create(http)
    hold = Hold()
    first, rest = Text(["The first part. ", "More. "]), Text(["The rest."])
    stack.bedrock.script(Reply([first, Hold(released=hold.reached), rest, hold, Text(["End."])]))
    message_id = ask(http, path, "q")
    time.sleep(1)  # the partial text is written once this much has passed
    hold.reached.set()
    partial = followed(http, path, message_id, after=0)["turn"]
    hold.released.set()
    complete = followed(http, path, message_id, after=partial["partialLength"])

    assert (partial["status"], partial["attempt"]) == ("running", 1)
    assert partial["partialText"].startswith("The first part. More. ")
    assert "".join(block["text"] for block in complete["message"]["content"]).endswith("The rest.End.")
    assert complete["turn"]["status"] == "complete"


def test_a_throttled_model_is_asked_again_by_lambda(http: httpx.Client, stack: Stack) -> None:
    path = create(http)
    stack.bedrock.script(*[throttled()] * 3, text("at last"))  # the SDK tries three times in one attempt
    message_id = ask(http, path, "q")

    turn = _eventually_complete(http, path, message_id)

    assert turn["message"]["content"] == said("at last")
    assert turn["turn"]["attempt"] == 2


def test_what_fails_in_every_attempt_is_marked_failed_by_the_failure_queue(http: httpx.Client, stack: Stack) -> None:
    path = create(http)
    stack.bedrock.script(*[throttled()] * 9)
    message_id = ask(http, path, "q")

    turn = followed(http, path, message_id)["turn"]

    assert (turn["status"], turn["error"]["code"]) == ("failed", "GivenUp")
    assert len(stack.bedrock.requests) == 9


@pytest.mark.parametrize(
    ("answer", "partial"),
    [(invalid("too long"), ""), (Reply([Text(["half"]), EndWithoutStop()]), "half")],
    ids=["refused", "without its stop event"],
)
def test_what_the_model_will_repeat_fails_at_once(http: httpx.Client, stack: Stack, answer: Any, partial: str) -> None:
    path = create(http)
    stack.bedrock.script(answer)
    message_id = ask(http, path, "q")

    turn = followed(http, path, message_id)["turn"]

    assert (turn["status"], turn["error"]["code"], turn["partialText"]) == ("failed", "ModelError", partial)
    assert len(stack.bedrock.requests) == 1
    assert [message["id"] for message in http.get(f"{path}/messages").json()["messages"]] == [message_id]


def test_no_log_holds_what_was_said(http: httpx.Client, stack: Stack) -> None:
    path = create(http, name="marker-in-a-name", sessionId="marker-in-a-session-id")
    ask_id = ask(http, path, "marker-in-a-question")
    followed(http, path, ask_id)
    http.post(f"{path}/messages", content='{"role": "bot", "content": [{"text": "marker-in-a-refused-body"}]}')
    stack.bedrock.script(invalid("no"))
    followed(http, path, ask(http, path, "marker-in-a-failed-question"))

    logs = stack.client("logs")
    lines = [
        event["message"]
        for group in logs.describe_log_groups()["logGroups"]
        for event in logs.filter_log_events(logGroupName=group["logGroupName"], limit=10_000)["events"]
    ]

    assert any(ask_id in line for line in lines), "the turn is logged by its ids"
    assert [line for line in lines if "marker-in" in line] == []

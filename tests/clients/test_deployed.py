"""The clients on the deployed service: answers that are followed as they come, a proxy that makes trouble, services."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.credentials import Credentials

from conversation_memory import AsyncClient, Client
from conversation_memory.errors import NotFoundError, TurnFailedError
from conversation_memory.sigv4 import SigV4
from infra.local import environment
from tests.bed.replies import Hold, Pause, Reply, Step, StreamError, Text, invalid, text
from tests.bed.stack import Stack
from tests.bed.troubling import Trouble, Troubler, cut, excused, slow

pytestmark = pytest.mark.stack


@pytest.fixture
def memory(stack: Stack) -> Iterator[Client]:
    with Client(stack.api_url) as client:
        yield client


@pytest.fixture
def conversation_id(memory: Client) -> str:
    return memory.create_conversation()["id"]


def test_an_answer_is_followed_as_it_comes(stack: Stack, memory: Client, conversation_id: str) -> None:
    hold = Hold()
    stack.bedrock.script(Reply([Text(["Once upon "]), Pause(0.5), Text(["a time 😀, "]), hold, Text(["the end."])]))
    asked = memory.start_turn(conversation_id, "A story")

    events = []
    for event in memory.follow(asked, timeout_s=60):
        events.append(event)
        hold.released.set()

    assert [event["text"] for event in events] == ["Once upon a time 😀, ", "the end."]
    assert [event["turn"]["status"] for event in events] == ["running", "complete"]
    assert not any(event["isAnew"] for event in events)
    assert events[-1]["message"] == memory.answer(asked["message"])
    assert events[-1]["message"]["associatedUserMessageId"] == asked["message"]["id"]


def test_another_attempt_begins_anew(stack: Stack, memory: Client, conversation_id: str) -> None:
    hold = Hold()
    broken: list[Step] = [Text(["This "]), Pause(0.5), Text(["is "]), hold, StreamError("throttlingException")]
    stack.bedrock.script(Reply(broken), text("Something ", "else."))
    asked = memory.start_turn(conversation_id, "A story")

    shown = []
    for event in memory.follow(asked, timeout_s=60):
        shown.append((event["text"], event["isAnew"]))
        hold.released.set()

    assert shown == [("This is ", False), ("Something else.", True)]
    assert len(stack.bedrock.requests) == 2


def test_a_turn_that_fails_says_why(stack: Stack, memory: Client, conversation_id: str) -> None:
    stack.bedrock.script(invalid(), invalid())
    asked = memory.start_turn(conversation_id, "No")

    [*_, last] = memory.follow(asked, timeout_s=60)

    assert last["turn"]["status"] == "failed"
    with pytest.raises(TurnFailedError) as raised:
        memory.answer(asked)
    assert raised.value.turn["error"]["code"] == "ModelError"


def test_many_are_followed_at_once_by_asyncio(stack: Stack) -> None:
    async def talk() -> list[str]:
        async with AsyncClient(stack.api_url) as memory:

            async def one(number: int) -> str:
                conversation = await memory.create_conversation()
                asked = await memory.start_turn(conversation["id"], f"Number {number}")
                return "".join([event["text"] async for event in memory.follow(asked, timeout_s=60)])

            return list(await asyncio.gather(*[one(number) for number in range(3)]))

    assert asyncio.run(talk()) == [f"You said: Number {number}" for number in range(3)]


TROUBLES: dict[str, list[Trouble]] = {
    "cut, reset": [cut, cut],
    "slow": [slow(1.2)],
    "excused": [excused(429, retry_after_s=0), excused(503, retry_after_s=0)],
}


@pytest.mark.parametrize("name", TROUBLES)
def test_trouble_between_does_nothing_twice(stack: Stack, memory: Client, name: str) -> None:
    with Troubler() as proxy, Client(proxy.url, timeout_s=1) as troubled:
        proxy.upstream = stack.api_url
        proxy.troubles.extend(TROUBLES[name])
        conversation_id = troubled.create_conversation(name=name)["id"]
        proxy.troubles.extend(TROUBLES[name])
        batch = troubled.append_messages(conversation_id, [{"role": "user", "content": str(n)} for n in range(5)])
        proxy.troubles.extend(TROUBLES[name])
        asked = troubled.start_turn(conversation_id, "And now?")
        listed = list(troubled.messages(conversation_id, page_size=4))
        answer = troubled.answer(asked, timeout_s=60)
        proxy.troubles.extend(TROUBLES[name])
        troubled.delete_conversation(conversation_id)
        statuses = set(proxy.statuses)

    assert [m["id"] for m in listed][:6] == [*(m["id"] for m in batch), asked["message"]["id"]]
    assert answer["content"] == [{"text": "You said: And now?"}]
    assert [c for c in memory.conversations() if c["name"] == name] == []
    assert len(stack.bedrock.requests) == 1
    assert statuses <= {200, 201, 202, 204, 404}


def test_a_client_is_shared_by_threads(memory: Client, conversation_id: str) -> None:
    def write(writer: int) -> None:
        for number in range(5):
            memory.append_message(conversation_id, "user", f"{writer}.{number}")

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    said: list[Any] = [m["content"][0]["text"] for m in memory.messages(conversation_id)]
    assert len(said) == 20
    for writer in range(4):
        assert [text for text in said if text.startswith(f"{writer}.")] == [f"{writer}.{n}" for n in range(5)]


def test_a_service_acts_for_the_owner_it_names(stack: Stack) -> None:
    def acting_for(owner: str) -> Client:
        identity = SigV4(owner, region=environment.REGION, credentials=Credentials("test", "test"))
        return Client(stack.api_url, identity=identity)

    with acting_for("ada") as hers, acting_for("bob") as his:
        created = hers.create_conversation(session_id="her diary/1 +2", name="Diary")
        hers.append_message(created["id"], "user", "Dear diary")

        assert created["owner"] == "ada"
        assert hers.find_conversation("her diary/1 +2") is not None
        assert his.find_conversation("her diary/1 +2") is None
        with pytest.raises(NotFoundError):
            his.get_conversation(created["id"])
        assert hers.get_status()["stage"]

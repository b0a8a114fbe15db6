"""The session of the OpenAI Agents SDK, by the rules of its protocol."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner, SessionSettings, function_tool
from agents.items import ModelResponse
from agents.memory import Session
from agents.models.interface import Model
from agents.usage import Usage
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from conversation_memory import AsyncClient, Client
from conversation_memory.agents import ConversationMemorySession
from conversation_memory.errors import ClosedError, UnstorableError
from conversation_memory.langchain import ConversationMemoryHistory
from tests.clients.frameworks.conftest import API_URL

Making = Callable[..., ConversationMemorySession]
With = Callable[[Making], Awaitable[Any]]
ITEMS: list[dict[str, Any]] = [
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": "Weather in Turin? 😀"},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x" * 100},
    {"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": '{"city": "Turin", "x": 1.0}'},
    {"type": "function_call", "call_id": "call_2", "name": "weather", "arguments": "{cut off"},
    {"type": "function_call_output", "call_id": "call_1", "output": "sunny"},
    {"type": "function_call_output", "call_id": "call_2", "output": [{"type": "input_text", "text": "no"}]},
    {
        "type": "message",
        "role": "assistant",
        "id": "msg_1",
        "status": "completed",
        "content": [{"type": "output_text", "text": "Sunny.", "annotations": [], "logprobs": [-0.5]}],
    },
    {"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "low"}]},
    {"type": "item_reference", "id": "msg_1"},
    {"role": "user", "content": ""},
    {"role": "assistant", "content": None},
    {"type": "message", "role": "assistant", "content": []},
    {"role": "user", "content": "half \ud83d of a pair"},
]


@pytest.fixture
def within(session_id: str) -> Callable[[With], Any]:
    """Run something that uses sessions of one name."""

    def run(use: With) -> Any:
        async def work() -> Any:
            async with AsyncClient(API_URL) as client:
                return await use(lambda **options: ConversationMemorySession(session_id, client, **options))

        return asyncio.run(work())

    return run


def _said(*numbers: int) -> list[dict[str, Any]]:
    return [{"role": "user", "content": str(number)} for number in numbers]


def test_items_come_back_as_they_were(within: Callable[[With], Any]) -> None:
    async def use(make: Making) -> Any:
        session = make()
        assert isinstance(session, Session)
        assert await session.get_items() == []
        assert await session.pop_item() is None
        await session.add_items([])
        await session.add_items(ITEMS)
        return await make().get_items()

    assert within(use) == ITEMS


def test_the_newest_are_given_oldest_first(within: Callable[[With], Any]) -> None:
    async def use(make: Making) -> None:
        session = make(session_settings=SessionSettings(limit=3))
        await session.add_items(_said(*range(120)))
        assert await session.get_items() == _said(117, 118, 119)
        assert await session.get_items(2) == _said(118, 119)
        assert await session.get_items(200) == _said(*range(120))
        assert await session.get_items(0) == await session.get_items(-1) == []
        assert await make(session_settings={"limit": 1}).get_items() == _said(119)
        await session.clear_session()
        assert await session.get_items() == []
        assert await session.pop_item() is None
        await session.add_items(_said(1))
        assert await session.get_items() == _said(1)

    within(use)


def test_what_is_taken_back_is_the_newest_and_once(within: Callable[[With], Any]) -> None:
    async def use(make: Making) -> None:
        session = make()
        await session.add_items(_said(*range(6)))
        taken = await asyncio.gather(*[make().pop_item() for _ in range(4)])
        assert sorted(item["content"] for item in taken if item) == ["2", "3", "4", "5"]
        assert await session.get_items() == _said(0, 1)
        await session.add_items(_said(7))
        assert await session.get_items(2) == _said(1, 7)
        assert [await session.pop_item() for _ in range(4)] == [*_said(7), *_said(1), *_said(0), None]
        await session.add_items(_said(8))
        assert await session.get_items() == _said(8)

    within(use)


def test_rows_that_cannot_be_read_do_not_count(within: Callable[[With], Any], memory: Client, session_id: str) -> None:
    async def use(make: Making) -> None:
        session = make()
        await session.add_items(_said(1, 2))
        conversation = memory.find_conversation(session_id)
        assert conversation
        for broken in ({"item": {"$hologram": 1}}, {}, "?", {"item": [1]}):
            memory.append_message(conversation["id"], "user", [{"text": "broken", "openai": broken}])
        assert await session.get_items(1) == _said(2)
        assert await session.get_items() == _said(1, 2)
        assert await session.pop_item() == _said(2)[0]
        assert await session.get_items() == _said(1)

    within(use)


def test_a_cancelled_write_is_brought_to_its_end(within: Callable[[With], Any]) -> None:
    async def use(make: Making) -> None:
        session = make()
        writing = asyncio.create_task(session.add_items(_said(1)))
        await asyncio.sleep(0)
        for _ in range(2):
            writing.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await writing
        assert await session.get_items() == _said(1)

    within(use)


def test_misuse_is_told(within: Callable[[With], Any]) -> None:
    async def use(make: Making) -> None:
        session = make()
        wrong: Any = ["text"]
        with pytest.raises(TypeError, match=r"items\[0\]"):
            await session.add_items(wrong)
        with pytest.raises(UnstorableError, match=r"items\[1\]\.x"):
            await session.add_items([*_said(1), {"role": "user", "x": object()}])
        assert await session.get_items() == []
        await session.close()
        for call in (session.get_items, session.pop_item, session.clear_session, lambda: session.add_items([])):
            with pytest.raises(ClosedError):
                await call()

    within(use)


def test_others_see_what_was_said_and_the_session_what_others_said(
    within: Callable[[With], Any], memory: Client, session_id: str
) -> None:
    async def use(make: Making) -> list[Any]:
        await make().add_items(ITEMS[1:6])
        history = ConversationMemoryHistory(session_id, memory)
        history.add_messages(
            [HumanMessage("From LangChain"), AIMessage("", tool_calls=[_CALL]), ToolMessage("1", tool_call_id="c")]
        )
        return await make().get_items()

    items = within(use)
    shown = ConversationMemoryHistory(session_id, memory).messages

    assert items[:5] == ITEMS[1:6]
    assert items[5:] == [
        {"role": "user", "content": "From LangChain"},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a": 1}'},
        {"type": "function_call_output", "call_id": "c", "output": "1"},
    ]
    assert [message.type for message in shown] == ["human", "ai", "ai", "ai", "tool", "human", "ai", "tool"]
    assert shown[2].tool_calls[0]["args"] == {"city": "Turin", "x": 1.0}


_CALL = {"name": "f", "args": {"a": 1}, "id": "c"}


class Scripted(Model):  # type: ignore[misc]
    """A model that calls a tool, then says how many items it was sent."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> Any:  # noqa: A002
        self.sent.append(input)
        newest = input[-1]
        if newest.get("role") == "user":
            call = ResponseFunctionToolCall(
                type="function_call", call_id=f"call_{len(self.sent)}", name="weather", arguments='{"city": "Turin"}'
            )
            return ModelResponse(output=[call], usage=Usage(), response_id=None)
        text = ResponseOutputText(type="output_text", text=f"{newest['output']}, of {len(input)}", annotations=[])
        said = ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


@function_tool  # type: ignore[untyped-decorator]
def weather(city: str) -> str:
    """The weather in a city."""
    return f"sunny in {city}"


def test_an_agent_remembers(within: Callable[[With], Any]) -> None:
    model = Scripted()
    agent = Agent(name="Weather", model=model, tools=[weather])

    async def use(make: Making) -> list[str]:
        quiet = RunConfig(tracing_disabled=True)
        return [
            (await Runner.run(agent, question, session=make(), run_config=quiet)).final_output
            for question in ("Weather in Turin?", "And now?")
        ]

    assert within(use) == ["sunny in Turin, of 3", "sunny in Turin, of 7"]
    assert json.dumps(model.sent)


def test_an_agent_goes_on_after_it_was_killed_while_a_tool_was_at_work(within: Callable[[With], Any]) -> None:
    model = Scripted()
    agent = Agent(name="Weather", model=model, tools=[weather])
    call = {"type": "function_call", "call_id": "killed", "name": "weather", "arguments": "{}"}

    async def use(make: Making) -> Any:
        await make().add_items([{"role": "user", "content": "Weather?"}, call])
        ran = await Runner.run(agent, "Once more?", session=make(), run_config=RunConfig(tracing_disabled=True))
        assert call in await make().get_items()
        return ran.final_output

    assert within(use).startswith("sunny in Turin")
    assert "killed" not in json.dumps(model.sent)

"""The history of a session: writers, windows, retention, sessions, and LangChain's own code around it."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables.history import RunnableWithMessageHistory
from langgraph.graph import END, START, MessagesState, StateGraph

from conversation_memory import AsyncClient, Client
from conversation_memory.errors import TooLargeError
from conversation_memory.langchain import ConversationMemoryHistory, delete_sessions, list_sessions


def call(*ids: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": each} for each in ids])


def result(call_id: str) -> ToolMessage:
    return ToolMessage(f"of {call_id}", tool_call_id=call_id)


def words(messages: list[BaseMessage]) -> int:
    return sum(len(str(message.content).split()) + 1 for message in messages)


TALK: list[BaseMessage] = [
    SystemMessage("Be brief."),
    HumanMessage("one"),
    call("a", "b"),
    result("a"),
    result("b"),
    AIMessage("two"),
    HumanMessage("three"),
    call("c"),
    HumanMessage("it crashed in the middle of a call"),
    AIMessage("four"),
    HumanMessage("five"),
    call("d"),
    result("d"),
    AIMessage("six"),
]


def is_whole(messages: list[BaseMessage]) -> bool:
    """Whether every result stands behind its call, and every call before its results."""
    open_calls: set[str | None] = set()
    for message in messages:
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in open_calls:
                return False
            open_calls.remove(message.tool_call_id)
        elif open_calls:
            return False
        elif isinstance(message, AIMessage):
            open_calls = {each["id"] for each in message.tool_calls}
    return not open_calls


@pytest.fixture(scope="module")
def talk(memory: Client) -> Iterator[str]:
    history = ConversationMemoryHistory("a talk with tools", memory)
    history.add_messages(TALK)
    yield history.session_id
    history.delete()


@pytest.mark.parametrize("most", [-1, 0, *range(1, 17)])
def test_a_window_of_messages_is_the_newest_that_belong_together(memory: Client, talk: str, most: int) -> None:
    found = ConversationMemoryHistory(talk, memory, max_messages=most).messages

    if most <= 0:
        assert found == []
        return
    [first, *rest] = found
    assert first == TALK[0]
    assert len(rest) <= most
    assert is_whole(rest)
    assert [m for m in TALK if m in rest] == rest
    assert rest[-1] == TALK[-1]
    assert call("c") not in rest
    expected = {1: 1, 2: 1, 3: 3, 4: 4, 5: 5, 6: 6, 12: 12, 16: 12}  # without the call that was never answered
    assert len(rest) == expected.get(most, len(rest))


def test_a_window_over_many_calls_is_whole_wherever_it_is_cut(memory: Client, session_id: str) -> None:
    """More of them than are read at once."""
    rounds = [(call(f"{n}a", f"{n}b"), result(f"{n}a"), result(f"{n}b")) for n in range(30)]
    whole: list[BaseMessage] = [HumanMessage("work"), *(m for each in rounds for m in each), AIMessage("done")]
    ConversationMemoryHistory(session_id, memory).add_messages(whole)

    for most in (1, 3, 20, 21, 60, 92):
        found = ConversationMemoryHistory(session_id, memory, max_messages=most).messages
        assert most - 3 < len(found) <= most
        assert found == whole[-len(found) :]
        assert is_whole(found)


def test_a_call_that_nobody_came_back_to_is_in_no_window(memory: Client, session_id: str) -> None:
    """Its process was killed while the tool was at work: no model takes a call without its result."""
    history = ConversationMemoryHistory(session_id, memory, max_messages=10)
    history.add_messages([HumanMessage("one"), call("a", "b"), result("a")])
    assert history.messages == [HumanMessage("one")]

    history.add_messages([HumanMessage("two"), AIMessage("three")])
    assert history.messages == [HumanMessage("one"), HumanMessage("two"), AIMessage("three")]


@pytest.mark.parametrize("most", [0, 3, 8, 10, 20, 1000])
def test_a_window_of_tokens_counts_the_system_messages(memory: Client, talk: str, most: int) -> None:
    found = ConversationMemoryHistory(talk, memory, max_tokens=most, token_counter=words).messages

    assert found[0] == TALK[0]
    assert words(found) <= most or found == TALK[:1]
    assert is_whole(found[1:])
    assert most < 1000 or len(found) == 13


def test_tokens_are_the_service_s_estimate_unless_they_are_counted(memory: Client, session_id: str) -> None:
    history = ConversationMemoryHistory(session_id, memory, max_tokens=3 * 253)
    history.add_messages([HumanMessage("x" * 1000) for _ in range(10)])

    assert len(history.messages) == 3


def test_a_long_conversation_is_not_read_for_its_newest_messages(memory: Client, session_id: str) -> None:
    history = ConversationMemoryHistory(session_id, memory, max_messages=5)
    history.add_messages([SystemMessage("Be brief."), *(HumanMessage(str(number)) for number in range(300))])
    whole = ConversationMemoryHistory(session_id, memory)
    read: list[str] = []
    original = memory._transport.send

    def send(request: Any) -> Any:
        read.append(request.path)
        return original(request)

    memory._transport.send = send  # type: ignore[method-assign]
    try:
        assert [m.content for m in history.messages] == ["Be brief.", *map(str, range(295, 300))]
    finally:
        memory._transport.send = original  # type: ignore[method-assign]
    assert [path.partition("?")[2] for path in read] == ["limit=25&order=desc", "limit=10&order=asc"]
    assert len(whole.messages) == 301


def test_system_messages_that_are_both_first_and_newest_are_shown_once(memory: Client, session_id: str) -> None:
    system = [SystemMessage(str(number)) for number in range(3)]
    said = [HumanMessage(str(number)) for number in range(20)]
    ConversationMemoryHistory(session_id, memory).add_messages([*system, *said])

    assert ConversationMemoryHistory(session_id, memory, max_messages=1).messages == [*system, said[-1]]
    assert ConversationMemoryHistory(session_id, memory, max_messages=21).messages == [*system, *said]
    assert ConversationMemoryHistory(session_id, memory, max_tokens=10_000).messages == [*system, *said]
    assert ConversationMemoryHistory(session_id, memory, max_tokens=93).messages == [*system, *said]


def test_what_is_shown_removes_nothing(memory: Client, session_id: str) -> None:
    small = ConversationMemoryHistory(session_id, memory, max_messages=2)
    for number in range(4):
        small.add_messages([HumanMessage(str(number)), AIMessage(str(number))])

    assert len(small.messages) == 2
    assert len(ConversationMemoryHistory(session_id, memory).messages) == 8


def test_many_writers_lose_nothing(memory: Client, session_id: str) -> None:
    def write(writer: int) -> None:
        history = ConversationMemoryHistory(session_id, memory)
        for number in range(2):
            history.add_messages([HumanMessage(f"{writer}.{number}"), AIMessage(f"{writer}.{number}!")])

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    said = [str(m.content) for m in ConversationMemoryHistory(session_id, memory).messages]
    assert sorted(said) == sorted(f"{w}.{n}{end}" for w in range(6) for n in range(2) for end in ("", "!"))
    assert all(said[place + 1] == f"{said[place]}!" for place in range(0, 24, 2))  # each call is one transaction


def test_a_batch_of_any_number_and_size(memory: Client, session_id: str) -> None:
    history = ConversationMemoryHistory(session_id, memory)
    many: list[BaseMessage] = [HumanMessage(str(number)) for number in range(120)]
    large: list[BaseMessage] = [HumanMessage("😀\\" * 500_000) for _ in range(2)]

    history.add_messages([])
    assert memory.find_conversation(session_id) is None
    history.add_messages([*many, *large])
    with pytest.raises(TooLargeError) as raised:
        history.add_messages([HumanMessage("before"), HumanMessage("x" * 6_000_000)])

    assert raised.value.field == "messages[1]"
    assert history.messages == [*many, *large]


def test_the_same_with_the_same_key_is_stored_once(history: ConversationMemoryHistory) -> None:
    for _ in range(2):
        history.add_messages([HumanMessage("once")], idempotency_key="my key")

    assert history.messages == [HumanMessage("once")]


@pytest.mark.parametrize("is_async", [True, False])
def test_all_of_it_can_be_awaited(memory: Client, async_memory: AsyncClient, session_id: str, is_async: bool) -> None:
    clients: Any = {"async_client": async_memory} if is_async else {"client": memory}
    history = ConversationMemoryHistory(session_id, **clients)

    async def use() -> list[list[BaseMessage]]:
        shown = [await history.aget_messages()]
        for _ in range(2):
            await history.aadd_messages([HumanMessage("once")], idempotency_key="my key")
        shown.append(await history.aget_messages())
        await history.aclear()
        await history.aadd_messages([HumanMessage("new")])
        shown.append(await history.aget_messages())
        await history.adelete()
        shown.append(await history.aget_messages())
        await async_memory.close()
        return shown

    assert asyncio.run(use()) == [[], [HumanMessage("once")], [HumanMessage("new")], []]
    assert memory.find_conversation(session_id) is None


def test_a_history_outlives_the_deletion_of_its_session(memory: Client, session_id: str) -> None:
    one, other = (ConversationMemoryHistory(session_id, memory) for _ in range(2))
    one.add_user_message("first life")
    assert [m.content for m in other.messages] == ["first life"]

    one.delete()
    one.delete()
    assert other.messages == []
    one.clear()
    other.add_user_message("second life")

    assert [m.content for m in one.messages] == ["second life"]
    one.clear()
    assert other.messages == []
    other.add_ai_message("third")
    assert [m.content for m in one.messages] == ["third"]


@pytest.mark.parametrize(("ttl", "days"), [(1, 1), (86_400, 1), (86_401, 2), (10**12, 3650)])
def test_retention_is_kept_in_whole_days(memory: Client, session_id: str, ttl: float, days: int) -> None:
    ConversationMemoryHistory(session_id, memory).add_user_message("without")
    ConversationMemoryHistory(session_id, memory, ttl=ttl).add_user_message("with")

    conversation = memory.find_conversation(session_id)

    assert conversation
    assert conversation["ttlDays"] == days
    assert conversation["expiresAt"]


def test_sessions_are_listed_and_many_deleted(memory: Client, async_memory: AsyncClient, session_id: str) -> None:
    names = [f"{session_id} #{number}/%😀" for number in range(5)]
    memory.create_conversation(name="no session")
    for name in names:
        ConversationMemoryHistory(name, memory).add_user_message(name)

    assert list_sessions(memory)[:5] == names[::-1]
    assert delete_sessions(memory, [*names[:2], "never there", names[0]]) == names[:2]

    async def awaited() -> list[list[str]]:
        listed = await list_sessions(async_memory)
        return [listed[:3], await delete_sessions(async_memory, ["never there", names[2]])]

    assert asyncio.run(awaited()) == [names[:1:-1], [names[2]]]
    assert [name for name in list_sessions(memory) if name in names] == [names[4], names[3]]
    assert ConversationMemoryHistory(names[3], memory).messages == [HumanMessage(names[3])]


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 1025, "😀" * 257, "\ud83d", 7, None])
def test_what_cannot_be_a_session_s_name_is_refused_at_once(memory: Client, name: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="session id"):
        ConversationMemoryHistory(name, memory)


def test_misuse_is_told(memory: Client, async_memory: AsyncClient, history: ConversationMemoryHistory) -> None:
    with pytest.raises(NotImplementedError, match="add_messages"):
        history.messages = []
    with pytest.raises(ValueError, match="needs a client"):
        ConversationMemoryHistory("s")
    with pytest.raises(ValueError, match="aget_messages"):
        ConversationMemoryHistory("s", async_client=async_memory).clear()
    with pytest.raises(ValueError, match="ttl"):
        ConversationMemoryHistory("s", memory, ttl=0)


# LangChain's own code


def _chain(of_session: Callable[[str], ConversationMemoryHistory], *answers: str) -> RunnableWithMessageHistory:
    prompt = ChatPromptTemplate([("system", "Be brief."), MessagesPlaceholder("history"), ("human", "{input}")])
    model = GenericFakeChatModel(messages=iter(answers))
    return RunnableWithMessageHistory(
        prompt | model, of_session, input_messages_key="input", history_messages_key="history"
    )


def test_a_runnable_with_history(memory: Client, session_id: str) -> None:
    chain = _chain(lambda name: ConversationMemoryHistory(name, memory), "Hello, Ada.", "Ada.", "You are streamed.")
    config: Any = {"configurable": {"session_id": session_id}}

    chain.invoke({"input": "My name is Ada."}, config)
    chain.invoke({"input": "Who am I?"}, config)
    streamed = "".join(str(chunk.content) for chunk in chain.stream({"input": "And now?"}, config))

    said = [(m.type, m.content) for m in ConversationMemoryHistory(session_id, memory).messages]
    assert streamed == "You are streamed."
    assert said == [
        ("human", "My name is Ada."),
        ("ai", "Hello, Ada."),
        ("human", "Who am I?"),
        ("ai", "Ada."),
        ("human", "And now?"),
        ("ai", "You are streamed."),
    ]


@pytest.mark.parametrize("is_async", [True, False])
def test_a_runnable_with_history_awaited(
    memory: Client, async_memory: AsyncClient, session_id: str, is_async: bool
) -> None:
    def of_session(name: str) -> ConversationMemoryHistory:
        clients: Any = {"async_client": async_memory} if is_async else {"client": memory}
        return ConversationMemoryHistory(name, **clients)

    async def talk() -> list[BaseMessage]:
        chain = _chain(of_session, "Hello, Ada.", "Ada.")
        config: Any = {"configurable": {"session_id": session_id}}
        await chain.ainvoke({"input": "My name is Ada."}, config)
        await chain.ainvoke({"input": "Who am I?"}, config)
        history = of_session(session_id)
        found = await history.aget_messages()
        await history.aclear()
        assert await history.aget_messages() == []
        await async_memory.close()
        return found

    assert [m.content for m in asyncio.run(talk())] == ["My name is Ada.", "Hello, Ada.", "Who am I?", "Ada."]


def test_a_graph_that_needs_messages_only(memory: Client, session_id: str) -> None:
    history = ConversationMemoryHistory(session_id, memory)
    history.add_messages([HumanMessage("My name is Ada."), AIMessage("Hello, Ada.")])

    def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"You have said {len(state['messages'])} things.")]}

    graph = StateGraph(MessagesState).add_node(answer).add_edge(START, "answer").add_edge("answer", END).compile()
    before = history.messages
    state = graph.invoke({"messages": [*before, HumanMessage("Count.")]})
    history.add_messages(state["messages"][len(before) :])

    assert [m.content for m in history.messages] == [
        *("My name is Ada.", "Hello, Ada.", "Count.", "You have said 3 things."),
    ]
    assert "Human: Count." in str(history)

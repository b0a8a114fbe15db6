"""The program of an article on LangChain's DynamoDB history, written with ours: two messages, the same session twice, a
clear; then a chain that remembers within a day, a session a day.
"""

from datetime import datetime, timedelta, timezone
from typing import Any

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables.history import RunnableWithMessageHistory

from conversation_memory import Client
from conversation_memory.langchain import ConversationMemoryHistory, delete_sessions, list_sessions

JAPAN = timezone(timedelta(hours=9))


def test_without_a_model(memory: Client) -> None:
    session_id = datetime.now(JAPAN).isoformat()

    def run() -> list[Any]:
        history = ConversationMemoryHistory(session_id, memory)
        history.add_user_message("Hi!")
        history.add_ai_message("What's up?")
        return history.messages

    pair = [HumanMessage("Hi!"), AIMessage("What's up?")]
    assert run() == pair
    assert run() == pair * 2
    ConversationMemoryHistory(session_id, memory).clear()
    assert ConversationMemoryHistory(session_id, memory).messages == []
    delete_sessions(memory, [session_id])
    assert session_id not in list_sessions(memory)


def test_a_chain_with_a_session_a_day(memory: Client, session_id: str) -> None:
    """What the article misses is there: a limit, a list of the days, and many of them deleted at once."""
    first = datetime(2023, 8, 24, 23, tzinfo=JAPAN)
    days = [f"{session_id} {first + timedelta(days=number):%Y-%m-%d}" for number in range(3)]
    sent: list[int] = []

    def model(prompt: Any) -> AIMessage:
        sent.append(len(prompt.to_messages()))
        answers = GenericFakeChatModel(messages=iter(["おすすめの映画ですか？それは私の得意分野の一つです！"]))
        return answers.invoke(prompt)

    chain = RunnableWithMessageHistory(
        ChatPromptTemplate([MessagesPlaceholder("history"), ("human", "{input}")]) | model,
        lambda day: ConversationMemoryHistory(day, memory, max_messages=2),
        input_messages_key="input",
        history_messages_key="history",
    )
    for day in days:
        for _ in range(3):
            config: Any = {"configurable": {"session_id": day}}
            chain.invoke({"input": "おすすめの映画を教えてください。"}, config)

    assert sent == [1, 3, 3] * 3
    assert [len(ConversationMemoryHistory(day, memory).messages) for day in days] == [6, 6, 6]
    assert [name for name in list_sessions(memory) if name in days] == days[::-1]
    assert delete_sessions(memory, days) == days

"""LangGraph's `DynamoDBSaver`: the whole state of a graph with every step, of which the messages are a part."""

import itertools
import logging
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph_checkpoint_aws import DynamoDBSaver

from tests.bench.peers.serving import ROLES, TABLE, serve

_METADATA = {"source": "loop", "step": 1, "parents": {}}


class LangGraph:
    def __init__(self) -> None:
        self._saver = DynamoDBSaver(TABLE, region_name="us-east-1")
        self._answer = ""
        graph = StateGraph(MessagesState)
        graph.add_node("model", lambda _: {"messages": [_message("assistant", self._answer)]})
        graph.add_edge(START, "model")
        graph.add_edge("model", END)
        self._graph = graph.compile(checkpointer=self._saver)
        self._numbers = itertools.count()

    def fill(self, conversation: str, texts: Sequence[str]) -> None:
        messages = [_message(ROLES[place % 2], text) for place, text in enumerate(texts)]
        self._put({"configurable": {"thread_id": conversation, "checkpoint_ns": ""}}, messages)

    def read(self, conversation: str) -> int:
        return len(self._state(conversation).checkpoint["channel_values"]["messages"])

    def append(self, conversation: str, role: str, text: str) -> None:
        """What a step of a graph does at the least: it reads the state, writes what is new, and then all of it."""
        state, message = self._state(conversation), _message(role, text)
        self._saver.put_writes(state.config, [("messages", [message])], f"task{next(self._numbers)}")
        self._put(state.config, [*state.checkpoint["channel_values"]["messages"], message])

    def turn(self, conversation: str, question: str, answer: str) -> None:
        """A graph of one node that answers."""
        self._answer = answer
        config = {"configurable": {"thread_id": conversation}}
        self._graph.invoke({"messages": [_message("user", question)]}, config)

    def _state(self, conversation: str) -> Any:
        return self._saver.get_tuple({"configurable": {"thread_id": conversation, "checkpoint_ns": ""}})

    def _put(self, config: Any, messages: list[BaseMessage]) -> None:
        version = str(next(self._numbers) + 1)
        checkpoint = empty_checkpoint()
        checkpoint["channel_values"] = {"messages": messages}
        checkpoint["channel_versions"] = {"messages": version}
        self._saver.put(config, checkpoint, _METADATA, {"messages": version})


def _message(role: str, text: str) -> BaseMessage:
    if role == "user":
        return HumanMessage(text)
    return AIMessage(text, usage_metadata={"input_tokens": 1234, "output_tokens": 256, "total_tokens": 1490})


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    serve(LangGraph())

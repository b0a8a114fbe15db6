"""Conversation Memory from Python.

::

    from conversation_memory import Client

    with Client("http://127.0.0.1:8080") as memory:
        conversation = memory.create_conversation(name="First")
        asked = memory.start_turn(conversation["id"], "My name is Ada.")
        for event in memory.follow(asked):
            print(event["text"], end="")

``AsyncClient`` is the same for asyncio; ``conversation_memory.langchain`` and ``conversation_memory.agents`` stand on
them, and ``conversation_memory.sigv4`` signs for AWS principals.
"""

from conversation_memory.client import AsyncClient, Client
from conversation_memory.errors import ApiError, ConversationMemoryError, MissingExtraError, NoAnswerError

__version__ = "0.1.0"
__all__ = ["ApiError", "AsyncClient", "Client", "ConversationMemoryError", "MissingExtraError", "NoAnswerError"]

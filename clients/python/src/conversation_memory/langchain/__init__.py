"""Chat history for LangChain. Needs the extra ``langchain``.

::

    from conversation_memory import Client
    from conversation_memory.langchain import ConversationMemoryHistory

    memory = Client("http://127.0.0.1:8080")
    history = ConversationMemoryHistory("2026-11-30", memory, max_messages=20)
    history.add_user_message("Hi!")
    history.messages
"""

from conversation_memory.errors import MissingExtraError

try:
    import langchain_core  # noqa: F401
except ImportError as error:
    raise MissingExtraError("langchain", "langchain-core") from error

from conversation_memory.langchain.history import ConversationMemoryHistory
from conversation_memory.langchain.sessions import delete_sessions, list_sessions

__all__ = ["ConversationMemoryHistory", "delete_sessions", "list_sessions"]

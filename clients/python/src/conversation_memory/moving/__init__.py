"""Moving conversations in and out.

::

    from conversation_memory import Client
    from conversation_memory.moving import move
    from conversation_memory.moving.langchain_tables import LangChainTable

    with Client("http://127.0.0.1:8080") as memory:
        report = move(LangChainTable("SessionTable"), memory)
    print(report.to_json())

A source yields sessions, and ``move`` stores what is missing of them: it may be run again at any time.
"""

from conversation_memory.moving.found import Row, Session, Source
from conversation_memory.moving.movement import move
from conversation_memory.moving.report import Remark, Report

__all__ = ["Remark", "Report", "Row", "Session", "Source", "move"]

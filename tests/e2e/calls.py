"""The calls of the API that most tests on a deployed stack begin with."""

from typing import Any

import httpx

from tests.bed.messages import said


def create(http: httpx.Client, **members: Any) -> str:
    """The path of a new conversation."""
    created = http.post("/conversations", json=members)
    assert created.status_code == 201, created.text
    return f"/conversations/{created.json()['id']}"


def append(http: httpx.Client, path: str, content: Any, role: str = "user", **members: Any) -> dict[str, Any]:
    """The message that was added."""
    appended = http.post(f"{path}/messages", json={"role": role, "content": content, **members})
    assert appended.status_code == 201, appended.text
    message: dict[str, Any] = appended.json()
    return message


def ask(http: httpx.Client, path: str, question: str) -> str:
    """Ask for an answer; returns the id of the user's message."""
    asked = http.post(f"{path}/turns", json={"content": said(question)})
    assert asked.status_code == 202, asked.text
    return str(asked.json()["message"]["id"])


def followed(http: httpx.Client, path: str, message_id: str, **query: Any) -> dict[str, Any]:
    """The turn once it has ended, or after 20 seconds."""
    answer = http.get(f"{path}/turns/{message_id}", params={"wait": 20, **query})
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def messages(http: httpx.Client, path: str) -> list[dict[str, Any]]:
    """All messages of a conversation that has at most a thousand."""
    page = http.get(f"{path}/messages", params={"limit": 1000})
    assert page.status_code == 200, page.text
    assert page.json()["nextCursor"] is None
    listed: list[dict[str, Any]] = page.json()["messages"]
    return listed

"""The strict chain: what its messages say of each other, and what the conversation says of its end."""

from collections.abc import Iterator, Mapping

from audit.facts import Fact, Finding
from conversations import ids
from conversations.model import ASKING_ROLES


def chain_findings(head: Fact, messages: Mapping[str, Fact]) -> Iterator[Finding]:
    """What is broken in the present chain of a conversation; ``messages`` are its messages by id."""
    readable = [message for message in messages.values() if message["readable"]]
    chain = sorted(readable, key=lambda message: (message["createdAt"], message.id))
    has_all = len(readable) == len(messages)  # what cannot be read is told by itself, and tells nothing of its place
    if has_all:
        yield from _links(head, chain)
    yield from _end(head, messages, chain if has_all else [])
    for message in chain:
        yield from _answer(head, message, messages)


def _links(head: Fact, chain: list[Fact]) -> Iterator[Finding]:
    previous: Fact | None = None
    system: str | None = None
    for place, message in enumerate(chain, start=1):
        if message["position"] != place:
            yield _broken("position", head, message, f"has position {message['position']} and stands at {place}")
        if previous is not None and message["createdAt"] <= previous["createdAt"]:
            yield _broken("time", head, message, f"is not later than {previous.id} before it")
        if message["previous"] != (previous.id if previous else None):
            yield _broken("previous message", head, message, f"names {message['previous']}")
        if message["system"] != system:
            yield _broken("system message", head, message, f"names {message['system']} as the last before it")
        previous = message
        system = message.id if message["role"] == "system" else system
    if head["lastSystem"] != system:
        yield _broken("system message", head, head, f"names {head['lastSystem']} as the last")


def _end(head: Fact, messages: Mapping[str, Fact], chain: list[Fact]) -> Iterator[Finding]:
    if head["count"] != len(messages):
        yield _broken("message count", head, head, f"counts {head['count']} messages of {len(messages)}")
    if head["last"] is not None and head["last"] not in messages:
        yield _broken("last message", head, head, f"names {head['last']}, which is not there")
    elif chain and head["last"] != chain[-1].id:
        yield _broken("last message", head, head, f"names {head['last']}, and the last is {chain[-1].id}")
    elif chain and head["lastAt"] != chain[-1]["createdAt"]:
        yield _broken("last message", head, head, f"has {head['lastAt']} as the time of its last message")


def _answer(head: Fact, message: Fact, messages: Mapping[str, Fact]) -> Iterator[Finding]:
    question_id = message["question"]
    if question_id is None:
        if ids.is_response(message.id):
            yield _broken("answer", head, message, "is named as an answer, and answers nothing")
        return
    question = messages.get(question_id)
    if question is None:
        yield _broken("answer", head, message, f"answers {question_id}, which is not there")
    elif message.id != ids.response_id(question_id):
        yield _broken("answer", head, message, f"answers {question_id}, and is not named so")
    elif not _may_answer(message, question):
        yield _broken("answer", head, message, f"answers {question_id}, which is no question before it")


def _may_answer(message: Fact, question: Fact) -> bool:
    if not question["readable"]:
        return True
    comes_after = message["createdAt"] > question["createdAt"]
    return comes_after and message["role"] == "assistant" and question["role"] in ASKING_ROLES


def _broken(rule: str, head: Fact, shown_by: Fact, detail: str) -> Finding:
    return Finding(rule, head.conversation, shown_by.id, detail)

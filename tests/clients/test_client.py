"""The HTTP client over the real API: every route, pages, errors, who calls."""

import asyncio
import inspect
import re
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, get_type_hints

import httpx
import pytest

from api.openapi.document import document
from api.openapi.operations import OPERATIONS
from conversation_memory import ApiError, AsyncClient, Client, errors, types
from conversation_memory.errors import BadAnswerError, ClosedError, InvalidCursorError, NotFoundError
from conversation_memory.types import NewMessage
from tests.bed.in_process import Api
from tests.bed.served import Served, answering

METHODS = {"list_conversations": "conversation_page", "list_messages": "message_page", "follow_turn": "get_turn"}
"""Where the client calls an operation of the API otherwise."""
MEMBERS = {"wait": "wait_s", "q": "query"}


of_both_kinds = pytest.mark.parametrize("memory", ["blocking", "awaited"], indirect=True)


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


@of_both_kinds
def test_a_conversation_from_its_beginning_to_its_end(memory: Client) -> None:
    conversation = memory.create_conversation(name="First", metadata={"a": 1}, ttl_days=2)
    conversation_id = conversation["id"]

    one = memory.append_message(conversation_id, "user", "My name is Ada.", client_message_id="mine")
    rest: list[NewMessage] = [
        {"role": "assistant", "content": "Hello, Ada."},
        {"role": "user", "content": [{"text": "Who am I?"}], "metadata": {"page": 2}},
    ]
    more = memory.append_messages(conversation_id, rest)

    assert [m["content"][0]["text"] for m in memory.messages(conversation_id)] == [
        *("My name is Ada.", "Hello, Ada.", "Who am I?")
    ]
    assert more[0]["associatedUserMessageId"] == one["id"]
    assert memory.get_message(conversation_id, one["id"]) == one
    assert memory.get_history(conversation_id, max_messages=10)["messages"][-1]["content"] == [{"text": "Who am I?"}]
    assert memory.get_conversation(conversation_id)["messageCount"] == 3
    assert memory.change_conversation(conversation_id, {"name": None, "ttlDays": None})["name"] is None
    found = memory.search_messages(conversation_id, "ada", limit=5)
    assert found["total"] == 1
    assert found["hits"][0]["message"]["id"] == one["id"]
    memory.clear_messages(conversation_id)
    assert list(memory.messages(conversation_id)) == []
    memory.delete_conversation(conversation_id)
    with pytest.raises(NotFoundError) as raised:
        memory.get_conversation(conversation_id)
    assert (raised.value.status, raised.value.code) == (404, "NotFound")


@of_both_kinds
def test_the_caller_s_own_name_finds_a_conversation(memory: Client) -> None:
    name = "日本 #/?&=+% ünï 😀"
    assert memory.find_conversation(name) is None
    created = memory.create_conversation(session_id=name)

    assert memory.create_conversation(session_id=name) == created
    assert memory.find_conversation(name) == created
    assert memory.delete_conversations([created["id"], "none"]) == {"deleted": [created["id"]], "notFound": ["none"]}
    assert memory.find_conversation(name) is None


@of_both_kinds
def test_a_turn_is_asked_for_cancelled_and_asked_again(memory: Client, api: Api) -> None:
    conversation_id = memory.create_conversation()["id"]

    asked = memory.start_turn(conversation_id, "Who am I?", ai_context={"page": 1})
    message_id = asked["message"]["id"]

    assert api.invocations.descriptors[-1]["currentMessageId"] == message_id
    assert memory.get_turn(conversation_id, message_id)["turn"]["status"] == "pending"
    assert memory.cancel_turn(conversation_id, message_id)["status"] == "cancelled"
    [event] = memory.follow(asked)
    assert event["turn"]["status"] == "cancelled"
    with pytest.raises(errors.TurnFailedError, match="cancelled"):
        memory.answer(asked)
    assert memory.ask_again(conversation_id, message_id)["turn"]["status"] == "pending"
    with pytest.raises(errors.TurnStateError):
        memory.ask_again(conversation_id, message_id)
    with pytest.raises(errors.FollowTimeoutError):
        memory.answer(asked, timeout_s=0)


def test_all_pages_are_iterated_over_and_the_next_is_fetched_when_it_is_needed(memory: Client, served: Served) -> None:
    conversation_id = memory.create_conversation()["id"]
    memory.append_messages(conversation_id, [{"role": "user", "content": str(n)} for n in range(25)])
    for n in range(3):
        memory.create_conversation(name=str(n))
    served.requests.clear()

    newest: Iterator[Any] = memory.messages(conversation_id, order="desc", page_size=10)

    assert [next(newest)["position"] for _ in range(10)] == list(range(25, 15, -1))
    assert len(served.requests) == 1
    assert [message["position"] for message in newest] == list(range(15, 0, -1))
    assert len(served.requests) == 3
    assert [c["name"] for c in memory.conversations(page_size=2)] == ["2", "1", "0", None]
    page = memory.message_page(conversation_id, limit=10)
    again = memory.message_page(conversation_id, limit=10, cursor=page["nextCursor"])
    assert [message["position"] for message in again["messages"]] == list(range(11, 21))
    with pytest.raises(InvalidCursorError):
        memory.message_page(conversation_id, cursor="no")


def test_asyncio_has_the_same(async_memory: AsyncClient) -> None:
    async def talk() -> list[str]:
        conversation_id = (await async_memory.create_conversation())["id"]
        said = [async_memory.append_message(conversation_id, "user", str(n)) for n in range(5)]
        await asyncio.gather(*said)
        texts = [m["content"][0]["text"] async for m in async_memory.messages(conversation_id, page_size=2)]
        await async_memory.delete_conversation(conversation_id)
        with pytest.raises(NotFoundError):
            await async_memory.get_conversation(conversation_id)
        return texts

    assert sorted(asyncio.run(talk())) == ["0", "1", "2", "3", "4"]


def test_the_client_has_every_operation_with_every_member() -> None:
    """An operation, a parameter or a member that is added to the API is missed here."""
    whole = document("none")
    schemas: dict[str, Any] = whole["components"]["schemas"]
    for operation in OPERATIONS:
        name = _snake(operation.name)
        method = getattr(Client, METHODS.get(name, name))
        taken = set(inspect.signature(method).parameters)
        if "sessionId" in operation.parameters:
            taken.add("session_id")  # find_conversation
        for parameter in operation.parameters:
            assert MEMBERS.get(parameter, _snake(parameter)) in taken, f"{name}: {parameter}"
        if operation.body and operation.body.schema in ("NewConversation", "NewTurn"):
            members = schemas[operation.body.schema]["properties"]
            assert {_snake(member) for member in members} <= taken, name
    for role in ("User", "Assistant", "System", "Tool"):
        members = schemas[f"New{role}Message"]["properties"]
        assert {_snake(member) for member in members} <= set(inspect.signature(Client.append_message).parameters)


@pytest.mark.parametrize(
    "name",
    [
        "Conversation",
        "ConversationChange",
        "Message",
        "Turn",
        "AskedTurn",
        "FollowedTurn",
        "History",
        "Status",
        "SearchHit",
    ],
)
def test_the_types_have_every_member_of_the_api(name: str) -> None:
    schema = document("none")["components"]["schemas"][name]

    assert set(schema["properties"]) <= set(get_type_hints(getattr(types, name)))


def test_every_code_of_the_api_has_an_error_of_its_own() -> None:
    codes = document("none")["components"]["schemas"]["Error"]["properties"]["error"]["properties"]["code"]["enum"]
    for code in codes:
        error = errors.error_of(400, b'{"error": {"code": "%s", "message": "m", "requestId": "r"}}' % code.encode())
        assert (error.code, error.message, error.request_id) == (code, "m", "r")
        assert code == "Internal" or type(error).__name__ == f"{code}Error"


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, errors.UnauthorizedError), (403, errors.ForbiddenError), (413, errors.TooLargeError)],
)
def test_the_gateway_s_own_errors_are_told_by_their_status(
    memory: Client, served: Served, status: int, kind: type[ApiError]
) -> None:
    served.faults.append(answering(status, '{"message": "Unauthorized"}'))

    with pytest.raises(kind) as raised:
        memory.get_conversation("c")

    assert (raised.value.status, raised.value.code, raised.value.message) == (status, None, "Unauthorized")


@pytest.mark.parametrize("body", ["<html>Welcome</html>", "[]", ""])
def test_a_page_in_the_api_s_place_is_said_to_be_one(memory: Client, served: Served, body: str) -> None:
    served.faults.append(answering(200, body))

    with pytest.raises(BadAnswerError):
        memory.get_status()


NOTHING_JSON_HAS: dict[str, Callable[[Client, str], object]] = {
    "half of a surrogate pair": lambda memory, at: memory.append_message(at, "user", "cut \ud83d"),
    "in a member's name": lambda memory, at: memory.append_message(at, "user", "x", metadata={"\udc00": 1}),
    "in a query": lambda memory, at: memory.search_messages(at, "\ud83d"),
    "in a name": lambda memory, at: memory.find_conversation("\ud83d"),
    "not a number": lambda memory, at: memory.start_turn(at, "x", ai_context=[float("nan")]),
    "infinite": lambda memory, at: memory.create_conversation(metadata={"a": float("inf")}),
}


@pytest.mark.parametrize("name", NOTHING_JSON_HAS)
def test_what_json_has_no_word_for_is_refused_before_it_is_sent(memory: Client, served: Served, name: str) -> None:
    conversation_id = memory.create_conversation()["id"]
    served.requests.clear()

    with pytest.raises(ValueError):
        NOTHING_JSON_HAS[name](memory, conversation_id)

    assert served.requests == []
    memory.append_message(conversation_id, "user", "the client goes on")


def test_errors_name_the_field(memory: Client) -> None:
    conversation_id = memory.create_conversation()["id"]

    with pytest.raises(errors.InvalidRequestError) as raised:
        memory.append_message(conversation_id, "user", [{"text": " "}])

    assert raised.value.field == "content"
    assert "content is blank" in str(raised.value)


def _sync_token() -> str:
    return "called"


async def _async_token() -> str:
    return "awaited"


@pytest.mark.parametrize(("token", "sent"), [("plain", "plain"), (_sync_token, "called"), (_async_token, "awaited")])
def test_a_token_is_a_text_or_is_called_for(
    served: Served, token: str | Callable[[], str | Awaitable[str]], sent: str
) -> None:
    async def ask() -> None:
        http = httpx.AsyncClient(transport=served)
        await AsyncClient("http://memory/base/", token=token, http=http).get_status()

    served.faults.append(answering(200, "{}"))
    asyncio.run(ask())

    assert served.requests[0].headers["authorization"] == f"Bearer {sent}"
    assert served.requests[0].url == "http://memory/base/status"


def test_a_token_to_be_awaited_is_refused_by_the_client_that_cannot(served: Served) -> None:
    with httpx.Client(transport=served) as http, pytest.raises(TypeError, match="AsyncClient"):
        Client("http://memory", token=_async_token, http=http).get_status()


@pytest.mark.parametrize("url", ["", "memory", "ftp://memory", "http://", "http://memory?a=b"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="address"):
        Client(url)


def test_a_closed_client_says_so() -> None:
    with Client("http://127.0.0.1:9") as memory:
        pass

    with pytest.raises(ClosedError):
        memory.get_status()


@pytest.mark.parametrize("no_id", ["", ".", ".."])
def test_an_id_that_an_address_would_swallow_is_none(memory: Client, no_id: str) -> None:
    """`DELETE /conversations/{id}/turns/..` would be one of the conversation."""
    conversation_id = memory.create_conversation()["id"]

    for call in (
        lambda: memory.cancel_turn(conversation_id, no_id),
        lambda: memory.get_message(conversation_id, no_id),
        lambda: memory.get_conversation(no_id),
        lambda: memory.clear_messages(no_id),
        lambda: memory.delete_conversation(no_id),
    ):
        with pytest.raises(NotFoundError, match="No id is empty"):
            call()
    assert memory.get_conversation(conversation_id)["id"] == conversation_id


@pytest.mark.parametrize("token", ["secret\n", "secret\rmore", "sécret"])
def test_a_token_that_no_header_can_hold_is_refused_and_not_shown(served: Served, token: str) -> None:
    with httpx.Client(transport=served) as http, pytest.raises(ValueError, match="on one line") as refused:
        Client("http://memory", http=http, token=token).get_conversation("x")

    assert "secret" not in str(refused.value)
    assert served.requests == []

"""The commands that read and delete, against what the API says of the same."""

from itertools import count

import pytest

from api.identity import ANONYMOUS
from conversation_memory import Client
from conversation_memory.types import Conversation, Message
from conversations.ids import derived_conversation_id
from tests.bed.in_process import Api
from tests.bed.served import Served, answering
from tests.clients.cli.conftest import Run

STEERING = "\x1b]0;title\x07\x1b[2Jred\x9b1A \r\nback\rover\x7f \u202eturned"
SHOWN = r"\x1b]0;title\x07\x1b[2Jred\x9b1A " + "\n" + r"back\x0dover\x7f \u202eturned"


@pytest.fixture
def conversation(memory: Client) -> Conversation:
    """A conversation of five messages."""
    begun = memory.create_conversation(session_id="diary/1 日本", name="Diary")
    for number in range(1, 6):
        memory.append_message(begun["id"], "user" if number % 2 else "assistant", f"Number {number}")
    return memory.get_conversation(begun["id"])


def texts(documents: list[Message]) -> list[str]:
    return [document["content"][0]["text"][-1] for document in documents]


def test_conversations_are_listed_as_the_api_has_them(run: Run, memory: Client) -> None:
    for number in range(3):
        memory.create_conversation(name=f"Number {number}", metadata={"of": number})

    ran = run("list", "--json")

    assert ran.exit_code == 0
    assert ran.documents == list(memory.conversations())
    assert [line.split("  ")[-1] for line in run("list").lines] == ["Number 2", "Number 1", "Number 0"]


def test_a_list_is_bounded_and_says_so(run: Run, memory: Client) -> None:
    for _ in range(3):
        memory.create_conversation()

    some, whole = run("list", "--limit", "2", "--json"), run("list", "--limit", "2", "--all", "--json")

    assert (len(some.documents), some.err) == (2, "There are more than 2: --all lists them all.\n")
    assert (len(whole.documents), whole.err) == (3, "")
    assert run("list", "--limit", "3").err == ""


def test_only_administrators_list_what_is_others(run_secured: Run, secured: Api) -> None:
    secured.as_user("ada")
    hers = secured.call("POST", "/conversations", {"name": "Hers"}).body

    secured.as_user("bob")
    refused = run_secured("list", "--owner", "ada")
    secured.as_user("root", "[admin]")
    listed = run_secured("list", "--owner", "*")

    assert (refused.exit_code, refused.out) == (4, "")
    assert refused.err.startswith("Error: 403 Forbidden (owner): Only administrators")
    at = hers["updatedAt"][:19].replace("T", " ")
    assert listed.lines == [f"{hers['id']}  {at}      0  ada  Hers"]


def test_status_says_who_is_asked(run: Run, url: str) -> None:
    [status] = run("status", "--json").documents

    assert status["url"] == url
    assert (status["version"], status["stage"], status["region"]) == ("test", "test", "test")
    assert run("status").lines[0] == f"url      {url}"


def test_messages_are_shown_as_the_api_has_them(run: Run, memory: Client, conversation: Conversation) -> None:
    ran = run("show", conversation["id"], "--json")

    assert ran.exit_code == 0
    assert ran.documents == list(memory.messages(conversation["id"]))
    assert run("show", "--session", "diary/1 日本", "--json") == ran
    assert run("show", conversation["id"]).lines[:3] == [
        f"user  {ran.documents[0]['createdAt'][:19].replace('T', ' ')}  {ran.documents[0]['id']}",
        "Number 1",
        "",
    ]


def test_the_newest_messages_are_shown_or_the_oldest_or_all(run: Run, conversation: Conversation) -> None:
    def shown(*arguments: str) -> tuple[list[str], str]:
        ran = run("show", conversation["id"], "--json", *arguments)
        return texts(ran.documents), ran.err

    assert shown("--limit", "2") == (["4", "5"], "These are 2 of 5 messages: --all shows them all.\n")
    assert shown("--limit", "2", "--oldest")[0] == ["1", "2"]
    assert shown("--limit", "2", "--all") == (["1", "2", "3", "4", "5"], "")
    assert shown("--limit", "5") == shown("--all")


def test_what_is_no_text_is_named(run: Run, memory: Client) -> None:
    begun = memory.create_conversation()
    document = {"document": {"format": "pdf", "name": "Report", "source": {"bytes": "JVBERi0="}}}
    use = {"toolUse": {"toolUseId": "t", "name": "weather", "input": {"city": "Turin"}}}
    result = {"toolResult": {"toolUseId": "t", "content": [{"text": "Rain"}], "status": "success"}}
    memory.append_message(begun["id"], "user", [{"text": "Read this."}, document])
    memory.append_message(begun["id"], "assistant", [use])
    memory.append_message(begun["id"], "tool", [result])

    shown = run("show", begun["id"]).lines

    assert shown[1:3] == ["Read this.", "[document Report pdf]"]
    assert '[asks for the tool weather {"city": "Turin"}]' in shown
    assert "[result of a tool: Rain]" in shown


def test_no_text_of_others_steers_the_terminal(run: Run, memory: Client) -> None:
    begun = memory.create_conversation(name=STEERING)
    memory.append_message(begun["id"], "user", STEERING)

    shown, listed = run("show", begun["id"]), run("list")

    assert shown.out.endswith(f"\n{SHOWN}\n\n")
    assert listed.out.endswith(SHOWN.replace("\n", "").replace(r"\x0d", " ") + "\n")
    as_json = run("show", begun["id"], "--json")
    assert not set(as_json.out) & set(STEERING) - set(" \nabcdefghijklmnopqrstuvwxyz0123456789JA[];")
    assert as_json.documents[0]["content"][0]["text"] == STEERING
    assert run("show", begun["id"], "--raw").out == f"{STEERING}\n"


def test_words_are_found_in_one_conversation_and_in_the_newest(
    run: Run, memory: Client, conversation: Conversation
) -> None:
    other = memory.create_conversation(name="Other")
    memory.append_message(other["id"], "user", "What is number one?")

    one = run("search", "number", "5", "--session", "diary/1 日本", "--json")
    all_ = run("search", "number", "--json")
    newest = run("search", "number", "--newest", "1")

    assert one.documents == memory.search_messages(conversation["id"], "number 5", limit=10)["hits"]
    assert texts([one.documents[0]["message"]]) == ["5"]
    assert {hit["message"]["conversationId"] for hit in all_.documents} == {conversation["id"], other["id"]}
    assert (all_.exit_code, all_.err) == (0, "")
    assert newest.lines[0] == f"{other['id']}  Other"
    assert newest.lines[1].endswith("  user       What is number one?")
    assert newest.err == "The newest 1 conversations were searched: --newest N searches more.\n"
    assert run("search", "nothing").out == ""


def test_conversations_are_deleted_by_id_and_by_session(run: Run, memory: Client, conversation: Conversation) -> None:
    others = [memory.create_conversation()["id"] for _ in range(3)]

    ran = run("delete", "--yes", *others[:2], others[0], "--session", "diary/1 日本", "--json")

    assert ran.exit_code == 0
    assert ran.documents == [{"deleted": [*others[:2], conversation["id"]], "notFound": []}]
    assert [left["id"] for left in memory.conversations()] == others[2:]


@pytest.mark.parametrize("beginning", ["-h", "--", "-_"])
def test_an_id_that_looks_like_an_option_is_an_id(run: Run, memory: Client, beginning: str) -> None:
    keys = (f"key-{number}" for number in count())
    key = next(key for key in keys if derived_conversation_id(ANONYMOUS, key).startswith(beginning))
    there = memory.create_conversation(idempotency_key=key)["id"]
    said = memory.append_message(there, "user", "Hello turtle")

    assert there.startswith(beginning)
    assert run("show", there, "--json").documents == [said]
    assert run("show", "--json", there, "--limit", "1").documents == [said]
    assert run("search", "turtle", "--conversation", there, "--json").documents[0]["message"] == said
    assert there in run("export", there).out
    assert run("delete", there, "--yes", "--json").documents == [{"deleted": [there], "notFound": []}]


def test_what_is_not_there_to_delete_is_told(run: Run, memory: Client) -> None:
    there = memory.create_conversation()["id"]

    partly = run("delete", "--yes", there, "missing", "--session", "unknown", "--json")
    nothing = run("delete", "--yes", there)

    assert partly.exit_code == 5
    assert partly.documents == [{"deleted": [there], "notFound": ["unknown", "missing"]}]
    assert partly.err == "Error: Not found: unknown, missing\n"
    assert (nothing.exit_code, nothing.out) == (3, "Deleted 0.\n")


def test_a_deletion_that_stops_in_the_middle_tells_what_it_did(run: Run, served: Served, memory: Client) -> None:
    some = [memory.create_conversation()["id"] for _ in range(2)]
    missing = [f"missing-{number}" for number in range(99)]
    served.faults.extend([Served.carry_out, answering(500)])

    ran = run("delete", "--yes", some[0], *missing, some[1], "--json")

    assert ran.exit_code == 5
    assert ran.documents[0]["deleted"] == [some[0]]
    assert [left["id"] for left in memory.conversations()] == [some[1]]


def test_nothing_is_deleted_without_being_sure(run: Run, memory: Client) -> None:
    there = memory.create_conversation()["id"]

    ran = run("delete", there)

    assert (ran.exit_code, ran.out) == (2, "")
    assert "say so by --yes" in ran.err
    assert [left["id"] for left in memory.conversations()] == [there]


@pytest.mark.parametrize(
    ("arguments", "exit_code", "told"),
    [
        (["show", "missing"], 3, "Error: 404 NotFound: "),
        (["show", "--session", "missing"], 3, "Error: There is no conversation of the session 'missing'.\n"),
        (["search", "word", "--conversation", "missing"], 3, "Error: 404 NotFound: "),
        (["chat", "Hello", "--conversation", "missing"], 3, "Error: 404 NotFound: "),
        (["show"], 2, "Error: Name one conversation: by its id, or by --session.\n"),
        (["show", "one", "--session", "two"], 2, "Error: Name one conversation: by its id, or by --session.\n"),
        (["delete", "--yes"], 2, "Error: Name conversations: by their ids, or by --session.\n"),
        (["list", "--limit", "0"], 2, "Error: Invalid value for '--limit'"),
        (["search", "  "], 2, "Error: There is no word to search for.\n"),
        (["unknown"], 2, "Error: No such command 'unknown'"),
        (["list", "--token", "secret\n"], 1, "Error: ValueError: The token holds what no header can"),
        (["show", "\udcff"], 2, "Error: What is asked for is no Unicode text.\n"),
        (["show", ".."], 3, "Error: 404 NotFound: "),
        (["export", "-o", "missing/file"], 1, "Error: "),
        (["list", "--no-such-option"], 2, "Error: No such option '--no-such-option'"),
    ],
)
def test_what_goes_wrong_is_a_line_and_a_code(run: Run, arguments: list[str], exit_code: int, told: str) -> None:
    ran = run(*arguments)

    assert (ran.exit_code, ran.out) == (exit_code, "")
    assert ran.err.splitlines(keepends=True)[-1].startswith(told)
    assert "Traceback" not in ran.err

"""The commands that read and delete, against what the API says of the same."""

from conversation_memory import Client
from tests.clients.cli.conftest import Run


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


def test_status_says_who_is_asked(run: Run, url: str) -> None:
    [status] = run("status", "--json").documents

    assert status["url"] == url
    assert (status["version"], status["stage"], status["region"]) == ("test", "test", "test")

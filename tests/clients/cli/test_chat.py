"""`chat` in a real terminal on the deployed service, as a person has it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from conversation_memory import Client
from conversation_memory.types import Conversation, Message
from tests.bed.replies import Hold, Pause, Reply, Step, StreamError, Text, invalid, text
from tests.bed.stack import Stack
from tests.bed.terminal import ALT_ENTER, BACKSPACE, CTRL_C, CTRL_D, ENTER, LEFT, RIGHT, Terminal, terminal

pytestmark = pytest.mark.stack
SOURCES = Path(__file__).parents[3] / "clients" / "python" / "src"
PROMPT = ">"
STEERING = "\x1b]0;title\x07\x1b[2J\x1b[31mred\x9b1A\rover \u202eturned"
SHOWN = r"\x1b]0;title\x07\x1b[2J\x1b[31mred\x9b1A\x0dover \u202eturned"


@pytest.fixture
def memory(stack: Stack) -> Iterator[Client]:
    with Client(stack.api_url) as client:
        yield client


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "conversation_memory", "chat", *arguments]


def variables(stack: Stack) -> dict[str, str]:
    return {
        **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(SOURCES),
        "CONVERSATION_MEMORY_URL": stack.api_url,
    }


def chat(stack: Stack, *arguments: str, columns: int = 100) -> AbstractContextManager[Terminal]:
    """`chat` in a terminal."""
    return terminal(command(*arguments), variables(stack), columns=columns)


def type_in(shown: Terminal, keys: str) -> None:
    """Type at the prompt, once it is there: keys that come before it are the terminal's, not the prompt's."""
    shown.await_last_line(PROMPT)
    shown.press(keys)


def newest(memory: Client) -> Conversation:
    return next(iter(memory.conversations(page_size=1)))


def messages(memory: Client) -> list[Message]:
    return list(memory.messages(newest(memory)["id"]))


def texts(memory: Client) -> list[str]:
    return [message["content"][0]["text"] for message in messages(memory)]


def turn_status(memory: Client, message: Message) -> str:
    return memory.get_turn(message["conversationId"], message["id"])["turn"]["status"]


def test_it_takes_any_script_and_lines_that_are_long_or_several(stack: Stack, memory: Client) -> None:
    long = "どこまでも続く長い行 and so on, " * 20

    with chat(stack, "--name", "A chat", columns=40) as shown:
        shown.await_text("a new conversation")
        type_in(shown, f"日語{LEFT}本{RIGHT} e\u0301 👩🏽‍🚀x{BACKSPACE}{ENTER}")
        shown.await_text("You said: 日本語 ")
        type_in(shown, f"first{ALT_ENTER}second{ENTER}")
        shown.await_text("You said: first\nsecond")
        shown.await_last_line(PROMPT)
        shown.paste("pasted\rin two lines")
        shown.press(ENTER)
        shown.await_text("You said: pasted\nin two lines")
        shown.await_last_line(PROMPT)
        shown.paste(long)
        shown.press(ENTER)
        shown.await_text("You said: どこまでも")
        type_in(shown, CTRL_D)
        assert shown.await_end() == 0
        assert shown.text.replace("\n", "").endswith(f"chat --conversation {newest(memory)['id']}]")

    asked, answered = texts(memory)[::2], texts(memory)[1::2]
    assert asked == ["日本語 e\u0301 👩🏽‍🚀", "first\nsecond", "pasted\nin two lines", long]
    assert answered == [f"You said: {text}" for text in asked]
    assert newest(memory)["name"] == "A chat"


def test_ctrl_c_in_mid_answer_cancels_the_turn_and_the_chat_goes_on(stack: Stack, memory: Client) -> None:
    hold = Hold()
    stack.bedrock.script(Reply([Text(["Once upon "]), Pause(0.5), Text(["a time "]), hold]), text("The end."))

    with chat(stack) as shown:
        shown.await_text("a new conversation")
        type_in(shown, f"A story{ENTER}")
        shown.await_text("Once upon a time")
        shown.press(CTRL_C)
        shown.await_text("[cancelled]")
        [question] = messages(memory)
        assert turn_status(memory, question) == "cancelled"
        hold.released.set()

        type_in(shown, f"/again{ENTER}")
        shown.await_text("The end.")
        type_in(shown, CTRL_C)
        assert shown.await_end() == 0

    assert turn_status(memory, question) == "complete"
    assert texts(memory) == ["A story", "The end."]


def test_what_fails_is_said_and_may_be_asked_again(stack: Stack, memory: Client) -> None:
    hold = Hold()
    broken: list[Step] = [Text(["This "]), Pause(0.5), Text(["is "]), hold, StreamError("throttlingException")]
    stack.bedrock.script(invalid("No such model."), Reply(broken), text("Something ", "else."))

    with chat(stack) as shown:
        shown.await_text("a new conversation")
        type_in(shown, f"/again{ENTER}")
        shown.await_text("nothing is left without an answer")
        type_in(shown, f"Hello{ENTER}")
        shown.await_text("[/again asks again]")
        assert "the answer failed" in shown.text
        type_in(shown, f"/again{ENTER}")
        shown.await_text("This is")
        hold.released.set()
        shown.await_text("[the answer begins anew]\nSomething else.")
        type_in(shown, f"/quit{ENTER}")
        assert shown.await_end() == 0

    assert texts(memory) == ["Hello", "Something else."]


def test_it_goes_on_where_it_was_and_obeys_nobody_elses_escapes(stack: Stack, memory: Client) -> None:
    begun = memory.create_conversation(session_id="diary/1", name=f"Diary {STEERING}")
    memory.append_message(begun["id"], "user", "Long ago")
    memory.append_message(begun["id"], "assistant", f"Before {STEERING}")
    memory.append_message(begun["id"], "user", "Lately")
    stack.bedrock.script(text(f"Now {STEERING}\r", "\nnext line"))

    with chat(stack, "--session", "diary/1", "--tail", "2", columns=160) as shown:
        shown.await_text("3 messages")
        type_in(shown, f"Go on{ENTER}")
        shown.await_text("next line")
        type_in(shown, CTRL_D)
        assert shown.await_end() == 0

    assert "Long ago" not in shown.text
    assert f"Before {SHOWN}" in shown.lines
    assert f"Now {SHOWN}" in shown.lines
    assert f"Diary {SHOWN}".replace(r"\x0d", " ") in shown.text
    assert b"\x1b]0;" not in shown.printed
    assert b"\x1b[2J" not in shown.printed
    assert texts(memory)[-2:] == ["Go on", f"Now {STEERING}\r\nnext line"]


def test_tools_are_shown_by_name_and_a_conversation_that_is_gone_ends_it(stack: Stack, memory: Client) -> None:
    begun = memory.create_conversation()
    asking = {"toolUse": {"toolUseId": "t", "name": "weather", "input": {"city": "Turin"}}}
    memory.append_message(begun["id"], "user", "Is it raining?")
    memory.append_message(begun["id"], "assistant", [{"text": "I look."}, asking])

    with chat(stack, "--conversation", begun["id"]) as shown:
        shown.await_text("2 messages")
        assert '[asks for the tool weather {"city": "Turin"}]' in shown.lines
        memory.delete_conversation(begun["id"])
        type_in(shown, f"Hello?{ENTER}")
        assert shown.await_end() == 3

    assert "404 NotFound" in shown.text


def ask(stack: Stack, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """`chat` without a terminal."""
    return subprocess.run(
        command(*arguments), env=variables(stack), input=stdin, capture_output=True, text=True, timeout=60, check=False
    )


def test_one_thing_is_asked_without_a_terminal(stack: Stack, memory: Client) -> None:
    plain = ask(stack, "What is a turtle?", "--session", "one")
    piped = ask(stack, "--session", "one", "--json", stdin="And\na tortoise?\n")

    assert (plain.returncode, plain.stdout) == (0, "You said: What is a turtle?\n")
    assert plain.stderr == f"conversation {newest(memory)['id']}\n"
    asked, *events = [json.loads(line) for line in piped.stdout.splitlines()]
    assert (piped.returncode, piped.stderr) == (0, "")
    assert asked["message"] == messages(memory)[2]
    assert "".join(event["text"] for event in events) == "You said: And\na tortoise?"
    assert events[-1]["message"] == messages(memory)[3]


def test_what_fails_without_a_terminal_ends_with_a_code(stack: Stack, memory: Client) -> None:
    stack.bedrock.script(invalid("No such model."))

    failed, empty = ask(stack, "Hello"), ask(stack, stdin=" \n")

    assert (failed.returncode, failed.stdout) == (1, "")
    assert "Error: The answer failed: ModelError: " in failed.stderr
    assert (empty.returncode, empty.stdout) == (2, "")


def test_an_interrupt_without_a_terminal_cancels_the_turn(stack: Stack, memory: Client) -> None:
    hold = Hold()
    stack.bedrock.script(Reply([Text(["Once upon "]), Pause(0.5), Text(["a time "]), hold]))

    asking = subprocess.Popen(command("A story"), env=variables(stack), stdout=subprocess.PIPE)
    with asking:
        assert asking.stdout
        assert asking.stdout.read(9) == b"Once upon"
        asking.send_signal(signal.SIGINT)
        assert asking.wait(60) == 130
    hold.released.set()

    [question] = messages(memory)
    assert turn_status(memory, question) == "cancelled"

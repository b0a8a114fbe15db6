"""Conversations written down and moved into another service are what they were."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from conversation_memory import Client
from conversation_memory.errors import NoAnswerError, UnauthorizedError
from conversation_memory.moving import Report, move
from conversation_memory.moving.exporting import export
from conversation_memory.moving.formats import JsonLines
from conversation_memory.moving.json_lines import JsonLinesFile, UnknownFormatError
from tests.bed.in_process import Api
from tests.bed.opensearch import Cluster
from tests.bed.served import Served, answering, lost
from tests.integration.test_told import ANSWER, TOLD

pytestmark = pytest.mark.slow

Write = Callable[..., Path]
IMAGE = {"image": {"format": "png", "source": {"bytes": "iVBORw0KGgo="}}}
USE = {"toolUse": {"toolUseId": "t1", "name": "f", "input": {"n": 1.5, "deep": [None, {}]}}}
RESULT = {"toolResult": {"toolUseId": "t1", "status": "success", "content": [{"json": {"a": 1}}, {"text": "😀"}]}}
OWN = ("id", "conversationId", "createdAt", "previousMessageId", "associatedUserMessageId")


def _talk(memory: Client, api: Api) -> str:
    """A conversation with everything that one can have."""
    conversation = memory.create_conversation(
        name="日本 😀", metadata={"a": [1, 2.5, None]}, session_id="ada #/%", ttl_days=30
    )
    conversation_id = conversation["id"]
    late = memory.append_message(conversation_id, "user", "Answered late.", client_message_id="mine", ai_context=[1])
    memory.append_message(conversation_id, "user", [{"text": "What is this?"}, IMAGE], metadata={"page": 2})
    memory.append_message(conversation_id, "assistant", [{"text": "Let me see."}, USE])
    memory.append_message(conversation_id, "tool", [RESULT])
    answer: Any = {**ANSWER, **TOLD}
    memory.append_messages(conversation_id, [answer])
    memory.append_message(conversation_id, "system", "Be brief.", prompt_template="{t}", origin="me")
    memory.append_message(conversation_id, "assistant", "Late.", associated_user_message_id=late["id"])
    memory.append_message(conversation_id, "user", "Nobody answers.", metadata={"movedFrom": "my own"})
    memory.append_message(conversation_id, "assistant", "Welcome.", answers_none=True)
    memory.append_message(conversation_id, "user", [{"unknown": {"kept": True}}])
    Cluster(api).message(conversation_id, additional_info={"only": "this"})
    return conversation_id


def _what_is_said(messages: list[Any], *, is_moved: bool) -> list[Any]:
    """What must be the same: all but ids and times, with the places of what is answered in the place of ids."""
    places = {message["id"]: place for place, message in enumerate(messages)}
    said = []
    for message in messages:
        shown = {name: value for name, value in message.items() if name not in OWN}
        shown["answers"] = places.get(message.get("associatedUserMessageId"))
        if is_moved:
            moved = message["metadata"]["movedFrom"]
            before = {"movedFrom": moved["movedFrom"]} if "movedFrom" in moved else {}
            shown["metadata"] = {**message["metadata"], "movedFrom": None, **before}
            shown["metadata"] = {name: value for name, value in shown["metadata"].items() if value is not None}
            if not shown["metadata"]:
                del shown["metadata"]
            if shown["content"] == [{"empty": {}}]:
                shown |= {"content": [], "tokens": 0}
        said.append(shown)
    return said


def test_everything_comes_back(memory: Client, other: Client, api: Api, written_down: Write) -> None:
    conversation_id = _talk(memory, api)
    nameless = memory.create_conversation(name="Without a message")
    path = written_down()

    report = move(JsonLinesFile(path), other)

    messages = list(memory.messages(conversation_id))
    assert (report.sessions, report.moved, report.skipped, report.notes) == (2, len(messages), [], [])
    found = other.find_conversation("ada #/%")
    assert found
    moved = list(other.messages(found["id"]))
    assert _what_is_said(moved, is_moved=True) == _what_is_said(messages, is_moved=False)
    assert moved[0]["metadata"]["movedFrom"]["createdAt"] == messages[0]["createdAt"]
    assert moved[0]["metadata"]["movedFrom"]["id"] == messages[0]["id"]
    original = memory.get_conversation(conversation_id)
    same = ("name", "sessionId", "ttlDays", "messageCount")
    assert {name: found.get(name) for name in same} == {name: original.get(name) for name in same}
    [origin] = found["metadata"].pop("movedFrom")
    assert found["metadata"] == original["metadata"]
    assert (origin["id"], origin["createdAt"]) == (conversation_id, original["createdAt"])
    assert [c["metadata"]["movedFrom"][0]["id"] for c in other.conversations() if c["name"] == "Without a message"] == [
        nameless["id"]
    ]


def test_what_is_written_down_again_is_the_same(memory: Client, other: Client, api: Api, written_down: Write) -> None:
    _talk(memory, api)
    first = written_down()
    move(JsonLinesFile(first), other)

    lines: list[str] = []
    export(other, JsonLines(), lines.append)

    def said(text: list[str]) -> list[Any]:
        read = [json.loads(line) for line in text]
        return [line["message"]["content"] for line in read if "message" in line]

    assert said(lines) == said(first.read_text().splitlines())


def test_moving_into_the_same_service_changes_nothing(memory: Client, api: Api, written_down: Write) -> None:
    conversation_id = _talk(memory, api)
    count = memory.get_conversation(conversation_id)["messageCount"]

    report = move(JsonLinesFile(written_down()), memory)

    assert (report.moved, report.present) == (0, count)
    assert len(list(memory.conversations())) == 1


def test_moving_into_the_same_service_brings_back_what_was_deleted_and_tells_what_was_cleared(
    memory: Client, written_down: Write
) -> None:
    deleted, cleared = (memory.create_conversation(name=name)["id"] for name in ("deleted", "cleared"))
    for conversation_id in (deleted, cleared):
        memory.append_message(conversation_id, "user", "kept")
    path = written_down()
    memory.delete_conversation(deleted)
    memory.clear_messages(cleared)
    memory.append_message(cleared, "user", "said afterwards")

    for moved in (1, 0):
        report = move(JsonLinesFile(path), memory)

        assert (report.moved, report.present) == (moved, 1 - moved)
        assert [(remark.session, remark.reason) for remark in report.skipped] == [
            (cleared, "was written down from here, and has been cleared since")
        ]
    assert sorted((c["name"], c["messageCount"]) for c in memory.conversations()) == [("cleared", 1), ("deleted", 1)]


def test_moving_again_changes_nothing_and_goes_on_where_the_source_has_grown(
    memory: Client, other: Client, other_served: Served, api: Api, written_down: Write
) -> None:
    conversation_id = _talk(memory, api)
    nameless = memory.create_conversation()["id"]
    asked = memory.append_message(nameless, "user", "1")
    move(JsonLinesFile(written_down()), other)
    before = [(c, list(other.messages(c["id"]))) for c in other.conversations()]

    again = move(JsonLinesFile(written_down()), other)

    assert (again.moved, again.skipped) == (0, [])
    assert [(c, list(other.messages(c["id"]))) for c in other.conversations()] == before
    first = memory.append_message(conversation_id, "user", "more")
    memory.append_message(nameless, "user", "2")
    memory.append_message(nameless, "assistant", "late", associated_user_message_id=asked["id"])
    grown = move(JsonLinesFile(written_down()), other)
    assert (grown.moved, grown.skipped) == (3, [])
    found = {c["metadata"]["movedFrom"][0]["id"]: c["id"] for c in other.conversations()}
    assert [m["content"] for m in other.messages(found[conversation_id])][-1] == first["content"]
    [moved, _, late] = other.messages(found[nameless])
    assert late["associatedUserMessageId"] == moved["id"]


def test_a_dry_run_finds_what_has_no_session_id(memory: Client, other: Client, written_down: Write) -> None:
    memory.append_message(memory.create_conversation()["id"], "user", "1")
    assert move(JsonLinesFile(written_down()), other, is_dry=True).moved == 1
    assert list(other.conversations()) == []
    move(JsonLinesFile(written_down()), other)

    dry = move(JsonLinesFile(written_down()), other, is_dry=True)

    assert (dry.moved, dry.present) == (0, 1)


def _long(memory: Client, count: int, name: str = "long") -> str:
    conversation_id = memory.create_conversation(session_id=name)["id"]
    for begin in range(0, count, 98):
        said: list[Any] = [{"role": "user", "content": str(n)} for n in range(begin, min(begin + 98, count))]
        memory.append_messages(conversation_id, said)
    return conversation_id


def _texts(client: Client, name: str = "long") -> list[str]:
    found = client.find_conversation(name)
    assert found
    return [message["content"][0]["text"] for message in client.messages(found["id"], page_size=1000)]


def test_several_at_once_make_nothing_twice(
    memory: Client, other: Client, written_down: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With small batches and without the pauses they are in each other's way all the time."""
    monkeypatch.setattr("conversation_memory.moving.batches.LARGEST_BATCH", 10)
    monkeypatch.setattr("conversation_memory.moving.arriving._LONGEST_PAUSE_S", 0.02)
    _long(memory, 200)
    paths = [written_down()]
    memory.append_message(memory.create_conversation(session_id="long")["id"], "user", "200")
    longer = paths[0].with_name("longer.jsonl")
    written_down().rename(longer)
    _shorten(longer, paths[0])
    files = [JsonLinesFile(path) for path in (longer, paths[0], longer, paths[0])]
    reports: list[Any] = []

    threads = [threading.Thread(target=lambda file=file: reports.append(move(file, other))) for file in files]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)

    assert _texts(other) == [str(n) for n in range(201)]
    assert [report.skipped for report in reports] == [[], [], [], []]
    assert sum(report.moved for report in reports) >= 201


def _shorten(longer: Path, shorter: Path) -> None:
    """The file without the last message of its conversation."""
    lines = longer.read_text().splitlines(keepends=True)
    shorter.write_text("".join([*lines[:-2], lines[-1]]))


@pytest.mark.parametrize("is_done", [True, False])
def test_a_run_that_ends_anywhere_is_begun_again(
    memory: Client, other_served: Served, written_down: Write, is_done: bool
) -> None:
    """The connection is gone from the nth request on, whether or not that was carried out."""
    ended = 0
    for nth in range(1, 9):
        name = f"long {nth}"
        conversation_id = _long(memory, 150, name)
        path = written_down(ids=[conversation_id])
        with httpx.Client(transport=other_served) as http:
            ended += _ended_at(nth, JsonLinesFile(path), http, other_served, is_done)
            other = Client("http://other", http=http)
            report = move(JsonLinesFile(path), other)
            assert report.skipped == []
            assert _texts(other, name) == [str(n) for n in range(150)]
            assert move(JsonLinesFile(path), other).moved == 0
            found = other.find_conversation(name)
        assert found
        assert found["metadata"]["movedFrom"][0]["begun"] is True
    assert ended >= 5


def _ended_at(nth: int, source: JsonLinesFile, http: httpx.Client, served: Served, is_done: bool) -> bool:
    """Whether a run ended with its nth request, since it needs so many."""

    def gone(served: Served, request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("gone", request=request)

    served.requests.clear()
    served.faults.extend([Served.carry_out] * (nth - 1) + [lost if is_done else gone] + [gone] * 30)
    try:
        move(source, Client("http://other", http=http, attempts=1))
    except NoAnswerError:
        return True
    finally:
        served.faults.clear()
    assert len(served.requests) < nth
    return False


def test_an_answer_that_others_gave_stays_and_the_source_s_own_is_kept(
    memory: Client, other: Client, written_down: Write
) -> None:
    conversation_id = _long(memory, 1)
    move(JsonLinesFile(written_down()), other)
    found = other.find_conversation("long")
    assert found
    other.append_message(found["id"], "assistant", "theirs")
    memory.append_message(conversation_id, "assistant", "ours")

    report = move(JsonLinesFile(written_down()), other)

    assert _texts(other) == ["0", "theirs", "ours"]
    assert [note.reason for note in report.notes] == ["its question has another answer by now"]
    assert move(JsonLinesFile(written_down()), other).moved == 0


def test_what_the_service_refuses_is_reported_and_the_rest_moved(
    memory: Client, other: Client, written_down: Write
) -> None:
    _long(memory, 5)
    path = written_down()
    lines = path.read_text().splitlines(keepends=True)
    bad = json.loads(lines[3])
    bad["message"]["content"] = [{"text": " "}]
    large = json.loads(lines[4])
    large["message"]["metadata"] = {"large": "x" * 70_000}
    path.write_text("".join([*lines[:3], json.dumps(bad) + "\n", json.dumps(large) + "\n", "{half\n", *lines[6:]]))

    report = move(JsonLinesFile(path), other)

    assert _texts(other) == ["0", "4"]
    assert {remark.place: remark.reason.partition(" [")[0] for remark in report.skipped} == {
        1: "400 InvalidRequest (messages[1].content): messages[1].content is blank.",
        2: "413 TooLarge (messages[1].metadata): messages[1].metadata is larger than 65536 bytes of JSON.",
        3: "is no line of a message",
    }
    again = move(JsonLinesFile(path), other)
    assert (again.moved, again.present, len(again.skipped)) == (0, 2, 3)


def test_names_that_other_messages_have_by_now_are_left_out_and_said_so(
    memory: Client, other: Client, written_down: Write
) -> None:
    said = memory.create_conversation(session_id="long")["id"]
    for client_id, text in (("m1", "0"), ("m2", "1")):
        memory.append_message(said, "user", text, client_message_id=client_id)
    theirs = other.create_conversation(session_id="long")["id"]
    other.append_message(theirs, "user", "theirs", client_message_id="m1")

    report = move(JsonLinesFile(written_down()), other)

    assert [message.get("clientMessageId") for message in other.messages(theirs)] == ["m1", None, "m2"]
    assert _texts(other) == ["theirs", "0", "1"]
    assert [(note.place, note.reason) for note in report.notes if note.place is not None] == [
        (0, "its clientMessageId is that of another message by now")
    ]
    assert (report.skipped, move(JsonLinesFile(written_down()), other).moved) == ([], 0)


HEAD: dict[str, Any] = {"id": "x" * 20, "name": None, "metadata": {}}
SAID: dict[str, Any] = {"id": "m", "role": "user", "content": [{"text": "1"}]}
DEEP = "[" * 50_000 + "]" * 50_000


@pytest.mark.parametrize(
    "lines",
    [
        [{"conversation": {**HEAD, "id": "\ud800"}}, {"message": SAID}],
        [{"conversation": {**HEAD, "id": ""}}, {"message": SAID}],
        [{"conversation": {**HEAD, "sessionId": 5}}, {"message": SAID}],
        [{"conversation": {**HEAD, "sessionId": "\ud800"}}, {"message": SAID}],
        [{"conversation": {**HEAD, "name": 5}}, {"message": SAID}],
        [{"conversation": {**HEAD, "name": "\ud800"}}, {"message": SAID}],
        [{"conversation": {**HEAD, "ttlDays": "x"}}, {"message": SAID}],
        [{"conversation": {**HEAD, "metadata": [1]}}, {"message": SAID}],
        [{"conversation": {**HEAD, "metadata": {"a": float("nan")}}}, {"message": SAID}],
        [{"conversation": HEAD}, {"message": {**SAID, "id": "\ud800"}}],
        [{"conversation": HEAD}, {"message": {**SAID, "metadata": "text"}}],
        [{"conversation": HEAD}, {"message": {**SAID, "metadata": {"a": "\ud800"}}}],
        [{"conversation": HEAD}, {"message": {**SAID, "content": [{"text": "\ud800"}]}}],
        [{"conversation": HEAD}, {"message": {**SAID, "content": [{"json": float("inf")}]}}],
        [{"conversation": HEAD}, {"message": {**SAID, "content": [5], "associatedUserMessageId": [1]}}],
        [{"conversation": HEAD}, {"message": SAID}, {"trace": 5}],
        [{"conversation": HEAD}, {"message": SAID}, {"trace": {"id": "t", "parentId": "m", "number": float("inf")}}],
        [{"conversation": HEAD}, {"message": SAID}, {"trace": {"id": "\ud800", "parentId": "m", "number": 1}}],
        [{"conversation": HEAD}, f'{{"message":{DEEP}}}'],
    ],
)
def test_a_line_that_nobody_would_write_is_told_and_stops_nothing(
    other: Client, tmp_path: Path, lines: list[Any]
) -> None:
    sound = {"conversation": {**HEAD, "id": "y" * 20, "sessionId": "sound"}}
    read = [{"format": "conversation-memory/1"}, *lines, sound, {"message": SAID}, {"end": {}}]
    path = tmp_path / "file"
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in read))

    report = move(JsonLinesFile(path), other, at_once=1)

    assert len(report.skipped) == 1
    assert json.dumps(report.to_json(), ensure_ascii=False).encode()
    assert _texts(other, "sound") == ["1"]
    assert move(JsonLinesFile(path), other, at_once=1).moved == 0


def test_one_failing_session_stops_no_other(
    memory: Client, other: Client, other_served: Served, written_down: Write
) -> None:
    for number in range(3):
        _long(memory, 2, f"s{number}")
    other_served.faults.extend([Served.carry_out] * 2 + [answering(500, '{"message": "no"}')])

    report = move(JsonLinesFile(written_down()), other, at_once=1)

    assert len(report.skipped) == 1
    assert report.moved == 4
    assert move(JsonLinesFile(written_down()), other).moved == 2


def test_a_file_that_is_none_and_one_of_tomorrow_are_refused_by_name(tmp_path: Path, other: Client) -> None:
    path = tmp_path / "file"
    path.write_text('{"format":"conversation-memory/2"}\n')
    with pytest.raises(UnknownFormatError, match="conversation-memory/2; what is read here is conversation-memory/1"):
        move(JsonLinesFile(path), other)
    path.write_text("# Hello\n")
    with pytest.raises(UnknownFormatError, match="does not begin with its format"):
        move(JsonLinesFile(path), other)


def test_a_file_that_was_cut_is_told(memory: Client, other: Client, written_down: Write) -> None:
    _long(memory, 3)
    path = written_down()
    path.write_text(path.read_text()[:-100])

    report = move(JsonLinesFile(path), other)

    assert _texts(other) == ["0", "1", "2"][: report.moved]
    assert ("the file", "has no last line: it was not written to its end") in {
        (remark.session, remark.reason) for remark in report.skipped
    }


def test_a_conversation_that_goes_while_it_is_written_down_is_not_half_there(
    memory: Client, other: Client, served: Served, tmp_path: Path
) -> None:
    _long(memory, 250)
    path = tmp_path / "file"

    def cleared(served: Served, request: httpx.Request) -> httpx.Response:
        found = memory.find_conversation("long")
        assert found
        memory.clear_messages(found["id"])
        return served.carry_out(request)

    served.faults.extend([Served.carry_out] * 3 + [cleared])
    with path.open("w") as file:
        report = export(memory, JsonLines(), file.write)

    assert [remark.reason for remark in report.skipped] == ["It was cleared or deleted while it was read."]
    moved = move(JsonLinesFile(path), other)
    assert [remark.reason for remark in moved.skipped] == [
        "is not whole in the file: It was cleared or deleted while it was read."
    ]
    assert list(other.conversations()) == []


def test_some_are_chosen(memory: Client) -> None:
    ids = [_long(memory, 1, f"s{number}") for number in range(3)]
    since = memory.get_conversation(ids[2])["updatedAt"]

    def exported(**chosen: Any) -> list[str]:
        lines: list[str] = []
        export(memory, JsonLines(), lines.append, **chosen)
        read = [json.loads(line) for line in lines]
        assert (next(iter(read[0])), next(iter(read[-1]))) == ("format", "end")
        return [line["conversation"]["id"] for line in read if "conversation" in line]

    assert sorted(exported()) == sorted(ids)
    assert exported(ids=ids[:1], session_ids=["s1"]) == ids[:2]
    assert exported(since=since) == ids[2:]
    missing = export(memory, JsonLines(), len, ids=["none"], session_ids=["none"])
    assert len(missing.skipped) == 2


def test_errors_that_would_meet_every_session_end_the_run(
    memory: Client, other_served: Served, written_down: Write
) -> None:
    _long(memory, 1)
    other_served.faults.extend([answering(401)] * 10)
    with httpx.Client(transport=other_served) as http, pytest.raises(UnauthorizedError):
        move(JsonLinesFile(written_down()), Client("http://other", http=http))


def test_a_run_that_is_interrupted_ends_soon(memory: Client, other: Client, written_down: Write) -> None:
    """Ctrl-C meets the thread that waits for the others: they end with the request that is on its way."""
    _long(memory, 98 * 5)

    def interrupt(report: Report) -> None:
        if report.moved:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        move(JsonLinesFile(written_down()), other, report=interrupt)

    assert len(_texts(other)) == 98
    assert move(JsonLinesFile(written_down()), other).present == 98

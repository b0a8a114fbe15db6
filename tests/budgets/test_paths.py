"""What reading a history and appending a message take of the processor, in what can be counted: attributes, calls of
DynamoDB and their bytes, and calls of our own functions and of botocore's.
"""

import sys
from functools import partial
from pathlib import Path
from types import FrameType

import botocore
import pytest

from conversations.access import read_head
from conversations.history import read_history
from conversations.history_query import HistoryQuery
from conversations.windows import Limits
from tests.bench.bed import text
from tests.bench.metered import Metered

pytestmark = pytest.mark.slow

SIZE = 500
PLENTY = 1_000_000  # tokens
OURS = str(Path(__file__).parents[2] / "functions")
BOTOCORE = str(Path(botocore.__file__).parent)
CALLS_PER_MESSAGE = 23  # 21 with Python 3.11; later ones need fewer, since they make no function of a comprehension
BOTOCORE_CALLS_PER_READ = 150  # 129; its client would make 751
BYTES_PER_MESSAGE = 300  # beside the text itself


class Counter:
    """Counts the calls of functions in the files of a folder; a generator that goes on counts, too."""

    def __init__(self, folder: str) -> None:
        self.calls = 0
        self._folder = folder

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        self.calls += event == "call" and frame.f_code.co_filename.startswith(self._folder)

    def __enter__(self) -> "Counter":
        self._before = sys.getprofile()
        sys.setprofile(self)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(self._before)


def test_a_message_of_a_history_takes_some_twenty_calls_of_our_functions(service: Metered) -> None:
    bed = service.unmetered
    conversation_id = bed.fill(100, SIZE)
    head = read_head(bed.store, bed.clock, owner=None, conversation_id=conversation_id)
    query = HistoryQuery(limits=Limits(PLENTY))
    read_history(bed.store, head, query)

    with Counter(OURS) as counter:
        history = read_history(bed.store, head, query)

    assert len(history.prompt.messages) == 99  # it ends with the last question
    assert 0 < counter.calls <= 100 * CALLS_PER_MESSAGE


def test_a_read_takes_few_calls_of_botocore(service: Metered) -> None:
    bed = service.unmetered
    conversation_id = bed.fill(2, SIZE)
    read = partial(read_head, bed.store, bed.clock, owner=None, conversation_id=conversation_id)
    read()

    with Counter(BOTOCORE) as counter:
        read()

    assert 0 < counter.calls <= BOTOCORE_CALLS_PER_READ


def test_a_page_is_one_call_whose_items_have_four_attributes_and_little_beside_their_text(service: Metered) -> None:
    bed = service.unmetered
    conversation_id = bed.fill(100, SIZE)

    calls = service.calls(lambda: service.request("GET", f"/conversations/{conversation_id}/history"))

    assert [call.operation for call in calls] == ["GetItem", "Query"]
    page = bed.dynamodb.query(**calls[1].request)["Items"]
    assert {frozenset(item) for item in page} == {frozenset(("id", "createdAt", "place", "words"))}
    assert calls[1].answer_bytes <= 100 * (SIZE + BYTES_PER_MESSAGE)


def test_a_long_history_is_read_in_few_calls_and_a_window_reads_no_more_than_it_needs(service: Metered) -> None:
    conversation_id = service.unmetered.fill(1000, SIZE)
    path = f"/conversations/{conversation_id}/history"

    whole = service.calls(lambda: service.request("GET", path, maxTokens=PLENTY))
    window = service.calls(lambda: service.request("GET", path, maxMessages=40))

    assert [call.operation for call in whole] == ["GetItem", *["Query"] * 3]
    assert [call.request["Limit"] for call in whole[1:]] == [100, 500, 401]
    assert [call.request["Limit"] for call in window[1:]] == [44]


def test_a_turn_with_a_window_reads_no_more_than_it_needs(service: Metered) -> None:
    conversation_id = service.unmetered.fill(200, SIZE)

    calls = service.calls(lambda: service.turn(conversation_id, text(0, SIZE), text(1, SIZE), window=40))

    assert [call.request["Limit"] for call in calls if call.operation == "Query"] == [44]


def test_an_append_is_one_read_and_one_transaction_of_little_more_than_its_text(service: Metered) -> None:
    conversation_id = service.unmetered.fill(100, SIZE)
    path = f"/conversations/{conversation_id}/messages"

    calls = service.calls(lambda: service.request("POST", path, {"role": "user", "content": [{"text": text(0, SIZE)}]}))

    assert [call.operation for call in calls] == ["GetItem", "TransactWriteItems"]
    assert sum(call.request_bytes for call in calls) <= SIZE + 1700
    assert sum(call.answer_bytes for call in calls) <= 700

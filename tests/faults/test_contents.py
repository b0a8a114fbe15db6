"""What is written comes back equal by type, through every route, at every size."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conversations.codec import LARGEST_BODY_BYTES
from conversations.codec.bulk import LARGEST_UNPACKED_BYTES
from tests.bed.in_process import Api
from tests.bed.messages import said

pytestmark = pytest.mark.slow

HARD = [
    "",
    "\U0001f600\U0001f469\u200d\U0001f469\u200d\U0001f467",
    "\u05e9\u05dc\u05d5\u05dd \u202eabc\u202c \u0645\u0631\u062d\u0628\u0627",
    "e\u0301 \u0323",
    "\x00\x1f\x7f\x85",
    "\u2028\ufeff\ufffe",
    "'\"\\/",
]
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.sampled_from(HARD)
NUMBER = (
    st.integers(-(2**63), 2**64)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([0, -0.0, 1.0, 1e308, 5e-324, 2**53 + 1, 10**45 + 1, -(2**1023), 0.1, 1e22])
)
VALUE = st.recursive(
    st.none() | st.booleans() | NUMBER | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=10,
)
BLOCK = st.one_of(
    st.builds(lambda text: {"text": "x" + text}, TEXT),
    st.builds(lambda value: {"toolUse": {"toolUseId": "t", "name": "f", "input": {"a": value}}}, VALUE),
    st.builds(lambda value: {"madeUp": value}, VALUE),
)


@given(block=BLOCK, value=VALUE)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_route_gives_back_what_every_route_took(api: Api, block: dict[str, Any], value: Any) -> None:
    conversation_id = api.create()
    path = f"/conversations/{conversation_id}"
    rest = {"metadata": {"kept": value}, "aiContext": value}
    content = [*said("x"), block]
    one = {"role": "user", "content": content, **rest}
    answer = {"role": "assistant", "content": content, "metadata": {"kept": value}}
    told = [
        api.call("POST", f"{path}/messages", one).body,
        *api.call("POST", f"{path}/messages", {"messages": [one, answer]}).body["messages"],
        api.call("POST", f"{path}/turns", {"content": content, **rest}).body["message"],
        api.call("POST", f"{path}/messages", answer).body,
    ]
    pages = [
        api.call("GET", f"{path}/messages").body["messages"],
        api.call("GET", f"{path}/messages", query={"order": "desc"}).body["messages"][::-1],
        [api.call("GET", f"{path}/messages/{message['id']}").body for message in told],
    ]
    answered = api.call("GET", f"{path}/turns/{told[3]['id']}").body["message"]

    for page in [told, *pages]:
        assert json.dumps(page) == json.dumps(told)  # which tells 1 from 1.0 and True
        for message in page:
            assert json.dumps(message["content"]) == json.dumps(content)
            assert json.dumps(message["metadata"]) == json.dumps({"kept": value})
            assert message["role"] == "assistant" or json.dumps(message.get("aiContext")) == json.dumps(value)
    assert json.dumps(answered) == json.dumps(told[4])


AROUND = [31_000, 33_000, LARGEST_BODY_BYTES, LARGEST_UNPACKED_BYTES, 399_000, 400 * 1024, 401_000, 1_000_000]


@pytest.mark.parametrize("character", ["😀", "ü", "x"])
@pytest.mark.parametrize("size", AROUND)
def test_around_every_boundary_every_byte_comes_back(api: Api, size: int, character: str) -> None:
    """Sizes in bytes, a character less and one more; the text shrinks well or not at all."""
    conversation_id = api.create()
    path = f"/conversations/{conversation_id}/messages"
    width = len(character.encode())
    frame = len(json.dumps({"content": said("")}, separators=(",", ":")).encode())
    texts = [character * ((size - frame) // width + more) for more in (-1, 0, 1)]

    written = [api.say(conversation_id, text) for text in texts]

    assert [message["content"] for message in api.call("GET", path).body["messages"]] == [said(text) for text in texts]
    for message in written:
        assert api.call("GET", f"{path}/{message['id']}").body == message

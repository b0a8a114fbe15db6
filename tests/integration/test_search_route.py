"""Searching a conversation by our own route: on the engine that the OpenSearch dialect has, in our own shapes."""

from typing import Any

import pytest

from tests.bed.in_process import Api
from tests.bed.messages import tool_use
from tests.bed.opensearch import Cluster


def found(api: Api, conversation_id: str, q: str, **query: Any) -> dict[str, Any]:
    answer = api.call("GET", f"/conversations/{conversation_id}/search", query={"q": q, **query})
    assert answer.status == 200, answer
    body: dict[str, Any] = answer.body
    return body


def test_a_question_is_found_with_its_answer_by_the_words_of_either(api: Api) -> None:
    conversation_id = api.create()
    question = api.say(conversation_id, "My name is Ada.")
    answered = api.say(conversation_id, "Hello Ada, nice to meet you.", "assistant")
    api.say(conversation_id, "What is the weather like?")

    by_either = found(api, conversation_id, "ada")

    assert by_either["total"] == 1
    [hit] = by_either["hits"]
    assert (hit["message"], hit["answer"]) == (question, answered)
    assert hit["score"] > 0
    assert hit["highlights"] == {
        "message": ["My name is <em>Ada</em>."],
        "answer": ["Hello <em>Ada</em>, nice to meet you."],
    }
    [hit] = found(api, conversation_id, "meet")["hits"]
    assert hit["message"] == question
    assert list(hit["highlights"]) == ["answer"]
    assert found(api, conversation_id, "nothing") == {"hits": [], "total": 0}


def test_the_best_come_first_and_a_limit_counts_hits(api: Api) -> None:
    conversation_id = api.create()
    texts = ["red", "red and green and blue and more", "red green"]
    messages = [api.say(conversation_id, text) for text in texts]

    whole = found(api, conversation_id, "red green")
    assert whole["hits"][0]["message"]["id"] == messages[2]["id"]
    scores = [hit["score"] for hit in whole["hits"]]
    assert scores == sorted(scores, reverse=True)
    first = found(api, conversation_id, "red green", limit=1)
    assert (first["total"], first["hits"]) == (3, whole["hits"][:1])


def test_an_assistants_message_that_answers_nothing_is_found_as_a_message(api: Api) -> None:
    conversation_id = api.create()
    alone = api.say(conversation_id, "Welcome!", "assistant")

    [hit] = found(api, conversation_id, "welcome")["hits"]

    assert hit["message"] == alone
    assert "answer" not in hit
    assert hit["highlights"] == {"message": ["<em>Welcome</em>!"]}


def test_japanese_is_found(api: Api) -> None:
    conversation_id = api.create()
    message = api.say(conversation_id, "おすすめの映画を教えてください。")
    api.say(conversation_id, "天気がいい")

    for word in ("映画", "おすすめ"):
        hits = found(api, conversation_id, word)["hits"]
        assert hits[0]["message"] == message
        assert "<em>" in hits[0]["highlights"]["message"][0]


def test_what_is_found_is_what_is_there_now(api: Api) -> None:
    conversation_id = api.create()
    assert found(api, conversation_id, "first")["total"] == 0
    question = api.say(conversation_id, "first")
    assert found(api, conversation_id, "first")["total"] == 1
    api.say(conversation_id, "an answer", "assistant", associatedUserMessageId=question["id"])
    assert "answer" in found(api, conversation_id, "first")["hits"][0]
    api.call("DELETE", f"/conversations/{conversation_id}/messages")
    assert found(api, conversation_id, "first")["total"] == 0
    api.say(conversation_id, "first again")
    assert found(api, conversation_id, "first")["total"] == 1


def test_tool_results_are_found_and_traces_are_not(api: Api) -> None:
    conversation_id = api.create()
    question = api.say(conversation_id, "q")
    path = f"/conversations/{conversation_id}/messages"
    api.call("POST", path, {"role": "assistant", "content": [tool_use("t1")]})
    api.call(
        "POST", path, {"role": "tool", "content": [{"toolResult": {"toolUseId": "t1", "content": [{"text": "sunny"}]}}]}
    )
    trace = {"input": "sunny", "parent_message_id": question["id"], "trace_number": 1}
    Cluster(api).message(conversation_id, **trace)

    [hit] = found(api, conversation_id, "sunny")["hits"]

    assert hit["message"]["role"] == "tool"


@pytest.mark.parametrize("q", ["", "  ", "x" * 1001])
def test_words_that_cannot_be(api: Api, q: str) -> None:
    conversation_id = api.create()
    answer = api.call("GET", f"/conversations/{conversation_id}/search", query={"q": q})
    assert (answer.status, answer.body["error"]["field"]) == (400, "q")


def test_who_may_not_see_it_may_not_search_it(api: Api, lagging: Any, clock: Any) -> None:
    alice, bob = Api(lagging, clock, auth="jwt"), Api(lagging, clock, auth="jwt")
    alice.as_user("alice")
    bob.as_user("bob")
    conversation_id = alice.create()
    alice.say(conversation_id, "secret")

    assert found(alice, conversation_id, "secret")["total"] == 1
    answer = bob.call("GET", f"/conversations/{conversation_id}/search", query={"q": "secret"})
    assert (answer.status, answer.body["error"]["code"]) == (404, "NotFound")
    assert bob.call("GET", "/conversations/unknown/search", query={"q": "secret"}).status == 404


@pytest.mark.slow
def test_an_answer_holds_as_many_hits_as_it_has_room_for(api: Api) -> None:
    conversation_id = api.create()
    content = [{"text": "word"}, {"image": {"format": "png", "source": {"bytes": "A" * 2_000_000}}}]
    for _ in range(3):
        api.call("POST", f"/conversations/{conversation_id}/messages", {"role": "user", "content": content})

    answer = found(api, conversation_id, "word")

    assert (len(answer["hits"]), answer["total"]) == (2, 3)

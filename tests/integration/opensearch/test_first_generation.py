"""The five routes of 2.10, beside the later ones."""

import re
from typing import Any

from tests.bed.opensearch import Cluster, instant

ID = re.compile(r"[A-Za-z0-9_.~-]{10,}")
BEES = {
    "input": "question",
    "prompt_template": "template about bees or something",
    "response": "answer to the question",
    "origin": "botanical index pipeline",
    "additional_info": '{"documents": [doc1, doc2,...]}',
}
FLOWERS = {
    **BEES,
    "input": "follow-up question",
    "prompt_template": "template about flowers this time",
    "response": "answer to the new question",
}


def create(cluster: Cluster, body: Any = None) -> str:
    created = cluster.call("POST", "/conversation", body, headers={"content-type": "application/json"} if body else {})
    assert created.status == 200
    assert created.body.keys() == {"conversation_id"}
    return str(created.body["conversation_id"])


def add(cluster: Cluster, conversation_id: str, body: Any) -> str:
    created = cluster.call("POST", f"/conversation/{conversation_id}", body)
    assert created.status == 200, created
    assert created.body.keys() == {"interaction_id"}
    return str(created.body["interaction_id"])


def untimed(shown: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same without the times, which are held to their form and to the order newest first."""
    times = [one.pop("create_time") for one in shown]
    assert times == sorted(times, key=instant, reverse=True)
    return shown


def test_the_session_by_which_these_routes_were_introduced(cluster: Cluster) -> None:
    assert cluster.get("/conversation") == {"conversations": []}

    named = create(cluster, {"name": "some name"})
    listed = cluster.get("/conversation")
    assert list(listed["conversations"][0]) == ["conversation_id", "create_time", "name"]
    assert untimed(listed["conversations"]) == [{"conversation_id": named, "name": "some name"}]

    unnamed = create(cluster)
    assert untimed(cluster.get("/conversation")["conversations"]) == [
        {"conversation_id": unnamed, "name": ""},
        {"conversation_id": named, "name": "some name"},
    ]

    first, second = add(cluster, unnamed, BEES), add(cluster, unnamed, FLOWERS)
    listed = cluster.get(f"/conversation/{unnamed}")
    assert list(listed["interactions"][0]) == ["conversation_id", "interaction_id", "create_time", *BEES]
    assert untimed(listed["interactions"]) == [
        {"conversation_id": unnamed, "interaction_id": second, **FLOWERS},
        {"conversation_id": unnamed, "interaction_id": first, **BEES},
    ]
    assert all(ID.fullmatch(id_) for id_ in (named, unnamed, first, second))

    assert cluster.delete(f"/conversation/{unnamed}") == {"success": True}
    assert cluster.get(f"/conversation/{unnamed}") == {"interactions": []}
    assert untimed(cluster.get("/conversation")["conversations"]) == [{"conversation_id": named, "name": "some name"}]


def test_conversations_stand_in_the_order_of_their_making_whatever_happens_to_them(cluster: Cluster) -> None:
    ids = [create(cluster, {"name": f"{number}"}) for number in range(3)]
    add(cluster, ids[0], {"input": "a"})

    first = cluster.get("/conversation", max_results=2)
    assert [one["name"] for one in first["conversations"]] == ["2", "1"]
    assert first["next_token"] == 2
    last = cluster.get("/conversation", max_results=2, next_token=2)
    assert [one["name"] for one in last["conversations"]] == ["0"]
    assert "next_token" not in last
    assert cluster.get()["memories"][0]["name"] == "0"


def test_interactions_are_paged_from_the_newest(cluster: Cluster) -> None:
    conversation_id = create(cluster)
    for number in range(3):
        add(cluster, conversation_id, {"input": f"{number}", "response": f"r{number}"})

    first = cluster.get(f"/conversation/{conversation_id}", max_results=2)
    assert [one["input"] for one in first["interactions"]] == ["2", "1"]
    assert first["next_token"] == 2
    last = cluster.get(f"/conversation/{conversation_id}", max_results=2, next_token=2)
    assert [one["input"] for one in last["interactions"]] == ["0"]
    assert "next_token" not in last


def test_both_generations_see_one_another(cluster: Cluster) -> None:
    conversation_id = create(cluster, {"name": "old"})
    interaction_id = add(cluster, conversation_id, BEES)
    message_id = cluster.message(conversation_id, input="new", additional_info={"a": "1"})
    cluster.message(conversation_id, input="t", parent_message_id=message_id, trace_number=1)

    assert cluster.get(f"/{conversation_id}")["name"] == "old"
    message = cluster.get(f"/message/{interaction_id}")
    assert message["additional_info"] == {"additional_info": BEES["additional_info"]}
    new, old = cluster.get(f"/conversation/{conversation_id}")["interactions"]
    assert old["additional_info"] == BEES["additional_info"]
    assert (new["interaction_id"], new["additional_info"]) == (message_id, '{"a":"1"}')
    assert (new["prompt_template"], new["response"], new["origin"]) == (None, None, None)
    assert cluster.put(f"/{conversation_id}", {"name": "renamed"})["result"] == "updated"
    assert cluster.get("/conversation")["conversations"][0]["name"] == "renamed"


def test_nothing_need_be_said(cluster: Cluster) -> None:
    conversation_id = create(cluster)
    interaction_id = add(cluster, conversation_id, {})

    [found] = untimed(cluster.get(f"/conversation/{conversation_id}")["interactions"])

    nothing = dict.fromkeys(BEES)
    assert found == {"conversation_id": conversation_id, "interaction_id": interaction_id, **nothing}


def test_what_cannot_be(cluster: Cluster) -> None:
    conversation_id = create(cluster)
    path = f"/conversation/{conversation_id}"

    gone = (404, "resource_not_found_exception", "Conversation [unknown] not found")
    assert cluster.refusal("POST", "/conversation/unknown", {"input": "a"}) == gone
    assert cluster.refusal("DELETE", "/conversation/unknown") == gone
    assert cluster.refusal("POST", path, {"input": "a", "additional_info": {"a": 1}})[0] == 400
    assert cluster.refusal("POST", path, {"input": None})[0] == 400
    assert cluster.refusal("POST", path)[:2] == (400, "parse_exception")
    assert cluster.refusal("POST", "/conversation", {"name": 5})[:2] == (400, "parse_exception")
    assert cluster.refusal("GET", path, max_results=0)[:2] == (400, "action_request_validation_exception")
    assert cluster.refusal("GET", "/conversation", max_results=0)[:2] == (400, "action_request_validation_exception")
    assert cluster.refusal("GET", path, next_page_token="")[:2] == (400, "illegal_argument_exception")
    assert cluster.refusal("GET", path, next_token=10_000)[:2] == (400, "search_phase_execution_exception")
    assert cluster.get(path) == {"interactions": []}


def test_somebody_elses_conversation_has_no_interactions(alice: Cluster, bob: Cluster) -> None:
    conversation_id = create(alice)
    add(alice, conversation_id, BEES)

    assert bob.get(f"/conversation/{conversation_id}") == {"interactions": []}
    assert bob.get("/conversation") == {"conversations": []}
    reason = f"User [bob] does not have access to conversation {conversation_id}"
    assert bob.refusal("POST", f"/conversation/{conversation_id}", BEES) == (401, "status_exception", reason)
    assert bob.refusal("DELETE", f"/conversation/{conversation_id}") == (401, "status_exception", reason)
    [shown] = alice.get("/conversation")["conversations"]
    assert shown["user"] == "alice"

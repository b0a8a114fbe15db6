"""Who may do what: owners, administrators, everybody else, and nobody."""

from typing import Any

import pytest

from conversations.errors import BusyError
from tests.bed.lagging import LaggingStore
from tests.bed.opensearch import ROOT, Cluster

EVERYTHING: dict[str, Any] = {"query": {"match_all": {}}}


def names(page: Any) -> list[str]:
    return [memory["name"] for memory in page["memories"]]


def test_everybody_sees_his_own(alice: Cluster, bob: Cluster) -> None:
    for name in ("a1", "a2"):
        alice.memory(name=name)
    bob.memory(name="b1")

    assert names(alice.get()) == ["a2", "a1"]
    [memory] = bob.get()["memories"]
    assert list(memory) == ["memory_id", "create_time", "updated_time", "name", "user"]
    assert memory["user"] == "bob"
    assert [hit["_source"]["name"] for hit in bob.search("")["hits"]] == ["b1"]
    assert bob.search("", {"term": {"user": "alice"}})["hits"] == []
    assert bob.search("", {"bool": {"should": [{"match_all": {}}, {"term": {"user": "alice"}}]}})["total"]["value"] == 1


def test_what_is_somebody_elses(alice: Cluster, bob: Cluster) -> None:
    memory_id = alice.memory(name="a")
    message_id = alice.message(memory_id, input="q")
    trace_id = alice.message(memory_id, input="t", parent_message_id=message_id, trace_number=1)

    of_memory = (401, "status_exception", f"User [bob] does not have access to memory {memory_id}")
    assert bob.refusal("GET", f"/{memory_id}") == of_memory
    assert bob.refusal("PUT", f"/{memory_id}", {"name": "x"}) == of_memory
    assert bob.refusal("POST", f"/{memory_id}/messages", {"input": "x"}) == of_memory
    assert bob.refusal("GET", f"/{memory_id}/messages") == of_memory
    assert bob.refusal("POST", f"/{memory_id}/_search", EVERYTHING) == of_memory
    for id_ in (message_id, trace_id):
        of_message = (401, "status_exception", f"User [bob] does not have access to message {id_}")
        assert bob.refusal("GET", f"/message/{id_}") == of_message
        assert bob.refusal("PUT", f"/message/{id_}", {"response": "x"}) == of_message
    assert bob.refusal("GET", f"/message/{message_id}/traces")[2].startswith(
        "User [bob] does not have access to message"
    )
    gone = f"Resources not found. Failed to delete the memory for {memory_id}"
    assert bob.refusal("DELETE", f"/{memory_id}") == (404, "status_exception", gone)
    assert names(alice.get()) == ["a"]
    assert len(alice.messages(memory_id)["messages"]) == 1


def test_a_bad_request_is_bad_before_anybody_is_asked_whose_it_is(alice: Cluster, bob: Cluster) -> None:
    memory_id = alice.memory()
    assert bob.refusal("POST", f"/{memory_id}/messages", {})[0] == 400
    assert bob.refusal("GET", f"/{memory_id}/messages", max_results=0)[0] == 400
    assert bob.refusal("GET", f"/{memory_id}", foo=1)[0] == 400
    assert bob.refusal("POST", f"/{memory_id}/_search", {"query": {"unknown": {}}})[0] == 400
    assert bob.refusal("POST", f"/{memory_id}/_search", {})[0] == 401  # a search without a query is found out later


def test_administrators_may_do_everything(alice: Cluster, bob: Cluster, root: Cluster) -> None:
    memory_id = alice.memory(name="a")
    message_id = alice.message(memory_id, input="q")
    bob.memory(name="b")
    root.memory(name="r")

    assert names(root.get()) == ["r", "b", "a"]
    assert {memory["user"] for memory in root.get()["memories"]} == {"alice", "bob", "root"}
    assert {hit["_source"]["user"] for hit in root.search("")["hits"]} == {"alice", "bob", "root"}
    root.put(f"/{memory_id}", {"name": "renamed"})
    root.put(f"/message/{message_id}", {"response": "r"})
    root.message(memory_id, input="from above")
    assert len(root.messages(memory_id)["messages"]) == 2
    assert alice.get(f"/{memory_id}") == root.get(f"/{memory_id}")
    assert alice.get(f"/{memory_id}")["user"] == "alice"
    assert root.delete(f"/{memory_id}") == {"success": True}
    assert alice.refusal("GET", f"/{memory_id}")[0] == 404


def test_one_who_is_merely_called_admin_is_nobody_special(alice: Cluster, bob: Cluster) -> None:
    memory_id = alice.memory()
    bob.api.as_user("admin")

    reason = f"User [admin] does not have access to memory {memory_id}"
    assert bob.refusal("GET", f"/{memory_id}") == (401, "status_exception", reason)
    assert bob.get() == {"memories": []}


def test_without_security_everything_is_seen_and_nobody_has_a_name(cluster: Cluster, alice: Cluster) -> None:
    alice.memory(name="a")
    mine = cluster.memory(name="mine")

    assert names(cluster.get()) == ["mine", "a"]
    assert "user" not in cluster.get(f"/{mine}")
    sources = {hit["_source"]["name"]: hit["_source"] for hit in cluster.search("")["hits"]}
    assert sources.keys() == {"mine", "a"}
    assert "user" not in sources["mine"]


@pytest.mark.parametrize(
    ("method", "path"), [("GET", ""), ("POST", ""), ("GET", "/x/y/z"), ("PATCH", ""), ("GET", "/_search")]
)
def test_without_an_identity_nothing_is_answered(alice: Cluster, method: str, path: str) -> None:
    alice.api.authorizer = {}
    assert alice.refusal(method, path)[:2] == (401, "security_exception")
    assert alice.refusal("GET", "/", root="")[:2] == (401, "security_exception")


def test_services_act_for_the_owner_that_they_name(alice: Cluster) -> None:
    memory_id = alice.memory(name="a")
    service = Cluster(alice.api)
    service.api.authorizer = {"iam": {"userArn": "arn"}}

    def call(method: str, path: str, owner: str) -> Any:
        headers = {"content-type": "application/json", "x-owner": owner}
        return service.call(method, path, root=f"/service{ROOT}", headers=headers)

    assert call("GET", f"/{memory_id}", "alice").body["name"] == "a"
    assert call("GET", f"/{memory_id}", "bob").error[0] == 401
    assert call("GET", f"/{memory_id}", "").error[:2] == (400, "illegal_argument_exception")
    assert call("GET", "", "bob").body == {"memories": []}
    unknown = call("POST", "/x/y", "bob").body["error"]
    assert unknown == "no handler found for uri [/_plugins/_ml/memory/x/y] and method [POST]"
    service.api.authorizer = {}
    assert call("GET", f"/{memory_id}", "alice").error[0] == 401


def test_busy_is_no_status_after_which_clients_send_again_by_themselves(
    cluster: Cluster, lagging: LaggingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory_id = cluster.memory()

    def busy(*_: Any, **__: Any) -> None:
        raise BusyError("Too many write the same; try again.")

    monkeypatch.setattr(lagging._store, "append", busy)
    reply = cluster.call("POST", f"/{memory_id}/messages", {"input": "a"})

    assert reply.error == (429, "rejected_execution_exception", "Too many write the same; try again.")
    assert reply.headers["Retry-After"] == "1"


def test_a_fault_says_nothing_internal(
    cluster: Cluster, lagging: LaggingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(lagging._store, "snapshot", broken)

    reply = cluster.call("GET", "/" + "x" * 20)

    assert reply.error == (500, "exception", "Something went wrong here.")
    assert "secret" not in reply.text

"""What holds for every route: paths, methods, content types, bodies, and the parameters of all requests."""

import gzip
import json
from base64 import b64encode
from typing import Any

import pytest

from tests.bed.opensearch import JSON, ROOT, Cluster, Reply


def test_clients_are_told_which_version_this_is(shared: Cluster) -> None:
    reply = shared.call("GET", "/", root="")

    assert reply.status == 200
    version = reply.body["version"]
    assert (version["distribution"], version["number"]) == ("opensearch", "3.8.0")
    head = shared.call("HEAD", "/", root="")
    assert (head.status, head.text) == (200, "")
    assert shared.call("POST", "/", root="").status == 405
    assert shared.call("GET", "/", root="", filter_path="version.number").body == {"version": {"number": "3.8.0"}}


def test_a_slash_at_the_end_changes_nothing(shared: Cluster) -> None:
    memory_id = shared.call("POST", "/", {"name": "n"}).body["memory_id"]
    message_id = shared.call("POST", f"/{memory_id}/messages/", {"input": "a"}).body["message_id"]

    assert shared.get("/") == shared.get()
    assert shared.get(f"/{memory_id}/") == shared.get(f"/{memory_id}")
    assert shared.get(f"/{memory_id}/messages/") == shared.get(f"/{memory_id}/messages")
    assert shared.get(f"/message/{message_id}/") == shared.get(f"/message/{message_id}")
    assert shared.get(f"/message/{message_id}/traces/") == {"traces": []}
    assert shared.call("POST", f"/{memory_id}/_search/", {"query": {"match_all": {}}}).status == 200


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("POST", "/abc", {"GET", "PUT", "DELETE"}),
        ("PATCH", "/abc", {"GET", "PUT", "DELETE"}),
        ("PUT", "", {"GET", "POST"}),
        ("DELETE", "", {"GET", "POST"}),
        ("DELETE", "/abc/messages", {"GET", "POST"}),
        ("PUT", "/abc/_search", {"GET", "POST"}),
        ("PATCH", "/_search", {"GET", "POST", "PUT", "DELETE"}),
        ("POST", "/message/abc", {"GET", "PUT"}),
        ("DELETE", "/message/abc", {"GET", "PUT"}),
        ("POST", "/message/abc/traces", {"GET"}),
        ("PUT", "/conversation/abc", {"GET", "POST", "DELETE"}),
        ("HEAD", "/abc", {"GET", "PUT", "DELETE"}),
    ],
)
def test_a_path_without_this_method(shared: Cluster, method: str, path: str, allowed: set[str]) -> None:
    reply = shared.call(method, path)

    assert reply.status == 405
    assert set(reply.headers["Allow"].split(",")) == allowed
    if method == "HEAD":
        assert reply.text == ""
        return
    assert reply.body.keys() == {"error", "status"}
    uri = f"uri [{ROOT}{path}] and method [{method}]"
    assert reply.body["error"].startswith(f"Incorrect HTTP method for {uri}, allowed: [")


def test_options_asks_for_the_methods(shared: Cluster) -> None:
    reply = shared.call("OPTIONS", "/abc", raw="")

    assert (reply.status, reply.text) == (200, "")
    assert set(reply.headers["Allow"].split(",")) == {"GET", "PUT", "DELETE"}
    assert reply.headers["Content-Type"].startswith("text/plain")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/abc/unknown"),
        ("PUT", "/abc/unknown"),
        ("DELETE", "/abc/messages/def"),
        ("POST", "/message/abc/traces/1"),
    ],
)
def test_a_path_that_means_nothing(shared: Cluster, method: str, path: str) -> None:
    reply = shared.call(method, path, pretty="")

    assert reply.status == 400
    assert reply.body == {"error": f"no handler found for uri [{ROOT}{path}?pretty=] and method [{method}]"}


@pytest.mark.parametrize(
    "path", ["/_plugins/_ml/message/_search", "/_cat/indices", "/_plugins/_ml/memorys", "/_plugins"]
)
def test_other_parts_of_opensearch_are_not_here(shared: Cluster, path: str) -> None:
    reply = shared.call("GET", path, root="")
    assert reply.status == 400
    assert reply.body == {"error": f"no handler found for uri [{path}] and method [GET]"}


@pytest.mark.parametrize(
    ("path", "missing"),
    [
        ("/a%2Fb", "Memory [a/b] not found"),
        ("/a/b", "Memory [a/b] not found"),  # as a gateway hands it over that decodes paths
        ("/a b/c", "Memory [a b/c] not found"),
        ("/message", "Memory [message] not found"),
        ("/a%2Fb/messages", "Memory [a/b] not found"),
        ("/a/b/messages", "Memory [a/b] not found"),
        ("/message/a/b", "Message [a/b] not found"),
        ("/message/a/b/traces", "Message [a/b] not found"),
        ("/%E6%98%A0%E7%94%BB", "Memory [映画] not found"),
        ("/映画", "Memory [映画] not found"),
        ("/a%0Ab", "Memory [a\nb] not found"),
        ("/a\nb", "Memory [a\nb] not found"),
        ("/%00", "Memory [\0] not found"),
        ("/~0..", "Memory [~0..] not found"),
    ],
)
def test_ids_may_have_any_characters(shared: Cluster, path: str, missing: str) -> None:
    assert shared.refusal("GET", path) == (404, "resource_not_found_exception", missing)


def test_encoded_ids_are_those_of_writes_too(shared: Cluster) -> None:
    for method, body in (("PUT", {}), ("DELETE", None)):
        assert shared.refusal(method, "/a%2Fb", body)[2] == "Memory [a/b] not found"
    assert shared.refusal("POST", "/a%2Fb/messages", {"input": "x"})[2] == "Memory [a/b] not found"


@pytest.mark.parametrize(
    ("headers", "error"),
    [
        ({"content-type": "text/plain"}, "Content-Type header [text/plain] is not supported"),
        ({"content-type": "application/jsonp"}, "Content-Type header [application/jsonp] is not supported"),
        ({"content-type": "application/yaml"}, "Content-Type header [application/yaml] is not supported"),
        ({}, "Content-Type header is missing"),
    ],
)
@pytest.mark.parametrize("path", ["", "/abc/messages", "/_search"])
def test_bodies_of_another_kind(shared: Cluster, path: str, headers: dict[str, str], error: str) -> None:
    reply = shared.call("POST", path, {"name": "n"}, headers=headers)
    assert reply.status == 406
    assert reply.body == {"error": error, "status": 406}


@pytest.mark.parametrize(
    "content_type", ["application/json; charset=UTF-8", "Application/JSON", "application/json;a=b;c=d", "text/plain"]
)
def test_kinds_that_are_read(shared: Cluster, content_type: str) -> None:
    body = {"name": "n"} if content_type != "text/plain" else None  # without a body any is good
    assert shared.call("POST", "", body, headers={"content-type": content_type}).status == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""),
        ("GET", "/abc"),
        ("GET", "/abc/messages"),
        ("GET", "/message/abc"),
        ("GET", "/message/abc/traces"),
        ("DELETE", "/abc"),
    ],
)
def test_a_body_where_none_belongs(shared: Cluster, method: str, path: str) -> None:
    reason = f"request [{method} {ROOT}{path}] does not support having a body"
    assert shared.refusal(method, path, {}) == (400, "illegal_argument_exception", reason)
    assert shared.call(method, path, raw="").status in (200, 404)  # nothing at all is no body


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "", None),
        ("GET", "/abc", None),
        ("PUT", "/abc", {}),
        ("DELETE", "/abc", None),
        ("POST", "/abc/messages", {"input": "a"}),
        ("GET", "/abc/messages", None),
        ("GET", "/message/abc", None),
        ("PUT", "/message/abc", {}),
        ("GET", "/message/abc/traces", None),
        ("POST", "/_search", {"query": {"match_all": {}}}),
        ("POST", "/abc/_search", {"query": {"match_all": {}}}),
        ("GET", "/conversation", None),
        ("GET", "/conversation/abc", None),
        ("GET", "/", None),
    ],
)
def test_parameters_that_mean_nothing(shared: Cluster, method: str, path: str, body: Any) -> None:
    one = shared.refusal(method, path, body, size=3)
    assert one == (
        400,
        "illegal_argument_exception",
        f"request [{ROOT}{path}] contains unrecognized parameter: [size]",
    )
    two = shared.refusal(method, path, body, zzz=3, qqq=4)
    assert two[2] == f"request [{ROOT}{path}] contains unrecognized parameters: [qqq], [zzz]"


def test_parameters_of_every_request(shared: Cluster) -> None:
    memory_id = shared.memory(name="映画")
    options = {"human": "", "error_trace": "true", "format": "json", "pretty": "false"}

    assert shared.get(f"/{memory_id}", **options) == shared.get(f"/{memory_id}")
    pretty = shared.call("GET", f"/{memory_id}", pretty="").text
    assert pretty.startswith(f'{{\n  "memory_id" : "{memory_id}",\n')
    assert pretty.endswith("}\n")
    assert "映画" in pretty
    assert json.loads(pretty) == shared.get(f"/{memory_id}")
    empty = shared.memory(name="[]", additional_info={"e": {}, "l": [[], {}], "t": "a {}\u2028[]"})
    assert shared.call("GET", f"/{empty}", pretty="", filter_path="name,additional_info").text == (
        '{\n  "name" : "[]",\n  "additional_info" : {\n    "e" : { },\n    "l" : [\n      [ ],\n      { }\n    ],\n'
        '    "t" : "a {}\u2028[]"\n  }\n}\n'
    )
    assert shared.call("GET", "/unknown", pretty="true").text.startswith('{\n  "error" : {\n')
    for name in ("pretty", "human", "error_trace"):
        refused = shared.refusal("GET", f"/{memory_id}", **{name: "maybe"})
        reason = "Failed to parse value [maybe] as only [true] or [false] are allowed."
        assert refused == (400, "illegal_argument_exception", reason)
    assert shared.refusal("GET", f"/{memory_id}", format="cbor")[:2] == (400, "illegal_argument_exception")


def test_filter_path(cluster: Cluster) -> None:
    ids = [cluster.memory(name=name, additional_info={"k": name}) for name in ("a", "b")]

    page = cluster.get(filter_path="memories.memory_id")
    assert page == {"memories": [{"memory_id": memory_id} for memory_id in reversed(ids)]}
    assert cluster.get(filter_path="**.k") == {
        "memories": [{"additional_info": {"k": "b"}}, {"additional_info": {"k": "a"}}]
    }
    excluded = cluster.get(filter_path="-memories.*time,-memories.additional_info")
    assert [list(memory) for memory in excluded["memories"]] == [["memory_id", "name"]] * 2
    assert cluster.get(filter_path="nothing") == {}
    assert cluster.put(f"/{ids[0]}", {"name": "x"}).keys() > {"_id"}
    assert cluster.call("PUT", f"/{ids[0]}", {"name": "x"}, filter_path="_id,_version").body.keys() == {
        "_id",
        "_version",
    }
    hits = cluster.call("POST", "/_search", {"query": {"match_all": {}}}, filter_path="hits.hits._source.name").body
    assert {hit["_source"]["name"] for hit in hits["hits"]["hits"]} == {"x", "b"}


def test_an_error_is_shown_whole_whatever_the_filter(shared: Cluster) -> None:
    reply = shared.call("GET", "/unknown", filter_path="memories")
    assert reply.error == (404, "resource_not_found_exception", "Memory [unknown] not found")


def test_a_body_beyond_the_limit(shared: Cluster) -> None:
    refused = shared.refusal("POST", "", {"name": "n" * 5_300_000})
    assert refused[:2] == (413, "content_too_long_exception")


def test_every_answer_is_json(shared: Cluster) -> None:
    for method, path in (("GET", ""), ("GET", "/unknown"), ("PATCH", ""), ("POST", "/a/b/c")):
        assert shared.call(method, path).headers["Content-Type"] == JSON


def zipped(cluster: Cluster, packed: bytes, encoding: str = "gzip", *, is_base64: bool = True) -> Reply:
    """The answer to a new memory whose body comes in this form."""
    text = b64encode(packed).decode() if is_base64 else packed.decode("latin-1")
    headers = {"content-type": "application/json", "content-encoding": encoding}
    answer = cluster.api.send("POST", ROOT, text, {}, headers, is_base64=is_base64)
    return Reply(answer["statusCode"], answer["headers"], answer["body"])


def test_bodies_may_be_compressed(shared: Cluster) -> None:
    for is_base64 in (True, False):
        created = zipped(shared, gzip.compress('{"name":"映画"}'.encode()), is_base64=is_base64)
        assert shared.get(f"/{created.body['memory_id']}")["name"] == "映画"
    assert zipped(shared, b'{"name":"n"}', "identity").status == 200


def test_compressed_bodies_have_the_same_limits(cluster: Cluster) -> None:
    bomb = gzip.compress(b'{"name":"' + b"n" * 20_000_000 + b'"}')
    assert zipped(cluster, bomb).error[:2] == (413, "content_too_long_exception")
    illegal = (400, "illegal_argument_exception")
    assert zipped(cluster, gzip.compress(b'{"name":"n"}')[:-9]).error[:2] == illegal
    assert zipped(cluster, b"no gzip").error[:2] == illegal
    assert zipped(cluster, gzip.compress(b"\xff")).error[:2] == illegal
    assert zipped(cluster, b"x", "br").error == (*illegal, "Content-Encoding [br] is not supported")
    assert cluster.get() == {"memories": []}

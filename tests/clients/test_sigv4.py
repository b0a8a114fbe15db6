"""Signatures, checked as AWS does it: from the request as it arrives, by the steps of its documentation."""

import hashlib
import hmac
import re
from urllib.parse import parse_qsl, quote

import httpx
import pytest
from botocore.credentials import Credentials

from conversation_memory import Client
from conversation_memory.sigv4 import SigV4

SECRET = "secret+/key"


def _signature(request: httpx.Request) -> str:
    """The signature that a request should have."""
    authorization = request.headers["authorization"]
    found = re.fullmatch(
        r"AWS4-HMAC-SHA256 Credential=AKID/(\d{8}/eu-west-1/execute-api/aws4_request), "
        r"SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})",
        authorization,
    )
    assert found, authorization
    scope, signed_headers, _ = found.groups()
    path, _, query = request.url.raw_path.decode().partition("?")
    parameters = sorted(parse_qsl(query, keep_blank_values=True))
    canonical = "\n".join(
        [
            request.method,
            quote(path, safe="/~"),
            "&".join(f"{quote(name, safe='~')}={quote(value, safe='~')}" for name, value in parameters),
            *(f"{name}:{request.headers[name].strip()}" for name in signed_headers.split(";")),
            "",
            signed_headers,
            hashlib.sha256(request.content).hexdigest(),
        ]
    )
    to_sign = "\n".join(
        ["AWS4-HMAC-SHA256", request.headers["x-amz-date"], scope, hashlib.sha256(canonical.encode()).hexdigest()]
    )
    key = f"AWS4{SECRET}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.new(key, to_sign.encode(), "sha256").hexdigest()


@pytest.mark.parametrize("token", [None, "session-token=="])
def test_every_request_is_signed_as_aws_checks_it(token: str | None) -> None:
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        if len(sent) == 1:
            return httpx.Response(503)
        return httpx.Response(200, json={"conversations": [], "nextCursor": None, "id": "c"})

    identity = SigV4("ada", region="eu-west-1", credentials=Credentials("AKID", SECRET, token))
    with httpx.Client(transport=httpx.MockTransport(answer)) as http:
        memory = Client("https://api.example.org/prod", identity=identity, http=http)
        memory.get_conversation("c.~1")
        memory.find_conversation("日本 a+b/c?d=e&f~*'()")
        memory.create_conversation(name="Ünï 😀")
        list(memory.conversations(page_size=5))

    assert sent[0].url.path == "/prod/service/conversations/c.~1"
    for request in sent:
        assert request.headers["x-owner"] == "ada"
        assert request.headers["authorization"].endswith(_signature(request)), request.url
        assert request.headers.get("x-amz-security-token") == token


def test_an_owner_that_no_header_can_hold_is_refused() -> None:
    for owner in ("", " ada", "ädä", "a\nb"):
        with pytest.raises(ValueError, match="header"):
            SigV4(owner, region="eu-west-1", credentials=Credentials("a", "b"))

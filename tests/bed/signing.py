"""Requests that are signed as those of an AWS principal."""

from collections.abc import Iterator

import httpx
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from infra.local import environment


class SignedFor(httpx.Auth):
    """Signs every request of a client with SigV4 for the HTTP API (service `execute-api`)."""

    requires_request_body = True

    def __init__(self, access_key: str = "test", secret_key: str = "test", session_token: str | None = None) -> None:
        self._signer = SigV4Auth(Credentials(access_key, secret_key, session_token), "execute-api", environment.REGION)

    def auth_flow(self, request: httpx.Request) -> Iterator[httpx.Request]:  # type: ignore[override]
        kept = {name: request.headers[name] for name in ("content-type", "host", "x-owner") if name in request.headers}
        signed = AWSRequest(request.method, str(request.url), headers=kept, data=request.content)
        self._signer.add_auth(signed)
        request.headers.update(dict(signed.headers.items()))
        yield request

"""Callers that are AWS principals: requests signed with Signature Version 4. Needs the extra ``sigv4``."""

from __future__ import annotations

from typing import Any

from conversation_memory.errors import MissingExtraError
from conversation_memory.steps import Request

try:
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.session import Session
except ImportError as error:
    raise MissingExtraError("sigv4", "botocore") from error

_SERVICE = "execute-api"


class SigV4:
    """A service of the account, which acts for an owner: ``Client(url, identity=SigV4("ada", region="eu-west-1"))``.

    Credentials are found as every AWS tool finds them (environment, profile, role), and are renewed as they expire,
    unless ``credentials`` of botocore are given.
    """

    prefix = "/service"

    def __init__(self, owner: str, *, region: str | None = None, credentials: Any = None) -> None:
        if not owner.isascii() or not owner.isprintable() or owner != owner.strip() or not owner:
            raise ValueError("An owner is named in a header: printable ASCII without spaces around it.")
        self._owner = owner
        session = Session() if credentials is None or region is None else None
        self._credentials: Any = credentials or (session.get_credentials() if session else None)
        self._region = region or (session.get_config_variable("region") if session else None)
        if self._credentials is None:
            raise ValueError("No AWS credentials are found.")
        if self._region is None:
            raise ValueError("No AWS region is found: name it.")

    def headers(self, request: Request, url: str) -> dict[str, str]:
        kept = {**request.headers, "x-owner": self._owner}
        signed = AWSRequest(request.method, url, headers=kept, data=request.body)
        SigV4Auth(self._credentials.get_frozen_credentials(), _SERVICE, self._region).add_auth(signed)
        return {name.lower(): value for name, value in signed.headers.items()}

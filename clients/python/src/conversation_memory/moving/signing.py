"""Requests to Amazon OpenSearch Service, signed with Signature Version 4. Needs botocore: the extra ``import``."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from conversation_memory.errors import MissingExtraError

try:
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.session import Session
except ImportError as error:
    raise MissingExtraError("import", "botocore") from error


_SERVICE = "es"


def signer(
    region: str | None = None, profile: str | None = None
) -> Callable[[str, str, Mapping[str, str], bytes], Mapping[str, str]]:
    """What signs with the credentials of this place, which are renewed as they expire.

    Raises:
        ValueError: there are no credentials, or no region.
    """
    session = Session(profile=profile)
    credentials, place = session.get_credentials(), region or session.get_config_variable("region")
    if credentials is None or place is None:
        raise ValueError("No AWS credentials or no region is found.")

    def signed(method: str, url: str, headers: Mapping[str, str], body: bytes) -> Mapping[str, str]:
        request = AWSRequest(method, url, headers=dict(headers), data=body)
        SigV4Auth(credentials.get_frozen_credentials(), _SERVICE, place).add_auth(request)
        return dict(request.headers.items())

    return signed

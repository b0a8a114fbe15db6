"""Where an event may send the function, and the user's token with it.

An event names its own endpoint, so a forged one could make the function call whatever it reaches: hence HTTPS only, and
of hosts only AppSync's own and those that the deployment lists (``graphqlHosts``). Loopback, without TLS, is for the
local stage alone: on AWS Lambda's own runtime interface listens there.
"""

import re
from collections.abc import Set
from urllib.parse import SplitResult, urlsplit

from conversations.errors import InvalidRequestError

LOOPBACK = frozenset(("127.0.0.1", "localhost", "::1"))
_FIELD = "graphqlApiEndpoint"
_APPSYNC_HOST = re.compile(r"[a-z0-9-]+\.appsync-api\.[a-z0-9-]+\.amazonaws\.com(?:\.cn)?")
_PATH = re.compile(r"(?:/[A-Za-z0-9_.~-]*)*")
_URL = re.compile(r"[\x21-\x7e]{1,2048}")


def check_endpoint(url: object, trusted_hosts: Set[str]) -> str:
    """The URL, put together anew from the parts that were checked, so that no two parsers read it differently.

    Raises:
        InvalidRequestError: it is no URL, or not one that this deployment calls.
    """
    parts = _parts(url)
    host, port = parts.hostname or "", parts.port
    is_loopback = host in LOOPBACK and host in trusted_hosts
    is_known = host in trusted_hosts - LOOPBACK or _APPSYNC_HOST.fullmatch(host) is not None
    is_secure = parts.scheme == "https" and port in (None, 443)
    if not (is_loopback or (is_known and is_secure)) or not _PATH.fullmatch(parts.path):
        raise InvalidRequestError(f"{_FIELD} is not an API that this deployment may call.", field=_FIELD)
    authority = (f"[{host}]" if ":" in host else host) + (f":{port}" if port else "")
    return f"{parts.scheme}://{authority}{parts.path}"


def _parts(url: object) -> SplitResult:
    if isinstance(url, str) and _URL.fullmatch(url):
        try:
            parts = urlsplit(url)
            is_plain = not (parts.username or parts.password or parts.query or parts.fragment)
            if parts.scheme in ("http", "https") and is_plain and (parts.port is None or parts.port > 0):
                return parts
        except ValueError:  # brackets that do not match, a port that is no number
            pass
    raise InvalidRequestError(f"{_FIELD} must be the URL of a GraphQL API.", field=_FIELD)

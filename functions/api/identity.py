"""Who calls. The gateway has checked the token or the signature; this reads what it found, and trusts nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from api.errors import UnauthorizedError
from conversations.errors import InvalidRequestError
from conversations.reading import EVERYBODY

Auth = Literal["jwt", "none"]
ANONYMOUS = "anonymous"
SERVICE_PREFIX = "/service"
OWNER_HEADER = "x-owner"
_ADMINISTRATORS = "admin"
LONGEST_OWNER_BYTES = 256


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose conversations these are. An administrator may do everything, so no owner narrows what he sees."""

    owner: str
    is_administrator: bool = False

    @property
    def scope(self) -> str | None:
        """The owner that a conversation must have, or ``None`` for any."""
        return None if self.is_administrator else self.owner


def identify(event: Mapping[str, Any], auth: Auth) -> Caller:
    """The caller of a request (an HTTP API event, payload version 2.0).

    Raises:
        UnauthorizedError: there is no identity that can own anything, and the deployment was not made with
            ``auth=none``.
        InvalidRequestError: a service names no owner.
    """
    authorizer = event.get("requestContext", {}).get("authorizer") or {}
    if _is_service(event):
        return _service(event, authorizer)
    if auth == "none":
        return Caller(ANONYMOUS, is_administrator=True)  # security is off: everything is visible
    claims = (authorizer.get("jwt") or {}).get("claims") or {}
    subject = claims.get("sub")
    if not isinstance(subject, str) or not is_owner(subject):
        raise UnauthorizedError("A token is needed, whose subject can own conversations.")
    groups = parse_groups(claims.get("cognito:groups", claims.get("groups", "")))
    return Caller(subject, is_administrator=_ADMINISTRATORS in groups)


def parse_groups(claim: object) -> frozenset[str]:
    """The groups of a token: API Gateway hands a list over as the text ``[a b]``.

    The names of Cognito's groups have no spaces, so there that text is unambiguous; they may have commas, so it is not
    split at those. An issuer whose names have spaces must not let others choose them: ``[x admin]`` may be one name.
    """
    if isinstance(claim, list):
        return frozenset(map(str, claim))
    return frozenset(str(claim).removeprefix("[").removesuffix("]").split())


def is_owner(text: str) -> bool:
    """Whether this can be an owner's name: some bytes without NUL, and not what stands for everybody."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return 1 <= size <= LONGEST_OWNER_BYTES and "\0" not in text and text != EVERYBODY


def without_service(path: str) -> str:
    """A path as it is for users, whoever calls."""
    return path.removeprefix(SERVICE_PREFIX) if _is_for_services(path) else path


def _is_service(event: Mapping[str, Any]) -> bool:
    return _is_for_services(str(event.get("rawPath", "")))


def _is_for_services(path: str) -> bool:
    return path == SERVICE_PREFIX or path.startswith(f"{SERVICE_PREFIX}/")


def _service(event: Mapping[str, Any], authorizer: Mapping[str, Any]) -> Caller:
    """A service of the account, which names the owner for whom it acts."""
    if not authorizer.get("iam"):
        raise UnauthorizedError("Calls under /service are signed with the credentials of an AWS principal.")
    owner = (event.get("headers") or {}).get(OWNER_HEADER, "")
    if not is_owner(owner):
        message = f"The header {OWNER_HEADER} names the owner: 1 to {LONGEST_OWNER_BYTES} bytes, and not {EVERYBODY}."
        raise InvalidRequestError(message, field=OWNER_HEADER)
    return Caller(owner)

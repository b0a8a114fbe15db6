"""GraphQL over HTTP, as AppSync speaks it: one POST a document, in the name of the user whose token the event holds.

What passes is tried again here, within the time that the caller has: the event itself is never given back to Lambda,
which would keep it, and the token in it. The mutations may be repeated: a chunk of an answer carries its place.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from random import SystemRandom
from typing import Any, Literal

from urllib3 import BaseHTTPResponse, PoolManager, Timeout
from urllib3.exceptions import HTTPError

from conversations.clock import NANOSECONDS, Clock
from conversations.tool_use import MOST_AT_ONCE
from turn.appsync.errors import ApiUnavailableError, GraphQLError, TokenRefusedError
from turn.appsync.event import Channel

CONNECT_S = 2.0
READ_S = 10.0
LONGEST_READ_S = 31.0
"""AppSync itself gives up on a request after 30 seconds (AppSync endpoints and quotas)."""
GIVE_UP_AFTER_S = 20.0
LARGEST_ANSWER_BYTES = 16 * 1024 * 1024
_PIECE_BYTES = 64 * 1024
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 4.0
_PASSING = re.compile(
    "Throttl|TooManyRequests|ProvisionedThroughput|RequestLimit|InternalFailure|InternalServer|ServiceUnavailable|Timeout"
)
_TYPE = re.compile(r"[A-Za-z0-9_.: -]{1,80}")
_LARGEST_DETAILS = 2000
_LIBRARY = "conversation-memory"

ResponseType = Literal["streaming", "single", "error"]
_random = SystemRandom()


def new_pool() -> PoolManager:
    """Connections for all invocations of a function. Redirects are not followed: the token is for this host alone."""
    from botocore.httpsession import get_cert_path  # noqa: PLC0415 - only turns of AppSync need it

    return PoolManager(maxsize=MOST_AT_ONCE, retries=False, ca_certs=get_cert_path(True))


class GraphQLClient:
    """Asks the API of one event."""

    def __init__(self, pool: PoolManager, clock: Clock, channel: Channel, *, give_up_at_ns: int) -> None:
        self._pool = pool
        self._clock = clock
        self._channel = channel
        self._give_up_at_ns = give_up_at_ns

    def ask(
        self,
        document: str,
        variables: Mapping[str, Any],
        *,
        response_type: ResponseType | None = None,
        read_s: float = READ_S,
        within_s: float = GIVE_UP_AFTER_S,
        give_up_at_ns: int | None = None,
    ) -> Mapping[str, Any]:
        """The ``data`` of the answer, in ``within_s`` seconds and before ``give_up_at_ns`` (the turn's by default).

        Raises:
            TokenRefusedError: the token is not valid, or no longer.
            GraphQLError: the API refused the request.
            ApiUnavailableError: it did not answer within the time.
        """
        sent = {"query": document, "variables": variables}
        body = json.dumps(sent, ensure_ascii=False, separators=(",", ":")).encode()
        until_ns = self._clock.now_ns() + int(within_s * NANOSECONDS)
        until_ns = min(until_ns, self._give_up_at_ns if give_up_at_ns is None else give_up_at_ns)
        longest_s = _FIRST_PAUSE_S
        while True:
            try:
                return self._ask_once(body, self._headers(response_type), read_s, until_ns)
            except ApiUnavailableError:
                pause_s = _random.uniform(longest_s / 2, longest_s)
                if pause_s >= self._left_s(until_ns):
                    raise
                self._clock.sleep(pause_s)
                longest_s = min(2 * longest_s, _LONGEST_PAUSE_S)

    def _left_s(self, until_ns: int) -> float:
        return max(0.0, (until_ns - self._clock.now_ns()) / NANOSECONDS)

    def _headers(self, response_type: ResponseType | None) -> dict[str, str]:
        given = self._channel.user_agent
        agent = f"{given} md/{_LIBRARY}" if given else f"lib/{_LIBRARY}"
        return {
            "authorization": self._channel.token,
            "content-type": "application/json",
            "x-amz-user-agent": f"{agent} md/turn-response-type#{response_type}" if response_type else agent,
        }

    def _ask_once(self, body: bytes, headers: Mapping[str, str], read_s: float, until_ns: int) -> Mapping[str, Any]:
        left_s = self._left_s(until_ns)
        if left_s <= 0:
            raise _unavailable("no time left")
        try:
            response = self._pool.request(
                "POST",
                self._channel.endpoint,
                body=body,
                headers=headers,
                timeout=Timeout(connect=min(CONNECT_S, left_s), read=min(read_s, left_s)),
                redirect=False,
                preload_content=False,
            )
            return _data(response.status, self._read(response, until_ns))
        except HTTPError as error:
            raise _unavailable(type(error).__name__) from None  # its text names the address

    def _read(self, response: BaseHTTPResponse, until_ns: int) -> bytes:
        """The whole answer, if it is not too large, and does not come in so slowly that the time is over."""
        answer = bytearray()
        try:
            while piece := response.read1(_PIECE_BYTES):
                answer += piece
                if len(answer) > LARGEST_ANSWER_BYTES:
                    raise GraphQLError("The API's answer is too large.", reason="answer too large")
                if self._left_s(until_ns) <= 0:
                    raise _unavailable("slow answer")
        except BaseException:
            response.close()
            raise
        response.release_conn()
        return bytes(answer)


def _data(status: int, answer: bytes) -> Mapping[str, Any]:
    """The data of an answer. ``errors`` that are ``null`` or empty are none."""
    body = _object(answer)
    told = body.get("errors")
    errors = [error for error in told if isinstance(error, dict)] if isinstance(told, list) else []
    types = list(_types(errors))
    reason = ", ".join(dict.fromkeys(types)) or f"status {status}"
    if status == 429 or status >= 500 or any(map(_PASSING.search, types)):
        raise _unavailable(reason)
    if status in (401, 403):
        raise TokenRefusedError("The user's token is not valid, or not any more.", reason=reason)
    data = body.get("data")
    if status // 100 != 2 or told or not isinstance(data, dict):
        raise GraphQLError("The conversation's API refused the request.", reason=reason, details=_details(errors))
    return data


def _object(answer: bytes) -> dict[str, Any]:
    try:
        body = json.loads(answer)
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def _types(errors: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for error in errors:
        kind = error.get("errorType")
        yield kind if isinstance(kind, str) and _TYPE.fullmatch(kind) else "error without a type"


def _details(errors: Sequence[Mapping[str, Any]]) -> str:
    told = (error["message"] for error in errors if isinstance(error.get("message"), str))
    return "; ".join(told)[:_LARGEST_DETAILS]


def _unavailable(reason: str) -> ApiUnavailableError:
    return ApiUnavailableError("The conversation's API could not be reached.", reason=reason)

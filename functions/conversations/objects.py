"""The bulky parts of messages, in S3. A key ends in a random part, so that nobody overwrites another's object."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from secrets import token_urlsafe
from typing import Any, TypeVar

from botocore.exceptions import ClientError, FlexibleChecksumError, IncompleteReadError, ResponseStreamingError

from conversations.aws_errors import reading
from conversations.errors import BusyError

_AT_ONCE = 8
_GONE = ("NoSuchKey", "404")
_BROKEN_OFF = (FlexibleChecksumError, IncompleteReadError, ResponseStreamingError)

Argument = TypeVar("Argument")
Result = TypeVar("Result")


class Objects:
    """A bucket. The object of a message stands under its conversation, so that a whole conversation can be listed."""

    def __init__(self, client: Callable[[], Any], bucket: str) -> None:
        """``client`` gives the client when it is first needed: most requests never need one."""
        self._client = client
        self._bucket = bucket

    def put(self, conversation_id: str, local: str, bulk: bytes) -> str:
        """Write an object and return its key."""
        key = f"{conversation_id}/{local}/{token_urlsafe(9)}"
        with reading():
            self._client().put_object(Bucket=self._bucket, Key=key, Body=bulk)
        return key

    def put_all(self, conversation_id: str, bulks: Sequence[tuple[str, bytes]]) -> list[str]:
        """Write objects, each given with its message's local id; returns their keys."""
        return _at_once(lambda one: self.put(conversation_id, *one), bulks)

    def get(self, keys: Iterable[str]) -> dict[str, bytes]:
        """The objects that exist of those named."""
        keys = list(keys)
        found = _at_once(self._get, keys)
        return {key: bulk for key, bulk in zip(keys, found, strict=True) if bulk is not None}

    def delete(self, keys: Iterable[str]) -> None:
        """Remove objects; those that are gone already count as removed."""
        with reading():
            for key in keys:
                self._client().delete_object(Bucket=self._bucket, Key=key)

    def _get(self, key: str) -> bytes | None:
        with reading():
            try:
                return self._read(key)
            except ClientError as error:
                if error.response["Error"]["Code"] in _GONE:
                    return None
                raise

    def _read(self, key: str) -> bytes:
        """The SDK repeats a call that gets no answer, and not one whose body breaks off or arrives damaged."""
        with suppress(*_BROKEN_OFF):
            return self._body(key)
        try:
            return self._body(key)
        except _BROKEN_OFF as error:
            raise BusyError("The store broke off; try again.") from error

    def _body(self, key: str) -> bytes:
        body: bytes = self._client().get_object(Bucket=self._bucket, Key=key)["Body"].read()
        return body


def _at_once(call: Callable[[Argument], Result], arguments: Sequence[Argument]) -> list[Result]:
    if len(arguments) < 2:
        return [call(argument) for argument in arguments]
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - most requests never need it

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(call, arguments))

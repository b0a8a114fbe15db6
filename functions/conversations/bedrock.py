"""The model on Amazon Bedrock: ConverseStream, its errors in the domain's words, and media as bytes."""

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from threading import Lock
from typing import Any

from botocore.eventstream import ParserError
from botocore.exceptions import ClientError, EventStreamError, HTTPClientError, ParamValidationError
from botocore.exceptions import ConnectionError as AwsConnectionError
from urllib3.exceptions import HTTPError

from conversations.cache_points import with_cache_points
from conversations.content import GUARDED, MEDIA_KINDS, REASONING, TOOL_RESULT
from conversations.errors import InputTooLongError, ModelError, ModelUnavailableError
from conversations.language_model import Event, ModelRequest

_PASSING = frozenset(
    (
        "InternalServerException",
        "ModelNotReadyException",
        "ModelTimeoutException",
        "ServiceUnavailableException",
        "ThrottlingException",
        "TooManyRequestsException",
    )
)
# What the providers' models say, which Bedrock passes on as a ValidationException.
_TOO_LONG = re.compile(
    r"input is too long|prompt is too long|exceeds? (the )?(maximum )?context|maximum context length"
    r"|too many input tokens|input tokens exceeded|number of input tokens|reduce the length|too large for model",
    re.IGNORECASE,
)
_COUNTS = (  # and which group is the prompt's count, the answer's, and the most that there may be
    (re.compile(r"(\d+) \+ (\d+) > (\d+)"), 1, 2, 3),
    (re.compile(r"(\d+) tokens > (\d+) maximum"), 1, 0, 2),
    (re.compile(r"Max input tokens: (\d+), request input token count: (\d+)"), 2, 0, 1),
)
_LARGEST_PART = 0.95
# botocore reads an event stream from urllib3 itself, whose errors it does not make its own there.
_BROKEN = (AwsConnectionError, HTTPClientError, HTTPError, ParserError)
_RESOURCE = re.compile(r"arn:[^\s,;\"')]+")
_FORBIDDEN = frozenset(("AccessDeniedException", "UnrecognizedClientException", "ExpiredTokenException"))


class BedrockModel:
    """Implements ``language_model.Model``.

    ``client_for`` gives the client of a region (``None``: the function's own).
    """

    def __init__(self, client_for: Callable[[str | None], Any]) -> None:
        self._client_for = client_for

    def ask(self, request: ModelRequest) -> "_Answering":
        return _Answering(lambda: self._client_for(request.region), request)


class _Answering:
    """The events of one answer. Implements ``language_model.Stoppable``: one thread reads, another may stop it."""

    def __init__(self, client: Callable[[], Any], request: ModelRequest) -> None:
        self._client = client
        self._request = request
        self._lock = Lock()
        self._stream: Any = None
        self._is_stopped = False

    def __iter__(self) -> Iterator[Event]:
        stream = self._open()
        try:
            for event in () if self._is_stopped else stream:
                yield as_text(event)
        except EventStreamError as error:
            raise _translated(error.response["Error"]) from error
        except _BROKEN as error:
            raise ModelError("The model's answer broke off.") from error
        finally:
            stream.close()

    def stop(self) -> None:
        """Whoever waits for the next event gets the end of the stream at once.

        A request that has no answer at all yet cannot be broken off: its connection is closed when the answer begins.
        """
        with self._lock:
            self._is_stopped = True
            if self._stream is not None:
                _shut(self._stream)

    def _open(self) -> Any:
        try:
            answer = self._client().converse_stream(**_parameters(self._request))
        except ClientError as error:
            raise _translated(error.response["Error"]) from error
        except ParamValidationError as error:
            raise ModelError("The request is not one that the model's API takes.") from error
        except (AwsConnectionError, HTTPClientError) as error:
            raise ModelUnavailableError("The model cannot be reached.") from error
        with self._lock:
            self._stream = answer["stream"]
        return self._stream


def _shut(stream: Any) -> None:
    """End the reading of a stream from outside of the thread that reads it, which closing it does not.

    Botocore keeps the response to itself; without it the reader would wait for the next event.
    """
    response = getattr(stream, "_raw_stream", None)
    if response is not None:
        with suppress(AttributeError, OSError, RuntimeError, ValueError):  # it has ended by itself
            response.shutdown()


def _translated(error: Mapping[str, str]) -> ModelError:
    code = error["Code"][:1].upper() + error["Code"][1:]  # in a stream the code is the name of the event's member
    if code in _PASSING:
        return ModelUnavailableError(f"The model is not available ({code}).")
    if code in _FORBIDDEN:  # its message names roles and accounts
        return ModelError(f"This deployment may not use the model ({code}).")
    message = _RESOURCE.sub("(a resource)", error.get("Message", ""))  # it names the account
    text = f"{code}: {message}".strip(": ")
    return InputTooLongError(text, _fitting_part(text)) if _TOO_LONG.search(text) else ModelError(text)


def _fitting_part(text: str) -> float | None:
    """What part of the prompt would fit, from a refusal that tells how much there is and how much there may be."""
    for expression, sent, answer, most in _COUNTS:
        if found := expression.search(text):
            left = int(found[most]) - (int(found[answer]) if answer else 0)
            return min(_LARGEST_PART, max(0.0, left / max(1, int(found[sent])))) * _LARGEST_PART
    return None


def _parameters(request: ModelRequest) -> dict[str, Any]:
    if request.features.has_cache_points:
        request = with_cache_points(request)
    optional = {
        "system": list(request.system),
        "toolConfig": request.tool_configuration,
        "inferenceConfig": dict(request.inference_configuration),
        "additionalModelRequestFields": dict(request.features.additional_fields),
        "guardrailConfig": request.features.guardrail,
    }
    return {
        "modelId": request.model_id,
        "messages": as_bytes(request.messages),
        **{name: value for name, value in optional.items() if value},
    }


def as_bytes(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Messages whose media, base64 text in what is stored, are the bytes that botocore encodes again.

    What is not shaped as Converse wants it stays as it is, for botocore to refuse.
    """
    return [{**message, "content": _blocks_as_bytes(message["content"])} for message in messages]


def _blocks_as_bytes(blocks: Any) -> Any:
    return [_block_as_bytes(block) for block in blocks] if isinstance(blocks, list) else blocks


def _block_as_bytes(block: Any) -> Any:
    return {kind: _member_as_bytes(kind, value) for kind, value in block.items()} if isinstance(block, dict) else block


def _member_as_bytes(kind: str, value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if kind in MEDIA_KINDS:
        return {**value, "source": _decoded(value.get("source"), "bytes")}
    if kind == TOOL_RESULT:
        return {**value, "content": _blocks_as_bytes(value.get("content"))}
    if kind == GUARDED:
        return _block_as_bytes(value)
    return _decoded(value, "redactedContent") if kind == REASONING else value


def _decoded(value: Any, member: str) -> Any:
    """The value with that member as the bytes that its base64 text stands for."""
    if not isinstance(value, dict) or not isinstance(value.get(member), str):
        return value
    try:
        return {**value, member: b64decode(value[member], validate=True)}
    except ValueError:
        return value


def as_text(value: Any) -> Any:
    """An event of the stream with its bytes as base64 text."""
    if isinstance(value, Mapping):
        return {name: as_text(member) for name, member in value.items()}
    return b64encode(value).decode() if isinstance(value, bytes) else value

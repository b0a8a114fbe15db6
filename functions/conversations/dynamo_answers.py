"""How answers of DynamoDB are read: as the JSON that they are.

botocore walks every attribute of every item by the shapes of its model, which is most of what a page costs, and changes
nothing but base64. Its event ``before-parse`` is there to read an answer otherwise; signing, retries, checksums, errors
and the metadata of the response stay botocore's.
"""

import json
import re
from base64 import b64decode
from typing import Any

_READS = ("Query", "GetItem", "BatchGetItem")
_BINARY, _BINARY_SET = "B", "BS"
_MARK = re.compile(rb'"BS?"')  # within a text the quotes would be escaped; found by ``in``, it takes thrice the time


def read_as_json(client: Any) -> None:
    """Let a client of DynamoDB read its answers so from now on."""
    for operation in _READS:
        client.meta.events.register(f"before-parse.dynamodb.{operation}", _read, unique_id=f"{__name__}.{operation}")


def _read(response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any) -> None:
    """A handler of ``before-parse``: what it puts into ``customized_response_dict`` becomes part of the answer, and
    what it leaves in the body is parsed by the shapes.
    """
    body = response_dict["body"]
    if response_dict["status_code"] >= 300:
        return
    try:
        answer = json.loads(body.decode(), object_hook=_with_bytes if _MARK.search(body) else None)
    except ValueError:  # botocore knows what to say of it
        return
    if isinstance(answer, dict):
        customized_response_dict.update(answer)
        response_dict["body"] = b"{}"


def _with_bytes(found: dict[str, Any]) -> dict[str, Any]:
    """An object of the answer: an attribute's value that is binary holds its bytes instead of their base64.

    An attribute may be called ``B`` itself, but then it has an object for its value.
    """
    binary, binaries = found.get(_BINARY), found.get(_BINARY_SET)
    if isinstance(binary, str):
        found[_BINARY] = b64decode(binary)
    elif isinstance(binaries, list):
        found[_BINARY_SET] = [b64decode(one) for one in binaries]
    return found

"""How large a message may be: as the largest body that is taken, so that every answer of the API can hold it."""

import json

from conversations.codec import to_json
from conversations.errors import TooLargeError

LARGEST_BYTES = 5_000_000


def check_size(*held: object) -> None:
    """Raises ``TooLargeError`` when these parts of a message are too large together, as an escaped JSON string."""
    if len(json.dumps(to_json(held)).encode()) > LARGEST_BYTES:
        raise TooLargeError(f"The message would be larger than {LARGEST_BYTES} bytes as an escaped JSON string.")

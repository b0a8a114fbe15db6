"""Whose token it is. Whether it is true is AppSync's to say, which is asked with it before any tool is called."""

import json
from base64 import urlsafe_b64decode


def subject_of(token: str) -> str | None:
    """The subject of a JSON Web Token, which is what our own API calls the owner; ``None`` if it names none."""
    parts = token.rpartition(" ")[2].split(".")
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, RecursionError):
        return None
    subject = claims.get("sub") if isinstance(claims, dict) else None
    return subject if isinstance(subject, str) and subject else None

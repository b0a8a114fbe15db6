"""What the auditor says of the tables of a test."""

import time
from typing import Any

from audit.auditor import Deployment, audit


def assert_sound(dynamodb: Any, s3: Any, *, messages: str, conversations: str, bodies: str) -> int:
    """Every invariant holds, and nothing is in motion; returns how many items were looked at."""
    done = audit(Deployment(dynamodb, s3, messages, conversations, bodies), time.time_ns())
    assert [str(finding) for finding in done.broken] == []
    assert done.moved == []
    return done.items

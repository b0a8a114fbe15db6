"""What the auditor says of the tables of a test."""

import time
from collections.abc import Collection
from typing import Any

from audit.auditor import Deployment, audit


def assert_sound(
    dynamodb: Any, s3: Any, *, messages: str, conversations: str, bodies: str, but_for: Collection[str] = ()
) -> int:
    """Every invariant holds, and nothing is in motion; returns how many items were looked at.

    ``but_for`` are conversations that others have broken on purpose.
    """
    done = audit(Deployment(dynamodb, s3, messages, conversations, bodies), time.time_ns())
    assert [str(finding) for finding in done.broken if finding.conversation not in but_for] == []
    assert [moved for moved in done.moved if moved not in but_for] == []
    return done.items

"""Items of what repeatable requests come to."""

import json

from conversations import schema
from conversations.clock import NANOSECONDS
from conversations.codec.packing import Item, to_json
from conversations.store import Outcome

OUTCOME_KEPT_S = 35 * 24 * 3600


def outcome_to_item(outcome_id: str, outcome: Outcome, now_ns: int) -> Item:
    """The item of an outcome, which is kept for 35 days."""
    return {
        schema.ID: {"S": outcome_id},
        schema.REQUEST_HASH: {"S": outcome.request_hash},
        schema.REQUEST_OUTCOME: {"S": to_json(dict(outcome.document))},
        schema.EXPIRES_AT: {"N": str(now_ns // NANOSECONDS + OUTCOME_KEPT_S)},
    }


def outcome_from_item(item: Item) -> Outcome:
    """The inverse of ``outcome_to_item``."""
    return Outcome(item[schema.REQUEST_HASH]["S"], json.loads(item[schema.REQUEST_OUTCOME]["S"]))

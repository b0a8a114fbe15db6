"""Items of turns."""

import json

from conversations import ids, schema
from conversations.clock import NANOSECONDS, from_timestamp
from conversations.codec.packing import Item, packed, text_in, to_json, unpacked
from conversations.model import Turn, TurnStatus

LARGEST_PARTIAL_BYTES = 100 * 1024
LARGEST_KEPT_BYTES = 350 * 1024
"""How much of a partial text stays when the turn has failed: an item holds 400 KB with all that it has beside that."""
TURN_KEPT_S = 30 * 24 * 3600


def turn_to_item(turn: Turn) -> Item:
    """The item of a turn, which is kept for 30 days after its last change.

    Of a partial text that no item can hold it has the beginning.
    """
    changed_s = from_timestamp(turn.updated_at) // NANOSECONDS
    item: Item = {
        schema.ID: {"S": ids.turn_id(turn.user_message_id)},
        schema.STATUS: {"S": turn.status},
        schema.ATTEMPT: {"N": str(turn.attempt)},
        schema.LEASE_UNTIL: {"N": str(turn.lease_until_ms)},
        schema.UPDATED_AT: {"S": turn.updated_at},
        schema.EXPIRES_AT: {"N": str(changed_s + TURN_KEPT_S)},
    }
    texts = {schema.ASKED_KEY: turn.asked_key, schema.HOLDER: turn.holder}
    item |= {name: {"S": text} for name, text in texts.items() if text is not None}
    if turn.error is not None:
        item[schema.ERROR] = {"S": to_json(dict(turn.error))}
    return packed(schema.PARTIAL, _beginning(turn.partial_text), beside=item) if turn.partial_text else item


def _beginning(text: str) -> str:
    return text.encode()[:LARGEST_KEPT_BYTES].decode(errors="ignore")


def turn_from_item(item: Item) -> Turn | None:
    """The turn in an item, or ``None`` if the item is something else."""
    if schema.STATUS not in item:
        return None
    status: TurnStatus = item[schema.STATUS]["S"]
    return Turn(
        user_message_id=item[schema.ID]["S"].removesuffix(ids.TURN_SUFFIX),
        status=status,
        updated_at=item[schema.UPDATED_AT]["S"],
        attempt=int(item[schema.ATTEMPT]["N"]),
        lease_until_ms=int(item[schema.LEASE_UNTIL]["N"]),
        partial_text=unpacked(item[schema.PARTIAL]) if schema.PARTIAL in item else "",
        error=json.loads(item[schema.ERROR]["S"]) if schema.ERROR in item else None,
        asked_key=text_in(item, schema.ASKED_KEY),
        holder=text_in(item, schema.HOLDER),
    )

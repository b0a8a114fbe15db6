"""Schemas of how one turn is to be answered."""

from typing import Any

from api.openapi.objects import all_optional
from conversations import turn_options


def _up_to(most: int) -> dict[str, Any]:
    return {"type": ["integer", "null"], "minimum": 1, "maximum": most}


_SHARE = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
TURN_OPTIONS: dict[str, Any] = {
    "window": {
        **all_optional(
            {"maxMessages": _up_to(turn_options.MOST_MESSAGES), "maxTokens": _up_to(turn_options.MOST_TOKENS)},
            "How much of the history the model is sent, at most; the turn in progress is always whole.",
        ),
        "type": ["object", "null"],
    },
    "recall": {
        **all_optional(
            {"maxInteractions": _up_to(turn_options.MOST_INTERACTIONS)},
            "How many of the interactions before the window the model is given again, those that fit the message best.",
        ),
        "type": ["object", "null"],
    },
    "inferenceConfiguration": {
        **all_optional(
            {
                "maxTokens": {"type": ["integer", "null"], "minimum": 1, "maximum": turn_options.MOST_TOKENS},
                "temperature": _SHARE,
                "topP": _SHARE,
                "stopSequences": {
                    "type": ["array", "null"],
                    "items": {"type": "string", "minLength": 1, "maxLength": turn_options.LONGEST_STOP_SEQUENCE},
                    "minItems": 1,
                    "maxItems": turn_options.MOST_STOP_SEQUENCES,
                },
            },
            "As the Converse API wants it; `maxTokens` is cut to what the deployment allows.",
        ),
        "type": ["object", "null"],
    },
}

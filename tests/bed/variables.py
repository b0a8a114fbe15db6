"""The environment with which the tests start the functions themselves; what a deployment sets is in ``infra``."""

from typing import Final

OF_FUNCTIONS: Final = {
    "AUTH": "none",
    "TURN_FUNCTION": "turn",
    "STAGE": "test",
    "MODEL_ID": "model",
    "SYSTEM_PROMPT": "",
    "HISTORY_TOKENS": "100000",
    "MESSAGE_UPDATED_TIME": "true",
    "MAX_OUTPUT_TOKENS": "",
    "GRAPHQL_HOSTS": "",
    "TOOL_ROUNDS": "10",
    "MODEL_FIELDS": "",
    "GUARDRAIL": "",
    "CACHE_POINTS": "",
    "CLEANUP_QUEUE_URL": "http://localhost/queue",
    "POWERTOOLS_METRICS_NAMESPACE": "test",
    "POWERTOOLS_SERVICE_NAME": "test",
}
"""Without the tables and the bucket, which each test has of its own."""

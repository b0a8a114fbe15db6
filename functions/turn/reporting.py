"""What the turn function tells of an answer: metrics, and a line in the log, without any of its text."""

from dataclasses import dataclass

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics, MetricUnit

from conversations.answering import Answered

_METRICS = {"complete": "TurnsCompleted", "failed": "TurnsFailed", "superseded": "TurnsSuperseded"}
_TOKENS = (("inputTokens", "InputTokens"), ("outputTokens", "OutputTokens"))


@dataclass(frozen=True, slots=True)
class Reports:
    """Writes them."""

    logger: Logger
    metrics: Metrics

    def report(self, answered: Answered) -> None:
        """How an attempt ended, and what it took."""
        self.count(answered.outcome)
        if answered.repairs:
            self.metrics.add_metric("FallbackReads", MetricUnit.Count, answered.repairs)
        for name, metric in _TOKENS:
            if name in answered.usage:
                self.metrics.add_metric(metric, MetricUnit.Count, answered.usage[name])
        extra = {"outcome": answered.outcome, "attempt": answered.attempt, "code": answered.error_code}
        self.logger.info("answered", extra=extra)

    def count(self, outcome: str) -> None:
        """A turn that ended so."""
        self.metrics.add_metric(_METRICS[outcome], MetricUnit.Count, 1)

"""What an invocation counts: one line in CloudWatch's embedded metric format, from which CloudWatch makes metrics."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from conversations.clock import Clock, SystemClock

_DIMENSION = "service"


class Metrics:
    """Counts, and writes what was counted to the standard output."""

    def __init__(self, namespace: str, service: str, clock: Clock | None = None) -> None:
        self._namespace = namespace
        self._service = service
        self._clock = clock or SystemClock()
        self.counted: dict[str, int] = {}

    def count(self, name: str, number: int = 1) -> None:
        """So many more of them in this invocation."""
        self.counted[name] = self.counted.get(name, 0) + number

    @contextmanager
    def written(self) -> Iterator[None]:
        """Write what is counted within, also when it ends in an error."""
        try:
            yield
        finally:
            counted, self.counted = self.counted, {}
            if counted:
                sys.stdout.write(json.dumps(self._line(counted), separators=(",", ":")) + "\n")

    def _line(self, counted: dict[str, int]) -> dict[str, object]:
        """The specification of the format: CloudWatch user guide, "Specification: Embedded metric format"."""
        described = {
            "Namespace": self._namespace,
            "Dimensions": [[_DIMENSION]],
            "Metrics": [{"Name": name, "Unit": "Count"} for name in counted],
        }
        about = {"Timestamp": self._clock.now_ns() // 1_000_000, "CloudWatchMetrics": [described]}
        return {"_aws": about, _DIMENSION: self._service, **counted}

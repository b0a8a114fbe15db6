"""Runs inside the fuzzer's own environment: what it need not try."""

from typing import Any

import schemathesis


@schemathesis.hook  # type: ignore[untyped-decorator]
def filter_path_parameters(context: Any, path_parameters: dict[str, Any] | None) -> bool:
    """A line break in a path never gets past the gateway, which answers in its own words."""
    return not any("\n" in str(value) for value in (path_parameters or {}).values())

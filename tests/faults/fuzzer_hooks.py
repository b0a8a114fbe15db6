"""Runs inside the fuzzer's own environment: what it need not try."""

from typing import Any

import schemathesis


@schemathesis.hook  # type: ignore[untyped-decorator]
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """A line break in a path never gets past the gateway, which answers in its own words."""
    for name, value in dict(case.path_parameters or {}).items():
        if isinstance(value, str):
            case.path_parameters[name] = value.replace("\n", " ").replace("%0A", "%20")

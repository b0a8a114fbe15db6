"""A bounded load: some clients at once, each sending the next request when the last was answered."""

import statistics
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import httpx

CLIENTS = 4
SECONDS = 3.0
_TIMEOUT_S = 30
Request = Callable[[httpx.Client], httpx.Response]


@dataclass(frozen=True, slots=True)
class Load:
    """What a load came to: answers per second, and the milliseconds that half and all but a hundredth took at most."""

    rate: float
    p50_ms: float
    p99_ms: float


def run(url: str, requests: Sequence[Request]) -> Load:
    """Load a server with one client for each of these requests.

    Raises:
        httpx.HTTPError: an answer is an error, or none comes.
    """
    everybody = threading.Barrier(len(requests))

    def client(request: Request) -> list[float]:
        with httpx.Client(base_url=url, timeout=_TIMEOUT_S, trust_env=False) as http:
            request(http).raise_for_status()
            everybody.wait(_TIMEOUT_S)
            return _latencies(http, request)

    with ThreadPoolExecutor(len(requests)) as pool:
        latencies = [latency for found in pool.map(client, requests) for latency in found]
    hundredths = statistics.quantiles(latencies, n=100)
    return Load(len(latencies) / SECONDS, hundredths[49] * 1000, hundredths[98] * 1000)


def _latencies(http: httpx.Client, request: Request) -> list[float]:
    """The seconds that each request took, until the time is over."""
    found = []
    until = time.monotonic() + SECONDS
    while (started := time.monotonic()) < until:
        request(http).raise_for_status()
        found.append(time.monotonic() - started)
    return found

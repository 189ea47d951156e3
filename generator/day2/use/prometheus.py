"""Questions to Prometheus' HTTP API."""

import http.client
import json
import time
import urllib.error
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeAlias
from urllib.parse import urlencode
from urllib.request import Request

from generator.errors import UsageError
from generator.model.monitoring import http_port
from generator.upstream.web import opener, whole

SECONDS = 120
"""How long an answer may take: a query over a month reads some 40 000 samples of each series."""
LARGEST = 64 << 20
WORDS = 300
FORWARD = "Prometheus itself is reached by `kubectl port-forward`, without a login"

Ask: TypeAlias = Callable[[str, datetime], dict[str, float]]
"""Returns what an instant query answers at a time: a number for each value of its one label, "" where it has none."""


class PrometheusError(UsageError):
    """Prometheus does not answer, or refuses."""

    exit_code = 1


def asking(url: str) -> Ask:
    """Return what asks the Prometheus at an address. Raises UsageError for what is none."""
    shown = url.rpartition("@")[2]
    if shown != url:
        raise UsageError(f"--prometheus ...@{shown}: gen sends no login; {FORWARD}")
    if http_port(url) is None:
        raise UsageError(f"--prometheus {url}: this is no address; say it as http://127.0.0.1:9090")

    def ask(query: str, at: datetime) -> dict[str, float]:
        return _numbers(_sent(url, query, at))

    return ask


def _sent(url: str, query: str, at: datetime) -> Any:
    asked = urlencode({"query": query, "time": f"{at.timestamp():.0f}", "timeout": f"{SECONDS}s"})
    request = Request(f"{url.rstrip('/')}/api/v1/query?{asked}", headers={"User-Agent": "gen"})  # noqa: S310 - checked
    end = time.monotonic() + SECONDS
    try:
        with opener(None).open(request, timeout=SECONDS) as response:
            return json.loads(whole(response, LARGEST, end))
    except urllib.error.HTTPError as error:
        with error:
            raise PrometheusError(_refused(url, error, end)) from None
    except ValueError:
        raise PrometheusError(f"{url} did not answer in JSON; is it Prometheus, and not Grafana?") from None
    except (OSError, http.client.HTTPException) as error:
        why = getattr(error, "reason", error)
        raise PrometheusError(f"{url} does not answer: {why}; {FORWARD}") from None


def _refused(url: str, error: urllib.error.HTTPError, end: float) -> str:
    if error.code in {401, 403, 407}:
        return f"{url} wants a login ({error.code} {error.reason}), and gen has none for it; {FORWARD}"
    try:
        why = str(json.loads(whole(error, LARGEST, end))["error"])
    except (ValueError, KeyError, TypeError, OSError, http.client.HTTPException):
        return f"{url} answers {error.code} {error.reason}; is it Prometheus' own address?"
    return f"{url} refuses: {why[:WORDS]}"


def _numbers(answer: Any) -> dict[str, float]:
    """Return a vector by its one label. What is no number, as a quantile of nothing, is left out."""
    try:
        found = {_only(one["metric"]): float(one["value"][1]) for one in answer["data"]["result"]}
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        raise PrometheusError("the answer is none of Prometheus' API; is the address that of Prometheus?") from None
    return {name: number for name, number in found.items() if number == number}  # noqa: PLR0124 - not a number


def _only(labels: dict[str, str]) -> str:
    if len(labels) > 1:
        told = ", ".join(sorted(labels))
        raise PrometheusError(f"its series have the labels {told}: ask the cluster's own Prometheus")
    return next(iter(labels.values()), "")

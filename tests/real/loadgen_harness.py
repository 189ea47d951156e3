"""A harness of MLPerf Inference with LoadGen itself, and a system under test that answers after so many seconds: what
the image of a benchmark brings. Tests set `ANSWER_AFTER`, `TOKENS` and `MIN_DURATION`; the rest gen's pods are told.
"""

import contextlib
import os
import queue
import threading
import time
from collections import deque
from importlib import import_module
from typing import Any

loadgen: Any = import_module("mlperf_loadgen")  # mypy's Python has none
AFTER = float(os.environ["ANSWER_AFTER"])
TOKENS = int(os.environ.get("TOKENS", "0"))


def settings() -> Any:
    """Return the model's own settings and the user's load. The duration alone is not by the rules."""
    found, scenario = loadgen.TestSettings(), os.environ["SCENARIO"]
    found.FromConfig(os.environ["USER_CONF"], os.environ["MODEL"], scenario)
    found.scenario = getattr(loadgen.TestScenario, scenario)
    found.mode = loadgen.TestMode.PerformanceOnly
    found.min_duration_ms = int(os.environ["MIN_DURATION"])
    return found


class Answering:
    """Answers each query so many seconds after it came, whatever others wait; with its first token at once. One thread
    does both: LoadGen keeps the order of what a thread says, and takes a last token before the first for an error.
    """

    def __init__(self) -> None:
        self.asked: queue.Queue[list[int]] = queue.Queue()
        self.begun: deque[tuple[float, list[int]]] = deque()
        threading.Thread(target=self.answer, daemon=True).start()

    def issue(self, samples: list[Any]) -> None:
        self.asked.put([one.id for one in samples])

    def answer(self) -> None:
        while True:
            with contextlib.suppress(queue.Empty):
                ids = self.asked.get(timeout=max(0.0, self.begun[0][0] - time.monotonic()) if self.begun else None)
                if TOKENS and os.environ["SCENARIO"] == "Server":
                    loadgen.FirstTokenComplete([loadgen.QuerySampleResponse(one, 0, 0) for one in ids])
                self.begun.append((time.monotonic() + AFTER, ids))
            while self.begun and self.begun[0][0] <= time.monotonic():
                ids = self.begun.popleft()[1]
                loadgen.QuerySamplesComplete([loadgen.QuerySampleResponse(one, 0, 0, TOKENS) for one in ids])


def main() -> None:
    """Run one benchmark, and leave LoadGen's logs where gen looks for them."""
    logs = loadgen.LogSettings()
    logs.log_output.outdir = os.environ["OUTPUT"]
    logs.enable_trace = False
    system = loadgen.ConstructSUT(Answering().issue, lambda: None)
    library = loadgen.ConstructQSL(1024, 1024, lambda _: None, lambda _: None)
    loadgen.StartTestWithLogSettings(system, library, settings(), logs)


if __name__ == "__main__":
    main()

"""What programs of jobs say, as their examples do, and how long tests wait for it."""

import re
import time
from collections.abc import Callable

import pytest

PATIENCE = 240.0
"""Seconds; a framework starts in a few on an idle machine."""


def until(what: str, ready: Callable[[], bool], log: Callable[[], str]) -> None:
    """Wait until something holds; that it does not is told with the end of what was said."""
    deadline = time.monotonic() + PATIENCE
    while not ready():
        if time.monotonic() > deadline:
            pytest.fail(f"{what}: not within {PATIENCE} s\n{log()[-6000:]}")
        time.sleep(0.1)


def saved(said: str) -> list[int]:
    """Return the steps after which a checkpoint was written."""
    return [int(step) for step in re.findall(r"^step (\d+) loss \S+ saved$", said, re.MULTILINE)]


def resumed(said: str) -> list[int]:
    """Return the steps from which two processes went on."""
    return [int(step) for step in re.findall(r"^goes on from step (\d+) with 2 processes$", said, re.MULTILINE)]

"""Clusters that tests share, where their files are, and no skipping in CI."""

import os
import signal
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from typing import TypeVar

import pytest
from reference import load

from generator.model.cluster import Cluster

MEMORY = Path("/dev/shm")
ROOM = 8 << 30
"""Bytes of memory that must be free for tests to keep their files there: all at once they need some 3 GB."""


def files_in_memory() -> None:
    """Have tests keep their files in memory, unless somebody has said where. Thousands of small files come and go in
    them, and ext4 looks past the inodes of all that went in the last half minute for each that comes: on it, tests of
    whole clusters take three times as long.
    """
    if "TMPDIR" in os.environ or not os.access(MEMORY, os.W_OK):
        return
    memory, room = Path("/proc/meminfo").read_text(), os.statvfs(MEMORY)
    free = next(int(line.split()[1]) << 10 for line in memory.splitlines() if line.startswith("MemAvailable:"))
    if min(free, room.f_bavail * room.f_frsize) >= ROOM:
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None


files_in_memory()
# Programs in Go spend a quarter of their time on freeing memory, of which there is enough for the short time they live.
os.environ.setdefault("GOGC", "400")
os.environ.setdefault("GOMEMLIMIT", "2GiB")

# A shell has programs in its background ignore interrupts, and `nohup` hangups: those that they begin ignore them as
# well. Tests send both.
signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)

LEFT_OUT = "LEFT OUT: no time is left for it"
Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


@pytest.fixture(scope="session")
def ml50() -> Cluster:
    return load("ml50")


@pytest.fixture(scope="session")
def a30() -> Cluster:
    return load("a30-bench")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A check that is skipped in CI proves nothing: it counts as failed there."""
    report = yield
    return _judged(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A whole file may be skipped as well, while it is collected."""
    report = yield
    return _judged(report)


def pytest_runtest_setup() -> None:
    """Begin no test after $GEN_TESTS_END, in seconds since the epoch: what CI has no time for is named, not killed."""
    if time.time() > float(os.environ.get("GEN_TESTS_END", "inf")):
        pytest.skip(LEFT_OUT)


def _judged(report: Report) -> Report:
    if report.skipped and os.environ.get("CI") and LEFT_OUT not in str(report.longrepr):
        report.outcome = "failed"
        report.longrepr = f"skipped in CI: {report.longrepr}"
    return report

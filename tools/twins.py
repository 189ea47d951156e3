#!/usr/bin/env python3
"""Run the tests on twins, the longest first, three groups of files at once. What fails is tried once more, by itself:
these tests wait for a dozen programs that share the machine, and a fault fails twice.

Run as `python tools/twins.py [--seconds N] [--beside PID]`. With N, a group is begun only where it should end within so
many seconds from now, with time left to try again what failed, and none runs much longer; the others are named as LEFT
OUT, which is no failure: other commits begin with them. While process PID runs (other tests), only one group does.
Files of one group share their servers.
"""

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
AT_ONCE = 3
BESIDE = 1
"""Groups at once while other tests run."""
AGAIN = 300.0
"""Seconds before the limit that are kept for what fails: tried again it needs a quiet machine, not luck."""
OVERRUN = 180.0
"""Seconds over the limit after which a group is ended: machines differ."""


class Group(NamedTuple):
    """Files that share servers, by their names below `tests/real`, and how long they took together, in seconds. What is
    `late` needs much of a machine at once: it comes when other tests that run beside are near their end. With `only` it
    is those of its tests whose names have this.
    """

    seconds: int
    files: tuple[str, ...]
    late: bool = False
    only: str = ""

    @property
    def name(self) -> str:
        """What it is called in reports."""
        return " ".join((*self.files, *([self.only] if self.only else ())))


GROUPS = (
    Group(2000, ("test_live_disks", "test_live_nodes")),
    Group(1000, ("test_live_backups", "test_live_exports")),
    Group(1000, ("test_live_acceptance", "test_live_care", "test_live_upkeep")),
    Group(600, ("test_live_sync",)),
    Group(530, ("test_rehearse_argocd",)),
    Group(600, ("test_whole",), late=True, only="ml50"),
    Group(330, ("test_whole",), late=True, only="a30-bench"),
    Group(600, ("test_whole",), late=True, only="gpu-serving"),
    Group(420, ("test_whole_lab",), late=True),
    Group(700, ("test_live_drives",)),
    Group(480, ("test_twin", "test_twin_attacks", "test_twin_metrics", "test_twin_without_kueue")),
    Group(690, ("test_twin_frameworks",)),
    Group(420, ("test_live_bootstrap",)),
    Group(520, ("test_fleet_pods",)),
    Group(450, ("test_twin_services", "test_twin_serving", "test_twin_workloads")),
    Group(360, ("test_twin_replacement",)),
    Group(420, ("test_twin_refusals", "test_twin_disks_refused", "test_twin_killed")),
    Group(600, ("test_twin_upgrade",)),
    Group(300, ("test_rehearse",)),
    Group(300, ("test_live_status", "test_live_files")),
    Group(300, ("test_twin_nodes",)),
    Group(300, ("test_simulate",)),
    Group(490, ("test_live_reports",)),
    Group(250, ("test_live_volumes",)),
    Group(240, ("test_argocd", "test_argocd_lua", "test_argocd_metrics")),
    Group(240, ("test_twin_fair",)),
    Group(240, ("test_twin_mig",)),
    Group(240, ("test_twin_a30",)),
    Group(240, ("test_live_bootstrap_argocd",)),
    Group(240, ("test_twin_pipelines",)),
    Group(240, ("test_twin_maintenance",)),
    Group(240, ("test_twin_drivers",)),
    Group(240, ("test_live_benchmarks",)),
    Group(240, ("test_live_zabbix",)),
    Group(180, ("test_twin_turns",)),
    Group(180, ("test_minio_replacement",)),
    Group(160, ("test_rehearse_reference",)),
    Group(150, ("test_live_init",)),
    Group(150, ("test_simulate_operations",)),
    Group(120, ("test_minio_expansion",)),
    Group(120, ("test_images_pulled",)),
    Group(2000, ("test_live_workflows",)),
    Group(370, ("test_twin_gpu_care",)),
    Group(120, ("test_twin_acceptance",)),
    Group(90, ("test_dataset_copies",)),
    Group(60, ("test_volume_name",)),
)
"""The longest first, so that the last ones end together: as they were measured on two cores beside others."""
BEFORE = 4
"""Groups that begin before those that are late."""


class Clock:
    """How much time is left, in seconds; without a limit, ever enough."""

    def __init__(self, seconds: float = float("inf")) -> None:
        self.end = time.monotonic() + seconds

    def left(self) -> float:
        """Return the seconds until the limit; negative after it."""
        return self.end - time.monotonic()


class Outcome(NamedTuple):
    """How a group ended: `code` is that of pytest, None where it was ended at the limit."""

    group: Group
    code: int | None


def in_turn(groups: Sequence[Group], number: int) -> list[Group]:
    """Return the groups as the commit of a number begins with them: what has no time at one has it at another. Of those
    that are late one comes in time, by turns, and the others last.
    """
    soon, late = (_turned([one for one in groups if one.late == is_late], number) for is_late in (False, True))
    return [*soon[:BEFORE], *late[:1], *soon[BEFORE:], *late[1:]]


def _turned(groups: list[Group], number: int) -> list[Group]:
    first = number % max(1, len(groups))
    return [*groups[first:], *groups[:first]]


def commits() -> int:
    """Return how many commits led here; 0 outside Git."""
    command = ["git", "rev-list", "--count", "HEAD"]
    found = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    return int(found.stdout) if found.returncode == 0 else 0


def fitting(groups: list[Group], left: float) -> Group | None:
    """Take the first group off the list that ends in time."""
    found = next((group for group in groups if group.seconds <= left), None)
    if found:
        groups.remove(found)
    return found


def wait_for(pid: int) -> None:
    """Return when the process has ended, which may be another's child."""
    with contextlib.suppress(ProcessLookupError):
        while True:
            os.kill(pid, 0)
            time.sleep(1)


def outcomes(waiting: list[Group], clock: Clock, folder: Path, beside: int | None) -> Iterator[Outcome]:
    """Run the groups that fit, `AT_ONCE` at a time, and yield how they ended; what does not fit stays in the list.
    While process `beside` runs, only `BESIDE` at a time.
    """
    lock = Lock()

    def worker(number: int) -> list[Outcome]:
        if beside is not None and number >= BESIDE:
            wait_for(beside)
        ended: list[Outcome] = []
        while True:
            with lock:
                group = fitting(waiting, clock.left() - AGAIN)
            if group is None:
                return ended
            ended.append(Outcome(group, pytest(group, clock, folder)))

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for future in [pool.submit(worker, number) for number in range(AT_ONCE)]:
            yield from future.result()


def pytest(group: Group, clock: Clock, folder: Path, *more: str) -> int | None:
    """Run a group's tests and print all that they said. Returns pytest's exit code, None where it was ended."""
    mark = f"{group.files[0]}{group.only}"
    command = [sys.executable, "-m", "pytest", "-q", "-m", "twin", "--durations=10", "--durations-min=5"]
    command += ["-o", f"cache_dir={folder / mark}", *more]
    command += [*(f"tests/real/{name}.py" for name in group.files), *(["-k", group.only] if group.only else [])]
    begun = time.monotonic()
    with (folder / f"{mark}.log").open("w+") as log:
        process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT)
        code = _ended(process, clock)
        log.seek(0)
        sys.stdout.write(f"{log.read()}twins: {group.name} took {time.monotonic() - begun:.0f} s\n")
        sys.stdout.flush()
    return code


def _ended(process: "subprocess.Popen[bytes]", clock: Clock) -> int | None:
    """Wait for pytest; past the limit it is interrupted, so that it ends the servers it began."""
    left = clock.left() + OVERRUN
    try:
        return process.wait(None if left == float("inf") else max(left, 1))
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(60)
    process.kill()
    process.wait()
    return None


def failed_again(failed: Sequence[Group], clock: Clock, folder: Path) -> list[Group]:
    """Try what failed once more, a group at a time, and return those that failed again: whole, as some tests judge what
    all others of their file did, or where the time is too short for that, the failed tests alone. Where none is left,
    they have failed.
    """
    alone = ("--last-failed", "--last-failed-no-failures=none")

    def fails(group: Group) -> bool:
        left = clock.left()
        return left < 0 or pytest(group, clock, folder, *(() if group.seconds <= left else alone)) != 0

    return [group for group in sorted(failed) if fails(group)]


def main(seconds: float, beside: int | None = None) -> int:
    """Run what fits; returns the exit code."""
    # A shell has programs in its background ignore interrupts, and those that they begin as well.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    clock, waiting = Clock(seconds), list(GROUPS) if seconds == float("inf") else in_turn(GROUPS, commits())
    with tempfile.TemporaryDirectory(prefix="gen-twins-") as name:
        ended = list(outcomes(waiting, clock, Path(name), beside))
        failed = failed_again([each.group for each in ended if each.code], clock, Path(name))
    for group in [*waiting, *(each.group for each in ended if each.code is None)]:
        sys.stdout.write(f"twins: LEFT OUT, no time is left for it: {group.name}\n")
    for group in failed:
        sys.stdout.write(f"twins: FAILED: {group.name}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=float("inf"), metavar="N")
    parser.add_argument("--beside", type=int, metavar="PID")
    given = parser.parse_args()
    sys.exit(main(given.seconds, given.beside))

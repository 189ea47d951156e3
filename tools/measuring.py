"""What the bench measures with: runs of a program, rows of its table, and repositories to run it in."""
# ruff: noqa: INP001 - lies beside the script

import hashlib
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
SOURCE = (ROOT / "clusters/ml50/cluster.yaml").read_text()
GEN = str(Path(sys.executable).with_name("gen"))
LEEWAY = 1.25
"""How far over a budget fails: moments differ."""
busy = False
"""Whether others compute on this machine: `main` of bench.py may say so. Of several runs then the CPU of the fastest
counts, else the median on the clock.
"""
SETTLED = 2.1
"""Seconds after which `gen render` may trust what it remembers of files (`SETTLED` of repository/unchanged.py)."""


class Sample(NamedTuple):
    """One run: seconds on the clock, seconds of CPU, and the largest process in MiB."""

    wall: float
    cpu: float
    memory: float


class Times(NamedTuple):
    """A budget for a time: so many times what other work took in the same run, since machines differ by half. `fast` is
    what that comes to on a fast machine, where people were promised seconds.
    """

    most: float
    sample: Sample
    work: str
    fast: str = ""

    def __str__(self) -> str:
        return f"≤ {self.most:g} x {self.work}{f' ({self.fast} on a fast machine)' if self.fast else ''}"


class Row(NamedTuple):
    """A line of the table; without a budget it is there to compare with. A time with a budget has a multiple for its
    `value`, and `seconds` beside it; `instead` says why something could not be measured.
    """

    work: str
    value: float = 0
    unit: str = ""
    budget: float | None = None
    said: str = ""
    cpu: float | None = None
    seconds: float | None = None
    instead: str = ""

    @property
    def verdict(self) -> str:
        """`ok`, `over`, or nothing where there is no budget or no measure."""
        return "" if self.budget is None or self.instead else "ok" if self.value <= self.budget else "over"

    @property
    def failed(self) -> bool:
        """Whether the budget is missed by more than the leeway."""
        return bool(self.verdict) and self.budget is not None and self.value > self.budget * LEEWAY

    def __str__(self) -> str:
        measured = self.instead or f"{self.value:.{3 if self.unit == 's' else 1}f} {self.unit}"
        if self.seconds is not None:
            measured = f"{self.seconds:.3f} s, {measured}"
        budget = self.said or ("" if self.budget is None else f"≤ {self.budget:g} {self.unit}")
        cpu = "" if self.cpu is None else f"{self.cpu:.3f} s"
        return f"| {self.work} | {budget} | {measured} | {cpu} | {self.verdict} |"


def timed(work: str, sample: Sample, budget: Times | None = None) -> Row:
    """Return the row for a time."""
    if budget is None:
        return Row(work, sample.wall, "s", cpu=sample.cpu)
    times = sample.wall / budget.sample.wall
    return Row(work, times, "x", budget.most, str(budget), sample.cpu, sample.wall)


def run(
    command: list[str], folder: Path, env: Mapping[str, str] | None = None, *, fine: tuple[int, ...] = (0,)
) -> Sample:
    """Run a program once. Ends the bench with the program's own words when its status is none of the `fine` ones."""
    with tempfile.TemporaryFile() as words:
        begun = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=words, stderr=words)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in fine:
            words.seek(0)
            sys.exit(f"`{' '.join(command)}` ended with status {process.returncode}:\n{words.read().decode()}")
    return Sample(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def median(  # noqa: PLR0913 - how a program is run
    command: list[str],
    folder: Path,
    *,
    runs: int,
    before: Callable[[], object] = lambda: None,
    env: Mapping[str, str] | None = None,
    fine: tuple[int, ...] = (0,),
) -> Sample:
    """Return what counts of several runs after one that warms up; `before` prepares each."""
    samples = []
    for _ in range(runs + 1):
        before()
        samples.append(run(command, folder, env, fine=fine))
    if busy:
        fastest = min(samples[1:], key=lambda sample: sample.cpu)
        return fastest._replace(wall=fastest.cpu)
    return Sample(*map(statistics.median, zip(*samples[1:], strict=True)))


def cluster(number: int) -> str:
    """Return ml50 under another name, in networks of its own but from the same repository."""

    def moved(found: re.Match[str]) -> str:
        second = 112 + 32 * (int(found[1]) // 10 - 1) + number // 50
        return f"10.{second}.{number % 50 * 4 + int(found[2])}."

    text = SOURCE.replace("git.ml50.example.org", "git.example.org").replace("ml50", f"c{number:03}")
    return re.sub(r"\b10\.(10|20|30|40)\.(\d)\.", moved, text)


def grown(nodes: int) -> str:
    """Return ml50 with more CPU nodes, `nodes` in all."""
    last = re.findall(r".*name: cpu-28,.*\n", SOURCE)[0]
    more = [last.replace("cpu-28", f"more-{one}").replace(".0.158", f".2.{one}") for one in range(1, nodes - 49)]
    return SOURCE.replace(last, last + "".join(more))


def repository(folder: Path, files: dict[str, str]) -> Path:
    """Make a repository that holds only these clusters, by name."""
    for name, text in files.items():
        target = folder / "clusters" / name / "cluster.yaml"
        target.parent.mkdir(parents=True)
        target.write_text(text)
    git(folder, "init", "--quiet")
    return folder


def git(folder: Path, *words: str) -> None:
    """Run Git as somebody."""
    somebody = ["-c", "user.name=bench", "-c", "user.email=bench@example.org", "-c", "commit.gpgsign=false"]
    # Git would tidy up by itself, beside what is measured.
    somebody += ["-c", "gc.auto=0", "-c", "maintenance.auto=false"]
    subprocess.run(["git", *somebody, *words], cwd=folder, check=True, stdin=subprocess.DEVNULL)  # noqa: S607 - on PATH


def forget(folder: Path) -> None:
    """Remove all that was rendered."""
    for path in folder.iterdir():
        if path.name not in {".git", "clusters"}:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for part in (*folder.glob("clusters/*/argocd"), *folder.glob("clusters/*/bootstrap")):
        shutil.rmtree(part)


def contents(folder: Path) -> dict[str, str]:
    """Return a digest of each file of a repository and of its permissions, by its name."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    named = {path.relative_to(folder): path for path in files}
    return {str(name): _digest(path) for name, path in named.items() if ".git" not in name.parts}


def _digest(path: Path) -> str:
    return hashlib.sha256(f"{path.stat().st_mode}\0".encode() + path.read_bytes()).hexdigest()


def toggle(file: Path) -> None:
    """Change one line there and back: the quota of a bucket."""
    text = file.read_text()
    here, there = ("quota: 20T", "quota: 21T") if "quota: 20T" in text else ("quota: 21T", "quota: 20T")
    file.write_text(text.replace(here, there))


def settle(place: Path) -> None:
    """Render until gen remembers that nothing differs: of files of this moment it believes nothing."""
    time.sleep(SETTLED)
    run([GEN, "render"], place)


def committed(place: Path) -> Path:
    """Commit all that is there."""
    git(place, "add", "--all")
    git(place, "commit", "--quiet", "--message=all")
    return place


def changed(place: Path, name: str, old: str, new: str) -> Path:
    """Change the file of a cluster, render it, and commit that."""
    file = place / "clusters" / name / "cluster.yaml"
    text = file.read_text()
    if old not in text:
        sys.exit(f"{file}: there is no {old!r} to change")
    file.write_text(text.replace(old, new, 1))
    run([GEN, "render", "--cluster", name], place)
    return committed(place)

#!/usr/bin/env python3
"""Measure the speed budgets and print them as a Markdown table; run by `make bench`.

Each figure is the median of new processes with a warm disk cache, in repositories made in memory where the machine
has /dev/shm. Exit code 1 when a budget is missed by more than a quarter, unless --report-only is given. CPU is what
the process took, less the others that it starts for many clusters: on a busy machine it tells more than the clock.
"""

import argparse
import compileall
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from kustomize import command as kustomize

ROOT = Path(__file__).parent.parent
SOURCE = (ROOT / "clusters/ml50/cluster.yaml").read_text()
GEN = str(Path(sys.executable).with_name("gen"))
LEEWAY = 1.25
"""How far over a budget fails: machines and moments differ."""


class Sample(NamedTuple):
    """One run: seconds on the clock, seconds of CPU, and the largest process in MiB."""

    wall: float
    cpu: float
    memory: float


class Row(NamedTuple):
    """A line of the table; without a budget it is there to compare with."""

    work: str
    value: float
    unit: str
    budget: float | None = None
    cpu: float | None = None

    @property
    def verdict(self) -> str:
        """`ok`, `over`, or nothing where there is no budget."""
        return "" if self.budget is None else "ok" if self.value <= self.budget else "over"

    @property
    def failed(self) -> bool:
        """Whether the budget is missed by more than the leeway."""
        return self.budget is not None and self.value > self.budget * LEEWAY

    def __str__(self) -> str:
        digits = 3 if self.unit == "s" else 1
        budget = "" if self.budget is None else f"≤ {self.budget:g} {self.unit}"
        cpu = "" if self.cpu is None else f"{self.cpu:.3f} s"
        return f"| {self.work} | {budget} | {self.value:.{digits}f} {self.unit} | {cpu} | {self.verdict} |"


def run(command: list[str], folder: Path) -> Sample:
    """Run a program once. Ends the bench with the program's own words when it fails."""
    with tempfile.TemporaryFile() as words:
        begun = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=words, stderr=words)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            words.seek(0)
            sys.exit(f"`{' '.join(command)}` ended with status {process.returncode}:\n{words.read().decode()}")
    return Sample(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def median(command: list[str], folder: Path, *, runs: int, before: Callable[[], object] = lambda: None) -> Sample:
    """Return the medians of several runs after one that warms up; `before` prepares each."""
    samples = []
    for _ in range(runs + 1):
        before()
        samples.append(run(command, folder))
    return Sample(*(statistics.median(column) for column in zip(*samples[1:], strict=True)))


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


def toggle(file: Path) -> None:
    """Change one line there and back: the quota of a bucket."""
    text = file.read_text()
    here, there = ("quota: 20T", "quota: 21T") if "quota: 20T" in text else ("quota: 21T", "quota: 20T")
    file.write_text(text.replace(here, there))


def timed(work: str, sample: Sample, budget: float | None = None) -> Row:
    """Return the row for a time."""
    return Row(work, sample.wall, "s", budget, sample.cpu)


def single(folder: Path, runs: int) -> Iterator[Row]:
    """One cluster of 50 nodes, and what does not depend on a cluster."""
    bare = median([sys.executable, "-c", "pass"], folder, runs=runs)
    yield timed("`python -c pass`", bare)
    yield timed("`gen --help`", median([GEN, "--help"], folder, runs=runs), 0.06)
    completing = ["env", "_GEN_COMPLETE=bash_complete", "COMP_WORDS=gen re", "COMP_CWORD=1", GEN]
    yield timed("completion of a verb", median(completing, folder, runs=runs), 0.06)
    place = repository(folder / "ml50", {"ml50": SOURCE})
    render = [GEN, "render"]
    check = median([GEN, "check"], place, runs=runs)
    yield timed("`gen check` of ml50", check, 0.20)
    first = median(render, place, runs=runs, before=lambda: forget(place))
    yield timed("`gen render` of ml50, first write", first, 0.20)
    yield timed("`gen render`, unchanged", median(render, place, runs=runs), 0.15)
    git(place, "add", "--all")
    git(place, "commit", "--quiet", "--message=rendered")
    file = place / "clusters/ml50/cluster.yaml"
    yield timed("`gen render`, one line changed", median(render, place, runs=runs, before=lambda: toggle(file)), 0.20)
    yield Row("`gen check` beside bare Python", check.wall / bare.wall, "x", 25)
    yield Row("`gen render`, first write, beside bare Python", first.wall / bare.wall, "x", 25)
    yield Row("memory of `gen check`", check.memory, "MiB", 60)
    yield Row("memory of `gen render`", first.memory, "MiB", 60)
    yield from beside(place, runs)


def beside(place: Path, runs: int) -> Iterator[Row]:
    """Kustomize on the same tree; changes the tree: what it would fetch is set aside."""
    if program := kustomize():
        for file in place.rglob("kustomization.yaml"):
            text = re.sub(r"^helmCharts:\n(?:[ -].*\n)+", "", file.read_text(), flags=re.MULTILINE)
            text = re.sub(r"^- https://.*\n", "", text, flags=re.MULTILINE)
            text = re.sub(r"^resources:\n(?!-)", "", text, flags=re.MULTILINE)
            file.write_text(text if re.search(r"^resources:", text, re.MULTILINE) else f"{text}resources: []\n")
        overlays = sorted(path.parent.relative_to(place) for path in place.glob("overlays/ml50/*/kustomization.yaml"))
        (place / "kustomization.yaml").write_text("resources:\n" + "".join(f"- {path}\n" for path in overlays))
        yield timed("`kustomize build` of the same tree, charts set aside", median([*program, "."], place, runs=runs))


def nodes(folder: Path, runs: int) -> Iterator[Row]:
    """Cost against nodes: four times as many may cost four times as much at most."""
    spent = []
    for count in (50, 100, 200):
        place = repository(folder / f"nodes-{count}", {"ml50": grown(count)})
        sample = median([GEN, "render"], place, runs=runs)
        spent.append(sample.cpu)
        yield timed(f"`gen render` of {count} nodes, unchanged", sample)
    yield Row("CPU of 200 nodes beside 50", spent[2] / spent[0], "x", 4)


def vendored(folder: Path, runs: int) -> Iterator[Row]:
    """Charts that are committed: they must cost next to nothing, being compared and not read."""
    small = (ROOT / "clusters/a30-bench/cluster.yaml").read_text()
    for what, files in (("ml50", {"ml50": SOURCE}), ("ml50 and a30-bench", {"ml50": SOURCE, "a30-bench": small})):
        place = repository(folder / f"vendored-{len(files)}", files)
        plain = median([GEN, "render"], place, runs=runs)
        count = bring(place, files)
        run([GEN, "render"], place)
        again = median([GEN, "render"], place, runs=runs)
        if len(files) > 1:
            yield timed(f"`gen render` of {what}, nothing vendored, unchanged", plain)
        yield timed(f"`gen render` of {what}, {count} releases vendored, unchanged", again, 0.15)


def bring(place: Path, names: Iterable[str]) -> int:
    """Put objects of the usual number and size where `gen vendor` would; return the number of releases."""
    from generator.components import compose  # noqa: PLC0415 - the others measure programs only
    from generator.layout.lock import LockFile, lock_file  # noqa: PLC0415
    from generator.layout.upstream import Found, brings, crds, files, folder, kustomized  # noqa: PLC0415
    from generator.repository.cluster_files import load  # noqa: PLC0415
    from generator.upstream.tasks import needed  # noqa: PLC0415

    made = [one.cluster for one in load(place, [*names]) if one.cluster]
    brought = [(cluster, component) for cluster in made for component in filter(brings, compose(cluster))]
    locked = {name: f"sha256:{'0' * 64}" for _, component in brought for name in needed(component)}
    for path, content in lock_file(LockFile(charts=locked)).items():
        (place / path).write_bytes(content)
    for cluster, component in brought:
        home = place / folder(cluster.name, component.name)
        home.mkdir(parents=True)
        sources = {name: locked[name] for name in needed(component)}
        seen = Found(namespaces=("a",), kinds=("b/C",), sources=sources)
        for path, content in files(cluster, component, seen).items():
            (place / path).write_bytes(content)
        listed = [f"configmap-{number}.yaml" for number in range(40)]
        for file in listed:
            (home / file).write_bytes(b"# of a chart\n" * 200)
        base = crds(component.name, component.version)
        (home / "kustomization.yaml").write_bytes(kustomized(listed, base))
        (place / base).mkdir(parents=True, exist_ok=True)
        (place / base / "customresourcedefinition-a.yaml").write_bytes(b"# of a chart\n" * 50_000)
    return sum(len(component.releases) + len(component.manifests) for _, component in brought)


def clusters(folder: Path, runs: int) -> Iterator[Row]:
    """Cost against clusters of 50 nodes."""
    spent = {}
    for count in (50, 100, 200):
        place = repository(folder / f"clusters-{count}", {f"c{one:03}": cluster(one) for one in range(count)})
        budget = 8.0 if count == 200 else None
        first = median([GEN, "render"], place, runs=runs, before=lambda place=place: forget(place))  # type: ignore[misc]
        yield timed(f"`gen render` of {count} clusters, first write", first, budget)
        again = median([GEN, "render"], place, runs=runs)
        spent[count] = again.wall
        yield timed(f"`gen render` of {count} clusters, unchanged", again, budget)
        shutil.rmtree(place)
    yield Row("memory of the largest process", again.memory, "MiB")
    yield Row("time of 200 clusters beside 50", spent[200] / spent[50], "x", 4)


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


def reviews(folder: Path, runs: int) -> Iterator[Row]:
    """Tell what a change of one of ten clusters does; what was built before is remembered."""
    place = repository(folder / "ten", {f"c{one:03}": cluster(one) for one in range(10)})
    run([GEN, "render"], committed(place))
    committed(place)
    diff = [GEN, "diff", "HEAD~1", "HEAD"]
    run([GEN, "node", "add", "cpu-29", "--like", "cpu-28", "--cluster", "c004"], place)
    run([GEN, "render", "--cluster", "c004"], place)
    committed(place)
    yield timed("`gen diff` of 10 clusters, a node more in one", median(diff, place, runs=runs), 0.6)
    changed(place, "c004", 'version: "1.35.3"', 'version: "1.34.6"')
    yield timed("`gen diff` of 10 clusters, another Kubernetes in one", median(diff, place, runs=runs), 2.5)
    shutil.rmtree(place)


def fleet(folder: Path, runs: int) -> Iterator[Row]:
    """Change one of a thousand clusters: what CI runs for it."""
    place = repository(folder / "fleet", {f"c{one:03}": cluster(one) for one in range(1000)})
    run([GEN, "render"], committed(place))
    changed(committed(place), "c500", "borrow: 16", "borrow: 24")
    git(place, "gc", "--quiet")
    yield timed("`git status` of 1000 clusters", median(["git", "status", "--short"], place, runs=runs))
    words = {
        "check --since HEAD~1": "`gen check --since BASE` of them, one changed",
        "render --check --since HEAD~1": "`gen render --check --since BASE`",
        "diff HEAD~1 HEAD": "`gen diff` of both commits",
    }
    samples = [median([GEN, *command.split()], place, runs=runs) for command in words]
    yield from map(timed, words.values(), samples)
    yield Row("the three together", sum(one.wall for one in samples), "s", 1.5, sum(one.cpu for one in samples))
    shutil.rmtree(place)


def main() -> int:
    """Measure, print the table and return the exit code."""
    parser = argparse.ArgumentParser(description="Measure gen's speed budgets.")
    parser.add_argument("--report-only", action="store_true", help="exit 0 whatever was measured")
    parser.add_argument("--runs", type=int, default=7, help="of each command; a third for many clusters")
    options = parser.parse_args()
    compileall.compile_dir(ROOT / "generator", quiet=1)  # an edited module would be compiled anew by each process
    memory = Path("/dev/shm")  # noqa: S108 - a file system in memory, used below a folder of our own
    rows = []
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        sys.stdout.write("| work | budget | median | CPU | |\n|---|---|---|---|---|\n")
        fewer = max(1, options.runs // 3)
        parts = {single: options.runs, vendored: options.runs, nodes: options.runs, reviews: options.runs}
        for part, runs in {**parts, clusters: fewer, fleet: fewer}.items():
            for row in part(Path(folder), runs):
                sys.stdout.write(f"{row}\n")
                sys.stdout.flush()
                rows.append(row)
    return int(any(row.failed for row in rows) and not options.report_only)


if __name__ == "__main__":
    sys.exit(main())

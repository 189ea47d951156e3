#!/usr/bin/env python3
"""Measure the speed budgets and print them as a Markdown table; run by `make bench`.

Each figure is the median of new processes with a warm disk cache, in repositories made in memory where the machine
has /dev/shm, as are the copies that gen makes. Budgets are multiples of other work that is measured in the same run,
since machines differ by half. Exit code 1 when one is missed by more than a quarter, unless --report-only is given. CPU
is what the process took, less the others that it starts for many clusters. With --busy, as in CI, the CPU of the
fastest run counts instead of the median on the clock: others on the machine only add.
"""

import argparse
import compileall
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

import measuring
from bench_rendered import folders, rendered
from kustomize import command as kustomize
from measuring import (
    GEN,
    ROOT,
    SOURCE,
    Row,
    Sample,
    Times,
    changed,
    cluster,
    committed,
    contents,
    forget,
    git,
    grown,
    median,
    repository,
    run,
    settle,
    timed,
    toggle,
)

LIBRARIES = "import click, msgspec, yaml"


class Bases(NamedTuple):
    """What other work is held against: Python that imports gen's three libraries and does nothing, and renders of one
    cluster of 50 nodes.
    """

    libraries: Sample
    first: Sample
    anew: Sample

    def python(self, most: float) -> Times:
        """Return a budget beside Python that has imported the libraries."""
        return Times(most, self.libraries, "Python with its libraries")

    def one(self, most: float, fast: str = "") -> Times:
        """Return a budget beside an unchanged render of one cluster."""
        return Times(most, self.anew, "an unchanged render of one", fast)


Part: TypeAlias = Callable[[Path, int, Bases], Iterator[Row]]


def bases(folder: Path, runs: int) -> Bases:
    """Measure what the budgets are made of."""
    place = repository(folder / "bases", {"ml50": SOURCE})
    first = median([GEN, "render"], place, runs=runs, before=lambda: forget(place))
    libraries = median([sys.executable, "-c", LIBRARIES], place, runs=runs)
    return Bases(libraries, first, median(anew("ml50"), place, runs=runs))


def anew(*names: str) -> list[str]:
    """Return a render that reads everything, whatever gen remembers of the last one: clusters are named."""
    return [GEN, "render", *(word for name in names for word in ("--cluster", name))]


def single(folder: Path, runs: int, base: Bases) -> Iterator[Row]:
    """One cluster of 50 nodes, and what does not depend on a cluster."""
    yield timed("`python -c pass`", median([sys.executable, "-c", "pass"], folder, runs=runs))
    yield timed(f"`python -c '{LIBRARIES}'`", base.libraries)
    yield timed("`gen --help`", median([GEN, "--help"], folder, runs=runs), base.python(0.8))
    completing = ["env", "_GEN_COMPLETE=bash_complete", "COMP_WORDS=gen re", "COMP_CWORD=1", GEN]
    yield timed("completion of a verb", median(completing, folder, runs=runs), base.python(0.8))
    place = repository(folder / "ml50", {"ml50": SOURCE})
    check = median([GEN, "check"], place, runs=runs)
    yield timed("`gen check` of ml50", check, base.python(2.3))
    yield timed("`gen render` of ml50, first write", base.first, base.python(5))
    run([GEN, "render"], place)
    yield timed("`gen render`, unchanged, all read anew", base.anew, base.python(4.4))
    settle(place)
    yield timed("`gen render`, unchanged since the last", median([GEN, "render"], place, runs=runs), base.python(1.3))
    committed(place)
    file = place / "clusters/ml50/cluster.yaml"
    toggle(file)
    edited = median([GEN, "check"], place, runs=runs)
    yield timed("`gen check`, one line changed", edited, base.python(6.5))
    toggle(file)
    line = median([GEN, "render"], place, runs=runs, before=lambda: toggle(file))
    yield timed("`gen render`, one line changed", line, base.python(6.3))
    yield Row("memory of `gen check`", check.memory, "MiB", 30)
    yield Row("memory of `gen render`", base.first.memory, "MiB", 40)
    yield from beside(place, runs, base)


def beside(place: Path, runs: int, base: Bases) -> Iterator[Row]:
    """Kustomize on the same tree; changes the tree: what it would fetch is set aside."""
    if program := kustomize():
        for file in place.rglob("kustomization.yaml"):
            text = re.sub(r"^helmCharts:\n(?:[ -].*\n)+", "", file.read_text(), flags=re.MULTILINE)
            text = re.sub(r"^- https://.*\n", "", text, flags=re.MULTILINE)
            text = re.sub(r"^resources:\n(?!-)", "", text, flags=re.MULTILINE)
            file.write_text(text if re.search(r"^resources:", text, re.MULTILINE) else f"{text}resources: []\n")
        overlays = sorted(path.parent.relative_to(place) for path in place.glob("overlays/ml50/*/kustomization.yaml"))
        (place / "kustomization.yaml").write_text("resources:\n" + "".join(f"- {path}\n" for path in overlays))
        built = median([*program, "."], place, runs=runs)
        yield timed("`kustomize build` of the same tree, charts set aside", built)
        yield timed("`gen render` of ml50, first write", base.first, Times(0.4, built, "that build"))


def nodes(folder: Path, runs: int, _base: Bases) -> Iterator[Row]:
    """Cost against nodes: four times as many may cost four times as much at most."""
    spent = []
    for count in (50, 100, 200):
        place = repository(folder / f"nodes-{count}", {"ml50": grown(count)})
        sample = median(anew("ml50"), place, runs=runs)
        spent.append(sample.cpu)
        yield timed(f"`gen render` of {count} nodes, unchanged", sample)
    yield Row("CPU of 200 nodes beside 50", spent[2] / spent[0], "x", 4)


def vendored(folder: Path, runs: int, _base: Bases) -> Iterator[Row]:
    """Charts that are committed: they must cost next to nothing, being compared and not read."""
    small = (ROOT / "clusters/a30-bench/cluster.yaml").read_text()
    for what, files in (("ml50", {"ml50": SOURCE}), ("ml50 and a30-bench", {"ml50": SOURCE, "a30-bench": small})):
        place = repository(folder / f"vendored-{len(files)}", files)
        plain = median(anew(*files), place, runs=runs)
        count = bring(place, files)
        run([GEN, "render"], place)
        again = median(anew(*files), place, runs=runs)
        yield timed(f"`gen render` of {what}, nothing vendored, unchanged", plain)
        budget = Times(1.25, plain, "that")
        yield timed(f"`gen render` of {what}, {count} releases vendored, unchanged", again, budget)


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
    for owner, component in brought:
        home = place / folder(owner.name, component.name)
        home.mkdir(parents=True)
        sources = {name: locked[name] for name in needed(component)}
        seen = Found(namespaces=("a",), kinds=("b/C",), sources=sources)
        for path, content in files(owner, component, seen).items():
            (place / path).write_bytes(content)
        listed = [f"configmap-{number}.yaml" for number in range(40)]
        for file in listed:
            (home / file).write_bytes(b"# of a chart\n" * 200)
        base = crds(component.name, component.version)
        (home / "kustomization.yaml").write_bytes(kustomized(listed, base))
        (place / base).mkdir(parents=True, exist_ok=True)
        (place / base / "customresourcedefinition-a.yaml").write_bytes(b"# of a chart\n" * 50_000)
    return sum(len(component.releases) + len(component.manifests) for _, component in brought)


def clusters(folder: Path, runs: int, base: Bases) -> Iterator[Row]:
    """Cost against clusters of 50 nodes."""
    spent = {}
    for count in (50, 100, 200):
        place = repository(folder / f"clusters-{count}", {f"c{one:03}": cluster(one) for one in range(count)})
        first = median([GEN, "render"], place, runs=runs, before=lambda place=place: forget(place))  # type: ignore[misc]
        budget = Times(48, base.first, "one cluster") if count == 200 else None
        yield timed(f"`gen render` of {count} clusters, first write", first, budget)
        spent[count] = first.wall
        settle(place)
        again = median([GEN, "render"], place, runs=runs)
        yield timed(f"`gen render` of {count} clusters, unchanged since the last", again)
        shutil.rmtree(place)
    yield Row("memory of the largest process", first.memory, "MiB")
    yield Row("time of 200 clusters beside 50", spent[200] / spent[50], "x", 4)


def reviews(folder: Path, runs: int, base: Bases) -> Iterator[Row]:
    """Tell what a change of one of ten clusters does; what was built before is remembered."""
    place = repository(folder / "ten", {f"c{one:03}": cluster(one) for one in range(10)})
    run([GEN, "render"], committed(place))
    committed(place)
    diff = [GEN, "diff", "HEAD~1", "HEAD"]
    run([GEN, "node", "add", "cpu-29", "--like", "cpu-28", "--cluster", "c004"], place)
    run([GEN, "render", "--cluster", "c004"], place)
    committed(place)
    sample = median(diff, place, runs=runs)
    yield timed("`gen diff` of 10 clusters, a node more in one", sample, base.one(3, "0.6 s"))
    changed(place, "c004", 'version: "1.35.3"', 'version: "1.34.6"')
    sample = median(diff, place, runs=runs)
    yield timed("`gen diff` of 10 clusters, another Kubernetes in one", sample, base.one(3, "0.6 s"))
    shutil.rmtree(place)


def fleet(folder: Path, runs: int, base: Bases) -> Iterator[Row]:
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
    together = Sample(*map(sum, zip(*samples, strict=True)))
    yield timed("the three together", together, base.one(8, "1.8 s"))
    shutil.rmtree(place)


def shards(folder: Path, _runs: int, base: Bases) -> Iterator[Row]:
    """Render a thousand clusters in parts, one after the other, as if each had a machine of this kind. Ends the bench
    where the parts together are not what one run writes.
    """
    place = repository(folder / "shards", {f"c{one:03}": cluster(one) for one in range(1000)})
    one = run([GEN, "render"], place)
    expected = contents(place)
    yield timed("`gen render` of 1000 clusters, first write, undivided", one, base.one(600))
    for of in (1, 2, 4, 8, 16):
        forget(place)
        parts = folder / f"parts-{of}"
        names = [f"{number}/{of}" for number in range(1, of + 1)]
        spent = [run([GEN, "render", "--shard", name, "--to", str(parts)], place) for name in names]
        joined = run([GEN, "render", "--from", str(parts)], place)
        if different := sorted({name for name, _ in contents(place).items() ^ expected.items()}):
            sys.exit(f"{of} parts together are not what one run writes: {', '.join(different[:20])}")
        yield timed(f"the longest of {of} parts of them", max(spent))
        yield timed(f"joining {of} parts", joined)
        shutil.rmtree(parts)
    shutil.rmtree(place)


def checks(folder: Path, runs: int, base: Bases) -> Iterator[Row]:
    """Judge built objects."""
    yield from rendered(folder, runs, base.anew)
    yield from folders(folder, runs)


PARTS: dict[str, tuple[Part, int]] = {
    "single": (single, 1),
    "vendored": (vendored, 1),
    "nodes": (nodes, 1),
    "reviews": (reviews, 1),
    "checks": (checks, 1),
    "clusters": (clusters, 3),
    "fleet": (fleet, 3),
    "shards": (shards, 3),
}
"""What is measured, by name; the second says which part of the runs is enough where each takes long."""


def main() -> int:
    """Measure, print the table and return the exit code."""
    parser = argparse.ArgumentParser(description="Measure gen's speed budgets.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; default: all")
    parser.add_argument("--report-only", action="store_true", help="exit 0 whatever was measured")
    parser.add_argument("--busy", action="store_true", help="others compute here: the CPU of the fastest run counts")
    parser.add_argument("--runs", type=int, default=7, help="of each command; a third for many clusters")
    options = parser.parse_args()
    if unknown := {*options.parts} - {*PARTS}:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    if options.busy and {*(options.parts or PARTS)} & {"clusters", "fleet", "shards"}:
        parser.error("--busy does not count other processes: name parts without clusters, fleet and shards")
    measuring.busy = options.busy
    compileall.compile_dir(ROOT / "generator", quiet=1)  # an edited module would be compiled anew by each process
    memory = Path("/dev/shm")  # noqa: S108 - a file system in memory, used below a folder of our own
    failed = False
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        counts = "fastest" if options.busy else "median"
        sys.stdout.write(f"| work | budget | {counts} | CPU | |\n|---|---|---|---|---|\n")
        folder = Path(name)
        # What gen copies of a repository belongs there, too: a disk takes longer after many files were removed.
        os.environ["TMPDIR"] = name
        base = bases(folder, options.runs)
        for part, share in (PARTS[one] for one in options.parts or PARTS):
            for row in part(folder, max(1, options.runs // share), base):
                sys.stdout.write(f"{row}\n")
                sys.stdout.flush()
                failed |= row.failed
    return int(failed and not options.report_only)


if __name__ == "__main__":
    sys.exit(main())

"""What must hold for every cluster file that went wrong somehow: no traceback, no hang, no fix that goes in circles."""

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from mutations import WRONG, Mutation, mutated, name_of
from validation.build import build

from generator.cli.explain import explanations
from generator.errors import UsageError
from generator.layout.emit import emit
from generator.layout.tree import lay_out
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Severity
from generator.repository.cluster_files import Loaded, examine
from generator.rules.engine import examine as judged
from generator.spec.reader import read
from generator.spec.repair import edited
from tools import need_kustomize

QUICK, MANY, EACH, BUILT = 300, 10_000, 500, 300
SECONDS = 20
"""How long one file may take, of about 0.1 s, on a machine with much else to do."""


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Raise TimeoutError where the block takes longer."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"more than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def examined(mutation: Mutation) -> Loaded:
    """Check a file, show its findings, and lay it out where it has no errors."""
    loaded = examine(mutation.content, "f", mutation.name)
    for finding in loaded.findings:
        assert finding.code in explanations()
        assert finding.message
        shown(loaded, finding)
    if loaded.cluster and not loaded.wrong:
        lay_out(loaded.cluster)
    return loaded


def shown(loaded: Loaded, finding: Finding) -> None:
    for place in filter(None, loaded.document.locate(finding)):
        line = loaded.document.line(place.line)
        # A place may be empty: the end of a file that is cut off, or all of an empty one.
        assert 1 <= place.column <= place.end <= len(line) + 1, (finding, place, line)
    assert not re.search(r"Traceback|msgspec|<class|object at 0x", f"{finding.message} {finding.fix}"), finding


def failures(seeds: range) -> list[str]:
    """Return what went wrong with the files of these numbers."""
    found = []
    for seed in seeds:
        mutation = mutated(seed)
        try:
            with at_most(SECONDS):
                examined(mutation)
        except Exception as error:  # noqa: BLE001 - anything at all is a fault
            found.append(f"{seed} {mutation.way}: {type(error).__name__}: {str(error)[:300]}")
    return found


def test_a_quick_round_of_wrong_files() -> None:
    assert failures(range(QUICK)) == []


@pytest.mark.soak
@pytest.mark.parametrize("first", range(0, MANY, EACH))
def test_ten_thousand_wrong_files(first: int) -> None:
    assert failures(range(first, first + EACH)) == []


# What is accepted is built


@cache
def accepted() -> list[tuple[int, Cluster]]:
    """Return files without errors that were each changed in another way, by their numbers."""
    found: dict[tuple[str, ...], tuple[int, Cluster]] = {}
    for seed in count():
        mutation = mutated(seed, of_bytes=False)
        if mutation.way not in found:
            loaded = examine(mutation.content, "f", mutation.name)
            if loaded.cluster and not loaded.wrong:
                found[mutation.way] = seed, loaded.cluster
        if len(found) == BUILT:
            return [*found.values()]
    raise AssertionError


def errors_when_built(cluster: Cluster, folder: Path) -> list[str]:
    found = [each for each in judged(build(cluster, folder)) if each.severity == Severity.ERROR]
    return [f"{each.code} {each.about}: {each.message}" for each in found]


@pytest.mark.parametrize("file", sorted((WRONG / "valid").glob("*.yaml")), ids=lambda file: file.stem)
def test_a_valid_file_is_built_and_has_no_errors(file: Path, tmp_path: Path) -> None:
    need_kustomize()
    content = file.read_bytes()
    loaded = examine(content, "f", name_of(read(content, file.name).value))
    assert loaded.cluster, loaded.findings
    assert errors_when_built(loaded.cluster, tmp_path / "built") == []


@pytest.mark.soak
@pytest.mark.parametrize("part", range(10))
def test_what_is_accepted_is_built_and_has_no_errors(part: int, tmp_path: Path) -> None:
    need_kustomize()
    found = []
    for seed, cluster in accepted()[part::10]:
        try:
            way = mutated(seed, of_bytes=False).way
            found += [f"{seed} {way}: {each}" for each in errors_when_built(cluster, tmp_path / str(seed))]
        except UsageError as error:
            found.append(f"{seed} {mutated(seed, of_bytes=False).way}: {error}")
    assert found == []


# Fixes that are edits


def converge(value: Any, name: str) -> str:
    """Make the first fix, again and again, until no finding has one; return what is wrong with that, if anything."""
    seen: list[str] = []
    while True:
        text = emit(value)
        loaded = examine(text.encode(), "f", name)
        if not (mendable := [each for each in loaded.findings if each.edits]):
            return ""
        told = f"{mendable[0].code} {mendable[0].message}: {mendable[0].fix}"
        if text in seen or len(seen) > 100:
            return f"in circles: {told}"
        seen.append(text)
        value = edited(loaded.document.value, mendable[0].edits)
        name = str(value["metadata"].get("name", name)) if mendable[0].at == ("metadata", "name") else name


def stuck(seeds: range) -> list[str]:
    found = []
    for seed in seeds:
        mutation = mutated(seed, of_bytes=False)
        try:
            with at_most(10 * SECONDS):
                if why := converge(mutation.value, mutation.name):
                    found.append(f"{seed} {mutation.way}: {why}")
        except Exception as error:  # noqa: BLE001 - anything at all is a fault
            found.append(f"{seed} {mutation.way}: {type(error).__name__}: {str(error)[:300]}")
    return found


def test_fixes_of_some_wrong_files_lead_to_an_end() -> None:
    assert stuck(range(60)) == []


@pytest.mark.soak
@pytest.mark.parametrize("first", range(0, 2000, 200))
def test_fixes_of_many_wrong_files_lead_to_an_end(first: int) -> None:
    assert stuck(range(first, first + 200)) == []

"""For which BASE a twin is kept. That it is then as one that was brought there: tests/real/test_rehearse.py."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from reference import load

from generator.build.objects import Built, Object
from generator.rehearsal import standing
from generator.rehearsal.laid_out import LaidOut
from generator.rehearsal.outcome import Fate, Outcome, Synced, Wave

MANIFEST = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "b"}}
NODE = {"kind": "Node", "metadata": {"name": "n1"}}


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let every program be the same file."""
    file = tmp_path / "program"
    file.write_text("a program")
    monkeypatch.setattr(standing, "program", lambda _name: str(file))
    return file


def base() -> LaidOut:
    built = Built(name="ml50", cluster=None, objects=(Object(MANIFEST, "one", "one.yaml"),))
    return LaidOut(cluster=load("ml50"), built=built, bootstrap=Path(), notes=())


def inputs(old: LaidOut, *nodes: Any) -> list[bytes]:
    return [*standing._inputs(old, [*nodes])]


def applied(manifest: Any, component: str = "one") -> Callable[[LaidOut], LaidOut]:
    objects = (Object(manifest, component, "one.yaml"),)
    return lambda old: structs.replace(old, built=structs.replace(old.built, objects=objects))


OTHERS: dict[str, Callable[[LaidOut], LaidOut]] = {
    "a value": applied(MANIFEST | {"data": {"a": "c"}}),
    "another Application": applied(MANIFEST, "two"),
    "a definition": lambda old: structs.replace(old, built=structs.replace(old.built, definitions=(MANIFEST,))),
    "a team": lambda old: structs.replace(old, cluster=structs.replace(old.cluster, teams=old.cluster.teams[1:])),
}


@pytest.mark.parametrize("other", OTHERS)
def test_what_differs_is_another_twin(other: str, program: Path) -> None:
    assert program.exists()
    assert inputs(base(), NODE) == inputs(base(), NODE)
    assert inputs(OTHERS[other](base()), NODE) != inputs(base(), NODE)


def test_other_nodes_and_other_programs_are_another_twin(program: Path) -> None:
    before = inputs(base(), NODE)
    assert inputs(base(), NODE | {"status": {}}) != before
    os.utime(program, (0, 0))
    assert inputs(base(), NODE) != before


@pytest.mark.parametrize(
    ("fate", "hung", "well"), [(Fate.APPLIED, (), True), (Fate.REFUSED, (), False), (Fate.APPLIED, ("x",), False)]
)
def test_where_anything_hung_or_was_refused_nothing_is_kept(fate: Fate, hung: tuple[str, ...], *, well: bool) -> None:
    """A busy machine may have been the reason, and the next rehearsal would take it for what stands."""
    outcome = Outcome(fate=fate, application="one", wave=1, kind="/ConfigMap", namespace="ours", name="one")
    wave = Wave(number=1, applications=("one",), seconds=1.0, hung=hung)
    made = object.__new__(standing.Standing)
    made.first = Synced((outcome,), (wave,))
    assert made.well is well


def test_what_hung_is_told_where_the_queues_did_not_start() -> None:
    hung = "Application kueue: its sync fails at Deployment kueue-system/a"
    told = standing._why("kueue", Synced((), (Wave(number=2, applications=("kueue",), seconds=1.0, hung=(hung,)),)))
    assert hung in told
    assert "gen vendor" not in told
    assert "gen vendor kueue" in standing._why("kueue", Synced((), ()))


def test_what_somebody_else_installs_has_its_namespace_on_the_twin() -> None:
    """Without it the rights that gen gives there are refused, and nothing that was brought would be kept."""
    ml50 = load("ml50")
    others = ml50.components | {"gpu-operator": structs.replace(ml50.settings("gpu-operator"), managed=False)}
    assert standing._of_others(structs.replace(ml50, components=others)) == {"gpu-operator"}
    assert standing._of_others(ml50) == set()

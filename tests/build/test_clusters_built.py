"""What `gen` renders, built by Kustomize and judged: nothing must be found."""

import json
from pathlib import Path

import pytest
from validation.build import build
from validation.clusters import VARIATIONS, variation
from validation.releases import Judge, releases
from validation.verdicts import JUDGES, UNSEEN_CHARTS, verdicts

from generator.build.objects import ROOT, Built, Object
from generator.model.rule import Rule
from generator.rules.engine import RULES

pytest_plugins = ["validation.fixtures"]


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_nothing_is_wrong(built: Built, rule: Rule[Built]) -> None:
    assert [(one.about, one.message) for one in rule.findings(built)] == []


@pytest.mark.parametrize("judge", JUDGES, ids=lambda judge: judge.__name__)
def test_nothing_is_wrong_with_what_charts_are_told(built: Built, judge: Judge) -> None:
    assert [one for one in judge(built, releases(built)) if one not in UNSEEN_CHARTS] == []


@pytest.mark.parametrize("name", VARIATIONS)
def test_nothing_is_wrong_where_a_cluster_differs(name: str, tmp_path: Path) -> None:
    assert verdicts(build(variation(*VARIATIONS[name]), tmp_path, quickly=True)) == []


def test_gathering_is_the_same_as_building(built: Built, tmp_path: Path) -> None:
    """But for patches, which is why what has some is left out."""
    assert built.cluster
    gathered = build(built.cluster, tmp_path, quickly=True)
    patched = {patch.component for patch in gathered.patches}
    assert (gathered.unseen, gathered.patches) == (built.unseen, built.patches)
    assert canonical(gathered, patched) == canonical(built, patched)


def canonical(built: Built, patched: set[str]) -> list[tuple[str, str, str]]:
    objects: list[Object] = [one for one in built.objects if one.component not in patched]
    return sorted((one.component, one.file, json.dumps(one.manifest, sort_keys=True)) for one in objects)


def test_every_application_has_an_overlay_and_is_built(built: Built) -> None:
    named = {one.name for one in built.of("Application")}
    assert named == {one.component for one in built.objects} | set(built.unseen) | {ROOT}
    assert len(built.objects) > 60


def test_patches_are_for_charts_that_are_not_vendored(built: Built) -> None:
    """They cannot be proven here; where nothing comes from upstream they would never match anything. Benchmarks have a
    template of their own, which each cluster tells their names.
    """
    assert built.patches
    assert {patch.component for patch in built.patches} <= {*built.unseen, "mlperf"}

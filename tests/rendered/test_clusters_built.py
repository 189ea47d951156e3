"""What `gen` renders, built by Kustomize and judged: every verdict must be empty."""

import json
from pathlib import Path

import pytest
from validation.build import ROOT, Built, Object, build
from validation.clusters import VARIATIONS, variation
from validation.judges import JUDGES, Judge

pytest_plugins = ["validation.fixtures"]

# Charts of which nobody has the values here.
UNSEEN_CHARTS = {"csi-nfs: csi-driver-nfs 4.13.4"}


@pytest.mark.parametrize("judge", JUDGES, ids=lambda judge: judge.__name__)
def test_nothing_is_wrong(built: Built, judge: Judge) -> None:
    assert judge(built) == []


@pytest.mark.parametrize("name", VARIATIONS)
def test_nothing_is_wrong_where_a_cluster_differs(name: str, tmp_path: Path) -> None:
    varied = build(variation(*VARIATIONS[name]), tmp_path, quickly=True)
    found = [(judge.__name__, verdict) for judge in JUDGES for verdict in judge(varied)]
    assert [one for one in found if one[1] not in UNSEEN_CHARTS] == []


def test_gathering_is_the_same_as_building(built: Built, tmp_path: Path) -> None:
    """But for patches, which is why what has some is left out."""
    gathered = build(built.cluster, tmp_path, quickly=True)
    patched = {patch.application for patch in gathered.unproven}
    assert gathered.objects.keys() == built.objects.keys()
    for application, objects in gathered.objects.items():
        assert application in patched or canonical(objects) == canonical(built.objects[application])


def canonical(objects: list[Object]) -> list[str]:
    return sorted(json.dumps(one, sort_keys=True) for one in objects)


def test_every_application_has_an_overlay_and_is_built(built: Built) -> None:
    named = {one["metadata"]["name"] for one in built.objects[ROOT] if one["kind"] == "Application"}
    assert named == set(built.objects)
    assert sum(1 for _ in built.all()) > 60


def test_patches_without_an_object_are_for_charts(built: Built) -> None:
    """They cannot be proven here; where nothing comes from upstream they would never match anything."""
    vendored = {component for component, _ in built.charts} | {"argo-cd", "argo-workflows", "snapshot-controller"}
    assert {patch.application for patch in built.unproven} <= vendored

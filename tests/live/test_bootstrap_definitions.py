"""Definitions that a bootstrap brings before Argo CD runs: which, in which order, and when none."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from livecluster import LiveCluster, living
from reference import ROOT

from generator.build.kinds import CRD
from generator.build.objects import Object
from generator.live.bootstrap.definitions import definitions, definitions_step
from generator.live.bootstrap.step import State
from generator.model.cluster import Cluster

Manifest = dict[str, Any]
ROOT_APPLICATION = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "Application",
    "metadata": {"name": "root", "namespace": "argocd"},
}


def definition(plural: str, text: str = "") -> Manifest:
    kind = plural.title()
    versions = [{"name": "v1", "served": True, "storage": True}]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": CRD,
        "metadata": {"name": f"{plural}.example.org", "annotations": {"text": text}},
        "spec": {"group": "example.org", "names": {"plural": plural, "kind": kind}, "versions": versions},
    }


@pytest.fixture
def wanted() -> list[Object]:
    return [Object(definition(name, "of Git"), "x", "") for name in ("one", "two")]


def establish(live: LiveCluster) -> None:
    def react(one: Manifest) -> None:
        if one["kind"] == CRD:
            one["status"] = {"conditions": [{"type": "Established", "status": "True"}]}
            live.served.setdefault("example.org/v1", {})[one["spec"]["names"]["kind"]] = False

    live.reacts.append(react)


def test_what_is_there_is_not_changed(tmp_path: Path, wanted: list[Object]) -> None:
    with living(tmp_path) as (live, running):
        establish(live)
        live.add(definition("one", "another's"))
        step = definitions_step(running, lambda: wanted)
        assert [(item.state, item.what) for item in step.items] == [
            (State.TO_DO, "1 kind that the cluster does not know")
        ]
        assert [*step.act()] == [f"applied {CRD} two.example.org"]
        assert live.get(CRD, "one.example.org")["metadata"]["annotations"] == {"text": "another's"}
        assert live.get(CRD, "two.example.org")["metadata"]["annotations"] == {"text": "of Git"}
        assert not definitions_step(running, lambda: wanted).pending


def test_nothing_is_brought_past_the_waves_once_argo_cd_syncs(tmp_path: Path, wanted: list[Object]) -> None:
    with living(tmp_path, ROOT_APPLICATION) as (live, running):
        step = definitions_step(running, lambda: wanted)
        assert [item.what for item in step.items] == ["Argo CD brings them"]
        assert [*step.act()] == []
        assert live.writes == []


def test_one_that_is_refused_is_left_to_argo_cd_and_stops_nothing(tmp_path: Path, wanted: list[Object]) -> None:
    with living(tmp_path) as (live, running):
        establish(live)
        live.refuses["PATCH .*/one.example.org"] = (422, "Invalid", "spec.versions: it makes no sense")
        first, second = definitions_step(running, lambda: wanted).act()
        assert first.startswith("left to Argo CD: ")
        assert first.endswith("spec.versions: it makes no sense")
        assert second == f"applied {CRD} two.example.org"


def put(root: Path, component: str, name: str) -> None:
    """Have a definition among what a component applies, in the user's corner of it."""
    corner = root / "overlays/a30-bench" / component / "custom"
    (corner / "definition.yaml").write_text(yaml.safe_dump(definition(name)))
    file = corner / "kustomization.yaml"
    file.write_text(yaml.safe_dump({**yaml.load(file.read_text(), yaml.CSafeLoader), "resources": ["definition.yaml"]}))


def test_they_are_those_that_argo_cd_brings_by_itself_wave_by_wave(tmp_path: Path, a30: Cluster) -> None:
    for folder in ("base", "overlays", "clusters", "workflows"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    shutil.copy(ROOT / "gen.lock", tmp_path)
    for component, name in (("tenants", "late"), ("namespaces", "early"), ("queues", "byhand"), ("scratch", "middle")):
        put(tmp_path, component, name)
    file = tmp_path / "clusters/a30-bench/argocd/application-queues.yaml"
    manual = yaml.load(file.read_text(), yaml.CSafeLoader)
    del manual["spec"]["syncPolicy"]["automated"]
    file.write_text(yaml.safe_dump(manual))
    found = [one.name for one in definitions(tmp_path, a30, ["namespaces"])]
    assert [name for name in found if name.endswith("example.org")] == ["middle.example.org", "late.example.org"]

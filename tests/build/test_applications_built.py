"""Building a repository as it stands: what is seen, what is not, and that nothing in it is touched."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from reference import ROOT as REPOSITORY
from reference import load
from validation.build import find

from generator.build.applications import build
from generator.build.objects import ROOT, Built
from generator.errors import UsageError
from generator.layout.tree import lay_out
from generator.model.cluster import Cluster
from generator.rules.engine import RULES, examine, unjudged
from tools import need_kustomize

OVERLAYS = "overlays/a30-bench"
OVERLAY = Path(OVERLAYS, "queues")
CRD = "CustomResourceDefinition"
CUSTOM = OVERLAY / "custom/kustomization.yaml"
COMPONENT = {"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component"}
MINE = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "mine", "namespace": "mlperf"},
    "data": {"a": "b"},
}


@pytest.fixture
def root(tmp_path: Path, a30: Cluster) -> Path:
    """A repository with a small cluster."""
    return written(tmp_path, a30)


def written(root: Path, cluster: Cluster) -> Path:
    need_kustomize()
    tree = lay_out(cluster)
    for path, content in (tree.once | tree.files).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    return root


def put(file: Path, value: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value))


def state(root: Path) -> dict[str, str]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def crd(kind: str = "Widget") -> dict[str, Any]:
    names = {"kind": kind, "plural": f"{kind.lower()}s"}
    schema = {
        "openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {}}}}}
    }
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": CRD,
        "metadata": {"name": f"{kind.lower()}s.example.org"},
        "spec": {"group": "example.org", "scope": "Namespaced", "names": names, "versions": [version]},
    }


def vendor(root: Path, *manifests: dict[str, Any]) -> None:
    """Put what Volcano would bring where `gen vendor` puts it: CRDs into the base, the others into the overlay."""
    folder = root / OVERLAYS / "volcano"
    (base,) = (root / "base/volcano").iterdir()
    crds = [one for one in manifests if one["kind"] == CRD]
    for place, found in ((base / "crds", crds), (folder / "upstream", [one for one in manifests if one not in crds])):
        listed = ["../../../../" + (base / "crds").relative_to(root).as_posix()] if found is not crds else []
        for one in found:
            listed.append(f"{one['kind'].lower()}-x.yaml")
            put(place / listed[-1], one)
        put(place / "kustomization.yaml", {"resources": listed})
    base_from_here = f"../../../{base.relative_to(root).as_posix()}"
    put(folder / "kustomization.yaml", {"resources": [base_from_here, "upstream"], "components": ["custom"]})


def test_the_tree_is_not_touched(root: Path, a30: Cluster) -> None:
    before = state(root)
    build(root, a30)
    assert state(root) == before


def test_every_object_names_the_file_that_it_is_written_in(tmp_path: Path, ml50: Cluster) -> None:
    root = written(tmp_path, ml50)
    built = build(root, ml50)
    for one in built.objects:
        assert f"name: {one.name}\n" in (root / one.file).read_text().replace('"', "")
    assert {one.file.split("/")[0] for one in built.objects} == {"base", "clusters", "overlays", "workflows"}
    assert all("config.kubernetes.io/origin" not in json.dumps(one.manifest) for one in built.objects)
    assert find(built, "Application root").component == ROOT


def test_what_is_not_vendored_is_named(root: Path, a30: Cluster) -> None:
    built = build(root, a30)
    assert {"calico", "argo-cd", "prometheus-crds"} <= set(built.unseen)
    assert not {"queues", "namespaces", ROOT} & set(built.unseen)
    assert any("calico" in text and "not seen" in text for text in unjudged(built))


def test_what_is_vendored_is_seen_and_its_crds_judge(root: Path, a30: Cluster) -> None:
    widget = {"apiVersion": "example.org/v1", "kind": "Widget", "metadata": {"name": "x", "namespace": "mlperf"}}
    vendor(root, crd(), {**widget, "spec": {"b": 1}})
    built = build(root, a30)
    assert "volcano" not in built.unseen
    (definition,) = built.of(CRD)
    assert definition.file == "base/volcano/v1.14.1/crds/customresourcedefinition-x.yaml"
    (found,) = [one for one in RULES["GEN-API-001"].findings(built) if one.about.startswith("Widget")]
    assert found.message == "there is no field spec.b"


def test_a_patch_of_a_crd_counts(root: Path, a30: Cluster) -> None:
    """CRDs are read as they stand, unless something may change them."""
    vendor(root, crd())
    target = {"kind": CRD, "name": "widgets.example.org"}
    patch = '[{"op": "replace", "path": "/spec/scope", "value": "Cluster"}]'
    patches = [{"target": target, "patch": patch}]
    put(root / OVERLAYS / "volcano/custom/kustomization.yaml", {**COMPONENT, "patches": patches})
    (definition,) = build(root, a30).of(CRD)
    assert definition.manifest["spec"]["scope"] == "Cluster"


def test_the_users_corner_is_built(root: Path, a30: Cluster) -> None:
    patch = '[{"op": "replace", "path": "/spec/queueingStrategy", "value": "BestEffortFIFO"}]'
    target = {"kind": "ClusterQueue", "name": "mlperf"}
    put(root / CUSTOM, {**COMPONENT, "resources": ["mine.yaml"], "patches": [{"target": target, "patch": patch}]})
    put(root / OVERLAY / "custom/mine.yaml", MINE)
    built = build(root, a30)
    assert find(built, "ClusterQueue mlperf").manifest["spec"]["queueingStrategy"] == "BestEffortFIFO"
    assert find(built, "ConfigMap mine").file == "overlays/a30-bench/queues/custom/mine.yaml"


def test_a_patch_of_the_user_that_matches_nothing_is_found(root: Path, a30: Cluster) -> None:
    patches = [{"target": {"kind": "ClusterQueue", "name": "mlpref"}, "patch": "[]"}]
    put(root / CUSTOM, {**COMPONENT, "patches": patches})
    (found,) = [one for one in examine(build(root, a30)) if one.code == "GEN-ARGO-006"]
    assert (found.file, found.at) == (str(CUSTOM), ("patches", 0, "target"))


@pytest.mark.parametrize("way", ["patch", "path"])
def test_a_patch_that_takes_an_object_away_is_fine(root: Path, a30: Cluster, way: str) -> None:
    gone = "$patch: delete\napiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: mlperf}\n"
    (root / CUSTOM).parent.joinpath("gone.yaml").write_text(gone)
    patches = [{"target": {"kind": "ClusterQueue", "name": "mlperf"}, way: gone if way == "patch" else "gone.yaml"}]
    put(root / CUSTOM, {**COMPONENT, "patches": patches})
    built = build(root, a30)
    assert not any((one.kind, one.name) == ("ClusterQueue", "mlperf") for one in built.objects)
    assert list(RULES["GEN-ARGO-006"].findings(built)) == []


def test_a_patch_for_what_is_not_vendored_is_set_aside_and_told(root: Path, a30: Cluster) -> None:
    """Kustomize itself refuses a merge patch without its object."""
    patch = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x", "namespace": "calico"}}
    patches = [{"patch": json.dumps(patch)}]
    put(root / OVERLAYS / "calico/custom/kustomization.yaml", {**COMPONENT, "patches": patches})
    built = build(root, a30)
    assert [
        note for note in built.notes if note.startswith("overlays/a30-bench/calico/custom: its patches are not judged")
    ]


def test_remote_resources_are_not_fetched_but_told(root: Path, a30: Cluster) -> None:
    remote = ["https://example.org/x.yaml", "github.com/example/x//deploy?ref=v1", "git@example.org:x.git"]
    put(root / CUSTOM, {**COMPONENT, "resources": remote})
    assert "queues" in build(root, a30).unseen


def test_an_application_from_elsewhere_is_told(root: Path, a30: Cluster) -> None:
    folder = root / "clusters/a30-bench/argocd/custom"
    metadata = {"name": "mine", "namespace": "argocd"}
    put(folder / "mine.yaml", {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": metadata})
    put(folder / "kustomization.yaml", {**COMPONENT, "resources": ["mine.yaml"]})
    assert "what the Application mine holds (clusters/a30-bench/argocd/custom/mine.yaml)" in build(root, a30).notes


def test_what_kustomize_cannot_build_is_one_message(root: Path, a30: Cluster) -> None:
    put(root / CUSTOM, {**COMPONENT, "resources": ["absent.yaml"]})
    with pytest.raises(
        UsageError, match=r"^overlays/a30-bench/queues/kustomization.yaml: Kustomize cannot build it: .*absent\.yaml"
    ) as caught:
        build(root, a30)
    assert "/gen-" not in str(caught.value)


def test_every_folder_that_fails_is_a_fault_and_the_others_are_built(root: Path, a30: Cluster) -> None:
    whole = build(root, a30)
    put(root / CUSTOM, {**COMPONENT, "resources": ["absent.yaml"]})
    (root / OVERLAYS / "namespaces/custom/kustomization.yaml").write_text("{")
    (root / OVERLAYS / "tenants/kustomization.yaml").unlink()
    built = build(root, a30, tolerant=True)
    assert {(one.code, one.file, one.fix) for one in built.findings} == {
        ("GEN-BUILD-001", f"{OVERLAY}/kustomization.yaml", f"mend what is yours in {OVERLAY}/custom/"),
        ("GEN-FILE-001", f"{OVERLAYS}/namespaces/custom/kustomization.yaml", ""),
        (
            "GEN-BUILD-001",
            f"{OVERLAYS}/tenants/kustomization.yaml",
            f"`gen render` writes what is gen's; what is in {OVERLAYS}/tenants/custom/ is yours to mend",
        ),
    }
    assert all("/gen-" not in one.message for one in built.findings)
    gone = {"queues", "namespaces", "tenants"}
    assert {one.full_name for one in built.objects} == {
        one.full_name for one in whole.objects if one.component not in gone
    }


def test_applications_that_cannot_be_built_are_a_fault_and_overlays_are_built(root: Path, a30: Cluster) -> None:
    put(root / "clusters/a30-bench/argocd/custom/kustomization.yaml", {**COMPONENT, "resources": ["absent.yaml"]})
    built = build(root, a30, tolerant=True)
    assert [one.file for one in built.findings] == ["clusters/a30-bench/argocd/kustomization.yaml"]
    assert find(built, "ClusterQueue mlperf").component == "queues"


def test_a_folder_that_no_application_names_is_told_and_not_built(root: Path, a30: Cluster) -> None:
    """A component that goes leaves what is the user's."""
    put(root / OVERLAYS / "left/custom/kustomization.yaml", COMPONENT)
    put(root / OVERLAYS / "whole/kustomization.yaml", {"resources": ["mine.yaml"]})
    put(root / OVERLAYS / "whole/mine.yaml", MINE)
    built = build(root, a30)
    assert [note.split(":")[0] for note in built.notes] == [f"{OVERLAYS}/left", f"{OVERLAYS}/whole"]
    assert not [one for one in built.objects if one.name == "mine"]


def test_kustomizations_that_name_each_other_are_a_fault(root: Path, a30: Cluster) -> None:
    put(root / CUSTOM, {**COMPONENT, "resources": ["../custom", "."]})
    (fault,) = build(root, a30, tolerant=True).findings
    assert fault.code == "GEN-BUILD-001"


def test_a_listed_crd_that_is_gone_or_no_yaml_is_a_fault(root: Path, a30: Cluster) -> None:
    vendor(root, crd())
    (file,) = root.glob("base/volcano/*/crds/customresourcedefinition-x.yaml")
    file.write_text("a: [")
    (fault,) = build(root, a30, tolerant=True).findings
    assert (fault.code, fault.file) == ("GEN-FILE-001", file.relative_to(root).as_posix())
    file.unlink()
    (fault,) = build(root, a30, tolerant=True).findings
    assert (fault.code, fault.fix) == ("GEN-BUILD-001", "gen vendor volcano")


def test_digests_of_images_come_from_the_lock(root: Path, a30: Cluster) -> None:
    assert build(root, a30).digests == {}
    (root / "gen.lock").write_text("images:\n  quay.io/x/y:v1: sha256:00\n")
    assert build(root, a30).digests == {"quay.io/x/y:v1": "sha256:00"}


def test_a_stopped_build_leaves_nothing_behind(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    place = tmp_path_factory.mktemp("stopped")
    slow, temporary = place / "kustomize", place / "tmp"
    slow.write_text(f"#!/bin/sh\ntouch {place}/begun\nexec sleep 2\n")
    slow.chmod(0o755)
    temporary.mkdir()
    env = {**os.environ, "GEN_KUSTOMIZE": str(slow), "TMPDIR": str(temporary), "PYTHONPATH": str(REPOSITORY)}
    put(root / "clusters/a30-bench/cluster.yaml", {})
    (root / "clusters/a30-bench/cluster.yaml").write_bytes(
        (REPOSITORY / "clusters/a30-bench/cluster.yaml").read_bytes()
    )
    command = [sys.executable, "-m", "generator", "check", "--rendered"]
    with subprocess.Popen(command, cwd=root, env=env, stderr=subprocess.PIPE) as started:
        while not (place / "begun").exists() and started.poll() is None:
            sleep(0.05)
        assert list(temporary.iterdir())
        started.terminate()
        started.wait(30)
    assert list(temporary.iterdir()) == []


def test_a_kustomization_that_is_no_yaml_is_one_message(root: Path, a30: Cluster) -> None:
    (root / CUSTOM).write_text("{")
    with pytest.raises(UsageError, match=r"queues/custom/kustomization\.yaml: cannot be read"):
        build(root, a30)


def test_nothing_rendered_is_one_message(tmp_path: Path, a30: Cluster) -> None:
    (tmp_path / "clusters").mkdir()
    with pytest.raises(UsageError, match="gen render"):
        build(tmp_path, a30)


def test_without_kustomize_the_message_says_what_to_do(
    root: Path, a30: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEN_KUSTOMIZE", "no-such-program")
    with pytest.raises(UsageError, match="GEN_KUSTOMIZE: no-such-program is not a program"):
        build(root, a30)
    monkeypatch.delenv("GEN_KUSTOMIZE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(root))
    monkeypatch.setenv("PATH", str(root))
    with pytest.raises(UsageError, match="Kustomize was not found; install"):
        build(root, a30)


def test_what_stands_here_is_what_is_rendered() -> None:
    """The committed reference clusters can be built where they are."""
    need_kustomize()
    built: Built = build(REPOSITORY, load("a30-bench"))
    assert len(built.objects) > 60

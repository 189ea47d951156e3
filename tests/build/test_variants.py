"""A folder with kustomizations below it, read file by file: patches are no objects, variants no duplicates."""

import json
from pathlib import Path
from typing import Any

import pytest
from manifests import built, deployment, line_of, manifest

from generator.build.folder import read_manifests
from generator.build.objects import Built
from generator.rules.engine import examine
from generator.rules.judging import _together

PATCH = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x", "namespace": "tools"}}
NAMED_AS = [
    {"patches": [{"path": "p.yaml"}]},
    {"patchesStrategicMerge": ["p.yaml"]},
    {"patchesJson6902": [{"path": "./p.yaml", "target": {"kind": "Deployment"}}]},
    {"replacements": [{"path": "p.yaml"}]},
    {"transformers": ["p.yaml"]},
    {"configurations": ["p.yaml"]},
    {"configMapGenerator": [{"name": "made", "files": ["key=p.yaml"]}]},
]


def put(file: Path, value: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value))


def project(root: Path, **overlay: Any) -> Path:
    put(root / "base/d.yaml", deployment())
    put(root / "base/kustomization.yaml", {"resources": ["d.yaml"]})
    put(root / "overlays/prod/p.yaml", {**PATCH, "spec": {"replicas": 3}})
    put(root / "overlays/prod/kustomization.yaml", {"resources": ["../../base"], **overlay})
    return root


def twice(built: Built) -> list[str]:
    return [one.file for one in examine(built) if one.code == "GEN-ARGO-001"]


@pytest.mark.parametrize("overlay", NAMED_AS)
def test_a_file_that_a_kustomization_applies_is_no_object(tmp_path: Path, overlay: dict[str, Any]) -> None:
    built = read_manifests(project(tmp_path, **overlay))
    assert [one.file for one in built.objects] == [f"{tmp_path}/base/d.yaml"]
    assert not [one for one in examine(built) if "is missing" in one.message and "overlays" in one.file]
    (note,) = built.notes
    assert note == (
        f"{tmp_path}: what 2 kustomizations below it become, with patches; "
        f"name a folder to have it built: {tmp_path}/overlays/prod"
    )


def test_a_file_that_nobody_names_as_a_patch_is_judged(tmp_path: Path) -> None:
    built = read_manifests(project(tmp_path, patches=[{"path": "other.yaml"}]))
    assert [one.file for one in built.objects] == [f"{tmp_path}/base/d.yaml", f"{tmp_path}/overlays/prod/p.yaml"]
    assert {one.code for one in examine(built) if one.file.endswith("p.yaml")} == {"GEN-API-001"}


def test_a_file_that_is_an_object_somewhere_is_judged(tmp_path: Path) -> None:
    project(tmp_path, patches=[{"path": "p.yaml"}])
    put(tmp_path / "overlays/kustomization.yaml", {"resources": ["prod/p.yaml"]})
    files = [one.file for one in read_manifests(tmp_path).objects]
    assert files == [f"{tmp_path}/base/d.yaml", f"{tmp_path}/overlays/prod/p.yaml"]


def test_variants_are_no_duplicates(tmp_path: Path) -> None:
    same = manifest("ConfigMap")
    for name in ("a", "b"):
        put(tmp_path / name / "c.yaml", same)
        put(tmp_path / name / "kustomization.yaml", {"resources": ["c.yaml"]})
    put(tmp_path / "install.yaml", same)
    put(tmp_path / "ha-install.yaml", same)
    assert twice(read_manifests(tmp_path)) == []


def test_duplicates_within_one_kustomization_or_file_are(tmp_path: Path) -> None:
    same = manifest("ConfigMap")
    for name in ("a", "b"):
        put(tmp_path / name / "c.yaml", same)
        put(tmp_path / name / "kustomization.yaml", {"resources": ["c.yaml", "d.yaml"]})
    put(tmp_path / "a/d.yaml", same)
    (tmp_path / "twice.yaml").write_text(f"{json.dumps(same)}\n---\n{json.dumps(same)}\n")
    assert twice(read_manifests(tmp_path)) == [f"{tmp_path}/a/d.yaml", f"{tmp_path}/twice.yaml"]


def test_files_that_nothing_puts_together_are_alternatives_told_in_one_line(tmp_path: Path) -> None:
    for name in ("a/c.yaml", "d.yaml", "e.yaml"):
        put(tmp_path / name, manifest("ConfigMap"))
    put(tmp_path / "f.yaml", manifest("ConfigMap", name="alone"))
    built = read_manifests(tmp_path)
    assert twice(built) == []
    (note,) = built.notes
    told = f"ConfigMap tools/x in {tmp_path}/a/c.yaml and {tmp_path}/d.yaml"
    assert note == f"{tmp_path}: 1 object is in several files, taken for alternatives: {told}"
    put(tmp_path / "a/kustomization.yaml", {"resources": ["c.yaml"]})
    assert "what 1 kustomization below it become" in read_manifests(tmp_path).notes[0]


def test_what_a_base_lacks_is_not_missed(tmp_path: Path) -> None:
    """`labels` with `includeSelectors` give a Deployment its selector, `images` its tag, a patch a container's port."""
    base = deployment(image="example.org/a")
    base["spec"].pop("selector", None)
    clients = manifest("Service", spec={"selector": {"app": "x"}, "ports": [{"port": 8443, "targetPort": "https"}]})
    put(tmp_path / "base/d.yaml", base)
    put(tmp_path / "base/s.yaml", clients)
    assert {one.code for one in examine(read_manifests(tmp_path))} >= {"GEN-API-001", "GEN-IMG-001", "GEN-SEL-003"}
    put(tmp_path / "base/kustomization.yaml", {"resources": ["d.yaml", "s.yaml"]})
    put(tmp_path / "top/kustomization.yaml", {"resources": ["../base"]})
    assert [one.code for one in examine(read_manifests(tmp_path))] == ["GEN-IMG-001"]
    put(tmp_path / "top/kustomization.yaml", {"images": [{"name": "example.org/a", "newTag": "v1.2.3"}]})
    assert examine(read_manifests(tmp_path)) == []
    base["spec"]["replicas"] = "three"
    put(tmp_path / "base/d.yaml", base)
    assert [one.code for one in examine(read_manifests(tmp_path))] == ["GEN-API-001"]


@pytest.mark.parametrize("name", ["patches/webhook_in_x.yaml", "manager_patch.yaml", "x-patch.yaml"])
def test_what_looks_like_a_patch_beside_a_kustomization_is_no_object(tmp_path: Path, name: str) -> None:
    put(tmp_path / "crd" / name, {**PATCH, "spec": {"replicas": 3}})
    assert {one.code for one in examine(read_manifests(tmp_path))} == {"GEN-API-001"}
    put(tmp_path / "crd/kustomization.yaml", {"resources": []})
    built = read_manifests(tmp_path)
    assert built.objects == ()
    assert (
        f"{tmp_path}: 1 file that looks like a patch, and no kustomization names: {tmp_path}/crd/{name}" in built.notes
    )


def test_a_kustomization_that_cannot_be_read_is_a_fault_and_all_else_is_judged(tmp_path: Path) -> None:
    project(tmp_path)
    (tmp_path / "overlays/prod/kustomization.yaml").write_text("patches: []\npatches: []\n")
    built = read_manifests(tmp_path)
    assert [(one.code, line_of(one)) for one in built.findings] == [("GEN-FILE-001", 2)]
    assert len(built.objects) == 2


def test_two_with_the_beginning_of_a_name_are_two(tmp_path: Path) -> None:
    made = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "x-", "namespace": "tools"}}
    for name in ("a.yaml", "b.yaml"):
        put(tmp_path / name, made)
    folder = read_manifests(tmp_path)
    assert (folder.notes, [one.identity for one in folder.objects]) == ((), [None, None])
    # Nor is either of them one that the cluster around them has.
    own = _together(folder, built(made)).objects[1:]
    assert [one.variant for one in own] == [str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml")]

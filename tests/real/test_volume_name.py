"""How a claim's name is kept after a restore: the commands of `docs/operations.md`, with the real kubectl and the real
controller of volumes. With volumes that hold something they are run in `test_live_volumes.py`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from documented import as_administrator, blocks

from generator.rehearsal.twin.plane import ADMIN

if TYPE_CHECKING:
    from twin.plane import Plane

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin

Object = dict[str, Any]
CLAIMS = "/api/v1/namespaces/vision/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
SIZE = {"requests": {"storage": "1Gi"}}
BOTH = {"home": "old", "home-of-friday": "new"}
NO_RIGHT = """#!/bin/sh
case "$*" in "patch pv "*) echo 'persistentvolumes is forbidden' >&2; exit 1 ;; esac
PATH=${PATH#*:} exec kubectl "$@"
"""
"""The kubectl of who may change claims, and no volumes."""
NO_ANSWER = """#!/bin/sh
case "$*" in *"pvc home --output json") echo 'no answer: is forbidden' >&2; exit 1 ;; esac
PATH=${PATH#*:} exec kubectl "$@"
"""
"""That of who gets no answer when the claim is written down."""


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Plane"]:
    from twin.plane import plane

    with plane(tmp_path_factory.mktemp("plane"), simulated=False) as api:
        api.namespace("vision")
        api.install("volsync/v0.16.0/crds")
        yield api


def claim(plane: "Plane", name: str) -> Object:
    """Return a claim; an empty one where there is none."""
    return dict(plane.get(f"{CLAIMS}/{name}") or {})


def bound(plane: "Plane", name: str) -> bool:
    return bool(claim(plane, name).get("status", {}).get("phase") == "Bound")


def restored(plane: "Plane") -> str:
    """Have a claim, and one that was restored beside it; returns the way of the Job that compared it."""
    for name, volume in BOTH.items():
        spec: Object = {"accessModes": ["ReadWriteOnce"], "storageClassName": "rbd-nvme"}
        disk: Object = {"capacity": SIZE["requests"], "csi": {"driver": "played.example.org", "volumeHandle": volume}}
        keep = {"persistentVolumeReclaimPolicy": "Delete"}
        one = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": volume}}
        plane.apply({**one, "spec": spec | disk | keep})
        one = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
        metadata = {"name": name, "namespace": "vision", "labels": {"team": "vision"}}
        plane.apply({**one, "metadata": metadata, "spec": {**spec, "volumeName": volume, "resources": SIZE}})
    plane.wait("both are bound", lambda: all(bound(plane, name) for name in BOTH))
    job = f"compare-{claim(plane, 'home-of-friday')['metadata']['uid']}"
    pod = {"restartPolicy": "Never", "containers": [{"name": "compare", "image": "registry.example.org/any:1"}]}
    metadata = {"name": job, "namespace": "vision"}
    compares = {"suspend": True, "template": {"spec": pod}}
    plane.apply({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": compares})
    metadata = {"name": "home-of-friday", "namespace": "vision"}
    destination = {"apiVersion": "volsync.backube/v1alpha1", "kind": "ReplicationDestination", "metadata": metadata}
    plane.apply({**destination, "spec": {"trigger": {"manual": "once"}}})
    return f"/apis/batch/v1/namespaces/vision/jobs/{job}"


def script() -> str:
    (found,) = [one for one in blocks("operations.md", "sh") if "home-of-friday" in one and "claimRef" in one]
    return found


def test_nothing_is_deleted_where_a_volume_cannot_be_kept_and_the_claim_is_made_again_where_both_are(
    plane: "Plane", tmp_path: Path
) -> None:
    job, config = restored(plane), plane.address.kubeconfig(ADMIN)
    before = {name: claim(plane, name)["metadata"]["uid"] for name in BOTH}
    (tmp_path / "bin").mkdir()
    for kubectl in (NO_RIGHT, NO_ANSWER):
        (tmp_path / "bin/kubectl").write_text(kubectl)
        (tmp_path / "bin/kubectl").chmod(0o755)
        done = as_administrator(script(), config, tmp_path, tmp_path / "bin")
        assert (done.returncode, "is forbidden" in done.stderr) == (1, True), done.stdout + done.stderr
        assert {name: claim(plane, name)["metadata"]["uid"] for name in BOTH} == before
        assert plane.get(job)
    done = as_administrator(script(), config, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("the former volume: old\n")
    plane.wait("it is bound", lambda: bound(plane, "home"))
    made = claim(plane, "home")
    assert (made["spec"]["volumeName"], made["metadata"]["labels"]) == ("new", {"team": "vision"})
    found = {one["metadata"]["name"]: (one["status"]["phase"], one["spec"]) for one in plane.items(VOLUMES)}
    kept = {name: (phase, spec["persistentVolumeReclaimPolicy"]) for name, (phase, spec) in found.items()}
    assert kept == {"old": ("Released", "Retain"), "new": ("Bound", "Delete")}
    assert (claim(plane, "home-of-friday"), plane.get(job)) == ({}, None)

"""CRDs of the versions that a cluster uses, from `../shared/upstream`, and from what `tools/sources.py` fetches."""

import os
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from reference import load

from generator.build.manifests import documents
from generator.build.objects import Built, Object
from generator.components import CATALOGUE, compose
from generator.components.component import Manifest
from generator.model.cluster import Cluster
from generator.model.rule import rules
from generator.rules import schemas

UPSTREAM = Path(__file__).parents[3] / "shared" / "upstream"
SOURCES = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gen" / "sources"
BESIDE = {"cilium": ("gateway-api-v1.6.1",), "envoy-gateway": ("envoy-gateway-v1.9.0", "gateway-api-v1.6.1")}
"""Definitions that a component's manifests bring, of another project, by what `tools/sources.py` calls them."""


def shared(path: str) -> Path:
    """Return a place below `../shared/upstream`; skips the test where that is absent."""
    if not UPSTREAM.exists():
        pytest.skip("../shared is absent")
    return UPSTREAM / path


def folders(cluster: Cluster) -> list[str]:
    """Return what the cluster's versions were checked against, as folders below `../shared/upstream`; what somebody
    else installs included.
    """
    ours = {component.name for component in compose(cluster)}
    others = {name for name, settings in cluster.components.items() if not settings.managed}
    names = sorted((ours | others) & CATALOGUE.keys())
    beside = [source for name in names for source in BESIDE.get(name, ())]
    return list(dict.fromkeys([folder for name in names for folder in schemas_of(name, cluster)] + beside))


def schemas_of(name: str, cluster: Cluster) -> tuple[str, ...]:
    """Return the folders that a component's version was checked against."""
    versions = CATALOGUE[name].versions
    return versions.of(cluster).schemas if versions else ()


def refused(manifest: Manifest, folders: Iterable[str], *, status: bool = False) -> list[str]:
    """Return what the schemas of Kubernetes 1.35, and those of the CRDs in these folders, have against an object: with
    `status` also against that, which the API server drops from what somebody applies.
    """
    group, kind = manifest["apiVersion"].rpartition("/")[0], manifest["kind"]
    found = {path for folder in folders for key, path in contents(folder).items() if key == (group, kind)}
    crds = tuple(crd for path in sorted(found) for crd in read(path))
    if status:
        crds = tuple(map(with_status, crds))
    one = Built(name="x", cluster=load("ml50"), objects=(Object(manifest, "x", "x.yaml"),), definitions=crds)
    return [problem.message for rule in rules([schemas]).values() for problem in rule.findings(one)]


PINNED = (
    "argo-workflows/v4.0.2", "ceph-csi-operator/v1.0.4", "cert-manager/v1.21.1", "external-snapshotter/v8.6.0",
    "prometheus-operator/v0.93.1", "rook/v1.20.6",
)  # fmt: skip
"""What most components' own objects are of."""


def problems(manifest: Manifest) -> list[str]:
    """Return what the API server would refuse of an object, of built-in kinds and of those that are pinned here."""
    return refused(manifest, PINNED)


def with_status(crd: Manifest) -> Manifest:
    """Return a CRD whose status is a part of the object like any other."""
    versions = [{key: value for key, value in one.items() if key != "subresources"} for one in crd["spec"]["versions"]]
    return {**crd, "spec": {**crd["spec"], "versions": versions}}


def definitions(built: Built) -> tuple[Manifest, ...]:
    """Return the CRDs of the kinds that are built."""
    assert built.cluster
    wanted = {(str(one.manifest["apiVersion"]).rpartition("/")[0], one.kind) for one in built.objects}
    paths = {path for folder in folders(built.cluster) for key, path in contents(folder).items() if key in wanted}
    found = [crd for path in sorted(paths) for crd in read(path)]
    return tuple(crd for crd in found if (crd["spec"]["group"], crd["spec"]["names"]["kind"]) in wanted)


@cache
def contents(folder: str) -> dict[tuple[str, str], Path]:
    """Return where each kind is defined. Files are searched as text: to read one as YAML may take half a second."""
    return {
        (group, kind): path
        for path in sorted(crd_files(folder), reverse=True)
        for group, kind in DEFINES.findall(path.read_text())
    }


def crd_files(folder: str) -> Iterable[Path]:
    """Return the files with CRDs; skips the test where what was fetched is absent."""
    if all(folder not in one for one in BESIDE.values()):
        return shared(folder).glob("crds*/*.yaml")
    if not (SOURCES / folder).exists():
        pytest.skip(f"{folder} is absent: run `python tools/sources.py`")
    return (SOURCES / folder).glob("*.yaml")


DEFINES = re.compile(r"^  group: (\S+)$(?s:.*?)^    kind: (\S+)$", re.MULTILINE)


def schema(folder: str, group: str, kind: str) -> Any:
    """Return the schema of a kind that has one version."""
    (crd,) = (one for one in read(contents(folder)[group, kind]) if one["spec"]["names"]["kind"] == kind)
    (version,) = crd["spec"]["versions"]
    return version["schema"]["openAPIV3Schema"]


def states(folder: str, group: str, kind: str) -> list[str]:
    """Return the values that `status.state` of a kind may have."""
    return list(schema(folder, group, kind)["properties"]["status"]["properties"]["state"]["enum"])


@cache
def read(path: Path) -> list[Manifest]:
    """Return the CRDs of a file."""
    return documents(path.read_bytes())

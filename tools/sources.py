#!/usr/bin/env python3
"""Fetch what upstream keeps in Go modules, charts and manifests, once, and print the folder that holds it.

Run as `python tools/sources.py [NAME ...]`. Each lies in the cache ($XDG_CACHE_HOME or ~/.cache, then gen/sources) as
NAME-VERSION. Nothing is built: the module's archive is all there is to fetch, some seconds each. Tests serve these
files as their publishers would, since charts cannot be had everywhere that Go modules can.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from real import BIN, _copy, _go, _run

SOURCES_FOLDER = BIN.parent / "sources"


class Source(NamedTuple):
    """A folder of a Go module. `version` is the module's; a chart in it may say another, or none at all."""

    name: str
    module: str
    version: str
    path: str

    @property
    def target(self) -> Path:
        """Where this version is kept."""
        return SOURCES_FOLDER / f"{self.name}-{self.version}"


SNAPSHOTTER = "github.com/kubernetes-csi/external-snapshotter"
MONITORING = "github.com/prometheus-operator/prometheus-operator"
SOURCES = (
    Source("argo-workflows", "github.com/argoproj/argo-workflows/v4", "v4.0.2", "manifests"),
    Source("cert-manager", "github.com/cert-manager/cert-manager", "v1.21.1", "deploy/charts/cert-manager"),
    Source("cilium", "github.com/cilium/cilium", "v1.20.0", "install/kubernetes/cilium"),
    Source(
        "envoy-gateway",
        "github.com/envoyproxy/gateway",
        "v1.9.0",
        "charts/gateway-helm/charts/crds/crds/generated",
    ),
    Source("gateway-api", "sigs.k8s.io/gateway-api", "v1.6.1", "config/crd/standard"),
    Source("jobset", "sigs.k8s.io/jobset", "v0.12.0", "charts/jobset"),
    Source("kuberay", "github.com/ray-project/kuberay/ray-operator", "v1.6.2", "config"),
    Source("metrics-server", "sigs.k8s.io/metrics-server", "v0.9.0", "charts/metrics-server"),
    Source("mpi-operator", "github.com/kubeflow/mpi-operator", "v0.8.2", "deploy/v2beta1"),
    Source(
        "node-feature-discovery",
        "sigs.k8s.io/node-feature-discovery",
        "v0.19.0",
        "deployment/helm/node-feature-discovery",
    ),
    Source("prometheus-crds", MONITORING, "v0.93.1", "example/prometheus-operator-crd"),
    Source(
        "provisioning-requests",
        "k8s.io/autoscaler/cluster-autoscaler/apis",
        "v0.0.0-20240830133931-adfbe7e45277",
        "config/crd",
    ),
    Source("rook", "github.com/rook/rook", "v1.20.6", "deploy/charts"),
    Source("snapshot-controller", f"{SNAPSHOTTER}/v8", "v8.6.0", "deploy/kubernetes/snapshot-controller"),
    Source("snapshot-crds", f"{SNAPSHOTTER}/client/v8", "v8.6.0", "config/crd"),
    Source("training-operator", "github.com/kubeflow/training-operator", "v1.9.4", "manifests/base"),
    Source("trainer", "github.com/kubeflow/trainer/v2", "v2.2.1", "charts/kubeflow-trainer"),
)
"""Argo Workflows' 4.0.15, which is the catalogue's, is not served as a module; 4.0.2 is. The module of metrics-server
0.9.0 has the chart 3.13.1 of 0.8.1, whose own module is not served. Neither is that of KubeRay 1.7.0, and no module of
KubeRay's has its chart. Of the autoscaler's kinds this is the one that Kueue builds with.
"""


def fetch(source: Source, go: str) -> None:
    """Put one source into the cache, whole or not at all. Raises CalledProcessError when Go fails."""
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=SOURCES_FOLDER) as name:
        work = Path(name)
        found = json.loads(_run([go, "mod", "download", "-json", f"{source.module}@{source.version}"], work))
        _copy(Path(found["Dir"]) / source.path, work / "source")
        try:
            (work / "source").rename(source.target)
        except OSError:
            if not source.target.exists():  # another run was quicker
                raise


def main(names: list[str]) -> None:
    """Fetch what is missing, or of those that are named."""
    unknown = set(names) - {source.name for source in SOURCES}
    if unknown:
        sys.exit(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(one.name for one in SOURCES)}")
    SOURCES_FOLDER.mkdir(parents=True, exist_ok=True)
    todo = [one for one in SOURCES if (not names or one.name in names) and not one.target.exists()]
    with tempfile.TemporaryDirectory(prefix=".go-", dir=SOURCES_FOLDER) as folder:
        try:
            go = _go(Path(folder)) if todo else ""
            for source in todo:
                fetch(source, go)
        except subprocess.CalledProcessError as error:
            sys.exit(f"`{' '.join(error.cmd)}` ended with status {error.returncode}; it said why above")
    sys.stdout.write(f"{SOURCES_FOLDER}\n")


if __name__ == "__main__":
    main(sys.argv[1:])

"""A shop that has all that the reference clusters and `lab` ask for: what Go modules hold, and charts that the test
makes of the real CRDs where no module holds one.
"""

import io
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import chartshop
import pytest
import yaml
from apiserver import SHARED, programs, sources
from bootstrapped import default, packed, shop

from generator.components.component import Chart
from tools import need_kustomize

CHARTS = {
    "cert-manager": "cert-manager",
    "cilium": "cilium",
    "jobset": "jobset",
    "metrics-server": "metrics-server",
    "node-feature-discovery": "node-feature-discovery",
}
"""Components, by the source of `tools/sources.py` that is their chart."""

MADE = (
    "calico", "ceph-csi-drivers", "csi-nfs", "gpu-operator", "kube-prometheus-stack", "kuberay", "network-operator",
    "prometheus-adapter", "scratch",
)  # fmt: skip
"""Components whose charts no Go module holds."""

DEFINITIONS = {
    "ceph-csi-operator": ("ceph-csi-operator/v1.0.4/crds",),
    "crd.projectcalico.org.v1": ("calico/v3.32.1/crds", "calico/v3.32.1/crds-v1"),
    "gpu-operator": ("gpu-operator/v26.7.0/crds",),
    "kuberay-operator": ("kuberay/v1.7.0/crds",),
    "network-operator": ("network-operator/v26.4.1/crds",),
}
"""Folders of CRDs below `../shared/upstream` that a chart brings, by its name."""

OPERATORS = {
    "calico": tuple(
        f"calico/v3.32.1/crds-v3/projectcalico.org_{kind}.yaml" for kind in ("bgpconfigurations", "bgppeers", "ippools")
    ),
    "cilium": ("cilium/1.20.0/crds",),
}
"""Those that a component's own program makes, and not its chart. Calico's serves its kinds itself: these are what gen
renders of them."""

STUB = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Chart.Name }}
  namespace: {{ .Release.Namespace }}
"""
"""What a made chart brings beside CRDs: one without any object is refused."""


def definitions(places: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Give CRDs, of files or folders below `../shared/upstream`: path and text. Skips the test where there are none."""
    if not SHARED.exists():
        pytest.skip("../shared is absent")
    for file in (file for place in places for file in sorted((SHARED / place).glob("*.yaml")) or [SHARED / place]):
        yield f"crds/{file.name}", file.read_text()


def whole_shop(workflows: Literal["full", "minimal"] = "full") -> chartshop.Shop:
    """Return a shop with everything. Of Argo Workflows' definitions, upstream's `minimal` ones name no fields: an API
    server has little to do for them.
    """
    made = shop()
    for component, source in CHARTS.items():
        for chart in default(component).charts:
            made.put(chart.name, chart.version, packed(sources(source), chart))
    (rook,) = default("rook-ceph").charts
    made.put(rook.name, rook.version, _rook(rook))
    (volsync,) = default("volsync").charts
    (manager,) = programs("volsync")
    made.put(volsync.name, volsync.version, packed(Path(manager).resolve().with_name("chart"), volsync))
    (trainer,) = default("trainer").charts
    made.put(trainer.name, trainer.version, _trainer(trainer))
    for component in MADE:
        for chart in default(component).charts:
            made.put(chart.name, chart.version, _made(chart.name, chart.version))
    for address, content in _manifests(workflows):
        made.files[f"/m/{address.removeprefix('https://')}"] = content
    return made


def _made(name: str, version: str) -> bytes:
    """Package a chart of a name, with the CRDs that the real one brings and nothing that runs."""
    about = f"apiVersion: v2\nname: {name}\nversion: {version}\n"
    found = dict(definitions(DEFINITIONS.get(name, ())))
    return chartshop.packaged(name, version, {"Chart.yaml": about, "templates/stub.yaml": STUB, **found}, values="")


def _rook(chart: Chart) -> bytes:
    """Package Rook's chart with those below it, as its publisher does."""
    with tempfile.TemporaryDirectory() as name:
        folder, charts = Path(name, "rook-ceph"), Path(name, "rook-ceph", "charts")
        shutil.copytree(sources("rook") / "rook-ceph", folder)
        shutil.copytree(sources("rook") / "library", charts / "library")
        with tarfile.open(fileobj=io.BytesIO(_made("ceph-csi-operator", "1.0.4"))) as archive:
            archive.extractall(charts, filter="data")
        return packed(folder, chart)


def _trainer(chart: Chart) -> bytes:
    """Package Trainer's chart with those below it, which it names and gen turns off."""
    with tempfile.TemporaryDirectory() as name:
        folder, charts = Path(name, chart.name), Path(name, chart.name, "charts")
        shutil.copytree(sources("trainer"), folder)
        for each in yaml.load((folder / "Chart.yaml").read_bytes(), yaml.CSafeLoader)["dependencies"]:
            with tarfile.open(fileobj=io.BytesIO(_made(each["name"], each["version"]))) as archive:
                archive.extractall(charts, filter="data")
        return packed(folder, chart)


def _manifests(workflows: str) -> Iterator[tuple[str, bytes]]:
    """Give manifests by the address that they are asked for at."""
    for address in default("snapshot-controller").manifests:
        folder = "snapshot-crds" if "/crd/" in address else "snapshot-controller"
        yield address, (sources(folder) / address.rpartition("/")[2]).read_bytes()
    for address in (*default("cilium").manifests, *default("envoy-gateway").manifests):
        folder = "envoy-gateway" if "/charts/gateway-helm/" in address else "gateway-api"
        yield address, (sources(folder) / address.rpartition("/")[2]).read_bytes()
    (address,) = default("cluster-autoscaler").manifests
    yield address, (sources("provisioning-requests") / address.rpartition("/")[2]).read_bytes()
    (address,) = default("prometheus-crds").manifests
    yield address, _joined(sources("prometheus-crds"))
    (address,) = default("mpi-operator").manifests
    yield address, (sources("mpi-operator") / "mpi-operator.yaml").read_bytes()
    for address in default("training-operator").manifests:
        yield address, (sources("training-operator") / address.rpartition("/manifests/base/")[2]).read_bytes()
    (address,) = default("argo-workflows").manifests
    source = sources("argo-workflows")
    yield address, _joined(source / "base" / "crds" / workflows) + b"---\n" + _built(source / "cluster-install-no-crds")


def _joined(folder: Path) -> bytes:
    """Join the definitions in a folder; Kustomize, which would do it as well, takes long to read them."""
    return b"---\n".join(file.read_bytes() for file in sorted(folder.glob("*_*.yaml")))


def _built(folder: Path) -> bytes:
    command = [*need_kustomize(), "--load-restrictor=LoadRestrictionsNone", str(folder)]
    return subprocess.run(command, check=True, capture_output=True).stdout


def operators_definitions(component: str) -> Iterator[dict[str, Any]]:
    """Give the CRDs that a component's own program makes."""
    for _, text in definitions(OPERATORS[component]):
        yield from yaml.load_all(text, yaml.CSafeLoader)

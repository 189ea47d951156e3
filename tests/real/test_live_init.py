"""A cluster file that is begun from a cluster as gen made it is that cluster's file, but for what it says it is not."""

import contextlib
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import yaml
from reference import ROOT, load

from generator.cli import run
from generator.model.cluster import Cluster
from generator.repository.cluster_files import load as load_files

if TYPE_CHECKING:
    from twin.plane import Plane

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin

Object = dict[str, Any]
OWN = ("ceph-cluster", "issuers", "load-balancer", "rdma")
"""Components of gen's own objects alone: what charts bring is not here, but for Kueue and Volcano."""
BUILT = ("namespaces", "kueue", "volcano", "queues", "tenants")
WITHOUT_PROGRAM = {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "APIService", "ServiceMonitor"}
FEATURES = {"A30": ("NVIDIA-A30", "24576"), "H100": ("NVIDIA-H100-80GB-HBM3", "81559")}
"""What GPU feature discovery says of these GPUs: product, and MiB that the driver sees."""


class Copy(NamedTuple):
    """A reference cluster, the file that was begun from its twin, and what was said."""

    original: Cluster
    copied: Cluster
    text: str
    said: str
    errors: list[str]


@pytest.fixture(scope="module", params=["a30-bench", "ml50"])
def copy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Copy:
    from twin.plane import ADMIN, plane

    name: str = request.param
    target = tmp_path_factory.mktemp("copy")
    with tempfile.TemporaryDirectory(prefix="twin-") as folder, plane(Path(folder)) as api:
        with contextlib.ExitStack() as stack:
            install(api, name, Path(folder), stack)
        out = target / "said"
        with out.open("w") as said, contextlib.redirect_stdout(said):
            code = run(["init", name, "-C", str(target), "--kubeconfig", str(api.address.kubeconfig(ADMIN))])
        assert code == 0, out.read_text()
    (loaded,) = load_files(target)
    assert loaded.cluster, loaded.findings
    text = (target / f"clusters/{name}/cluster.yaml").read_text()
    errors = [f"{one.code}: {one.message}" for one in loaded.findings if one.severity == "error"]
    return Copy(load(name), loaded.cluster, text, out.read_text(), errors)


def install(api: "Plane", name: str, folder: Path, stack: contextlib.ExitStack) -> None:
    """Have a cluster as kubeadm, gen's files and, as far as charts are here, Argo CD would have made it."""
    from argocd.kinds import definitions, wanted
    from twin.nodes import nodes
    from twin.rendered import Rendered

    for one in nodes(ROOT, name):
        featured(one)
        assert api.create(one, dry=False) == (201, "")
    kubeadm(api, name, folder)
    there = tuple(one for one in (*BUILT, *OWN) if (ROOT / "overlays" / name / one).exists())
    rendered = Rendered(ROOT, name, folder / "rendered", there)
    stack.callback(rendered.stop)
    applications = sorted((ROOT / "clusters" / name / "argocd").glob("application-*.yaml"))
    applications.append(ROOT / "clusters" / name / "bootstrap" / "application-root.yaml")
    folders = [ROOT / "clusters" / name, *(ROOT / "overlays" / name / one for one in (*OWN, "tenants"))]
    for crd in definitions({kind for kind in wanted(folders) if "." in kind[0] and not kind[0].endswith("k8s.io")}):
        api.apply(crd)
        api.wait(crd["metadata"]["name"], lambda crd=crd: api.established(crd))
    api.namespace("argocd")
    for component in there:
        apply(api, rendered.objects(component))
    apply(api, [yaml.safe_load(file.read_bytes()) for file in applications])


def featured(node: Object) -> None:
    labels = node["metadata"]["labels"]
    model = labels.get("nvidia.com/gpu.product", "").removeprefix("NVIDIA-")
    if model:
        product, memory = FEATURES[model]
        labels |= {"nvidia.com/gpu.product": product, "nvidia.com/gpu.memory": memory}
        labels["nvidia.com/gpu.count"] = node["status"]["capacity"]["nvidia.com/gpu"]


def kubeadm(api: "Plane", name: str, folder: Path) -> None:
    """Have the real kubeadm write its ConfigMaps, and the pods of the control plane as kubelet would show them."""
    from apiserver import programs
    from twin.plane import ADMIN

    (program,) = programs("kubeadm")
    bootstrap = ROOT / "clusters" / name / "bootstrap"
    config = folder / "init.yaml"
    text = (bootstrap / "kubeadm" / "init.yaml").read_text()
    config.write_text(re.sub(r"patches:\n  directory: .*\n", "", text))
    manifests = folder / "manifests"
    manifests.mkdir()
    phase, to = [program, "init", "phase"], ["--config", str(config)]
    kubeconfig = ["--kubeconfig", str(api.address.kubeconfig(ADMIN))]
    ran([*phase, "upload-config", "all", *to, *kubeconfig])
    if "KubeProxyConfiguration" in text:
        ran([*phase, "addon", "kube-proxy", *to, *kubeconfig])
    ran([*phase, "control-plane", "all", *to, "--dry-run"], KUBEADM_INIT_DRYRUN_DIR=str(manifests))
    first = next(one for one in load(name).machines if one.role == "control-plane").name
    for file in (*manifests.glob("kube-*.yaml"), *bootstrap.glob("endpoint/kube-vip.yaml")):
        pod = yaml.safe_load(file.read_bytes())
        pod["metadata"] |= {"name": f"{pod['metadata']['name']}-{first}", "namespace": "kube-system"}
        pod["spec"] |= {"nodeName": first}
        pod["spec"].pop("priority", None)
        assert api.create(pod, dry=False) == (201, "")


def ran(command: list[str], **env: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | env)
    assert done.returncode == 0, done.stderr


def apply(api: "Plane", objects: list[Object]) -> None:
    """Apply objects, definitions first. Nothing answers for webhooks here."""
    first = ("Namespace", "CustomResourceDefinition")
    for one in sorted(objects, key=lambda one: one["kind"] not in first):
        if one["kind"] in WITHOUT_PROGRAM:
            continue
        api.apply(one)
        if one["kind"] == "CustomResourceDefinition":
            api.wait(one["metadata"]["name"], lambda one=one: api.established(one))


def test_nodes_are_the_same(copy: Copy) -> None:
    told = ("name", "pool", "address", "rack", "role", "labels", "taints")
    for original, copied in zip(copy.original.machines, copy.copied.machines, strict=True):
        assert {key: getattr(copied, key) for key in told} == {key: getattr(original, key) for key in told}
        assert copied.kernel == "6.8"  # as twin.nodes has it; a file may leave it out


def test_hardware_is_the_same_but_for_disks_and_hcas(copy: Copy) -> None:
    told = ("cpu", "memory", "gpu")
    assert list(copy.copied.pools) == list(copy.original.pools)
    for original, copied in zip(copy.original.machines, copy.copied.machines, strict=True):
        assert {key: getattr(copied.hardware, key) for key in told} == {
            key: getattr(original.hardware, key) for key in told
        }


def test_kubernetes_is_the_same(copy: Copy) -> None:
    assert copy.copied.kubernetes == copy.original.kubernetes


def test_teams_are_the_same(copy: Copy) -> None:
    assert copy.copied.teams == copy.original.teams
    assert copy.copied.scheduling == copy.original.scheduling


def test_what_is_the_same_beside(copy: Copy) -> None:
    assert copy.copied.repository == copy.original.repository
    assert copy.copied.networks.cni == copy.original.networks.cni
    assert copy.copied.networks.load_balancer == copy.original.networks.load_balancer
    assert copy.copied.components == copy.original.components == {}
    assert copy.copied.site.oidc == copy.original.site.oidc


def test_errors_are_told(copy: Copy) -> None:
    listed = " ".join(line.strip("# ") for line in copy.text.split("# Not known, to fill in:")[1].splitlines())
    assert [error for error in copy.errors if " ".join(error.split()) not in " ".join(listed.split())] == []

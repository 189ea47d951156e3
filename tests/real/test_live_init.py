"""A cluster file that is begun from a cluster as gen made it is that cluster's file, but for what it says it is not."""

import contextlib
import os
import re
import subprocess
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import yaml
from msgspec import structs
from reference import ROOT, load

from generator.cli import run
from generator.model.cluster import Cluster
from generator.model.nodes import Machine
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
APPLICATIONS = "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications"
FEATURES = {"A30": ("NVIDIA-A30", "24576"), "H100": ("NVIDIA-H100-80GB-HBM3", "81559")}
"""What GPU feature discovery says of these GPUs: product, and MiB that the driver sees."""


class Begun(NamedTuple):
    """A file as it was begun, and what was said."""

    cluster: Cluster
    text: str
    said: str
    errors: list[str]


class Copy(NamedTuple):
    """A reference cluster, the file that was begun from its twin, and what was said. `foreign` is the same cluster
    without Argo CD's Applications, as if somebody else had installed it, and `refused` was begun by an account without
    any rights.
    """

    original: Cluster
    copied: Begun
    foreign: Begun
    refused: Begun


@pytest.fixture(scope="module", params=["a30-bench", "ml50"])
def copy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Copy:
    from twin.plane import plane

    from generator.rehearsal.twin.plane import ADMIN

    name: str = request.param
    target = tmp_path_factory.mktemp("copy")
    with tempfile.TemporaryDirectory(prefix="twin-") as folder, plane(Path(folder)) as api:
        with contextlib.ExitStack() as stack:
            install(api, name, Path(folder), stack)
        admin = api.address.kubeconfig(ADMIN)
        copied = begun(target / "copied", name, admin)
        refused = begun(target / "refused", name, api.account("default", "default"))
        assert api.request("DELETE", APPLICATIONS)[0] == 200
        api.wait("no Applications", lambda: not api.items(APPLICATIONS))
        foreign = begun(target / "foreign", name, admin)
    return Copy(load(name), copied, foreign, refused)


def begun(repository: Path, name: str, kubeconfig: Path) -> Begun:
    """Begin a repository as a user would."""
    repository.mkdir()
    with (repository / "said").open("w") as said, contextlib.redirect_stdout(said):
        code = run(["init", name, "-C", str(repository), "--kubeconfig", str(kubeconfig)])
    said_text = (repository / "said").read_text()
    assert code == 0, said_text
    (loaded,) = load_files(repository)
    assert loaded.cluster, loaded.findings
    text = (repository / f"clusters/{name}/cluster.yaml").read_text()
    errors = [f"{one.code}: {one.message}" for one in loaded.findings if one.severity == "error"]
    return Begun(loaded.cluster, text, said_text, errors)


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
    for crd in definitions(wanted(folders)):
        api.apply(crd)
        api.wait(crd["metadata"]["name"], partial(api.established, crd))
    api.namespace("argocd")
    for component in there:
        apply(api, rendered.objects(component))
    classes = (ROOT / "overlays" / name).glob("*/storageclass-*.yaml")
    apply(api, [yaml.load(file.read_bytes(), yaml.CSafeLoader) for file in classes])
    for one in (yaml.load(file.read_bytes(), yaml.CSafeLoader) for file in applications):
        one["metadata"].pop("finalizers", None)  # nobody would end them
        api.apply(one)


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

    from generator.rehearsal.twin.plane import ADMIN

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
        pod = yaml.load(file.read_bytes(), yaml.CSafeLoader)
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
            api.wait(one["metadata"]["name"], partial(api.established, one))


def pairs(copy: Copy) -> list[tuple[Machine, Machine]]:
    """Return each node as it is in both files: in which order nodes stand in a file no cluster knows."""
    copied = {one.name: one for one in copy.copied.cluster.machines}
    assert len(copied) == len(copy.original.machines)
    return [(one, copied[one.name]) for one in copy.original.machines]


def test_nodes_are_the_same(copy: Copy) -> None:
    told = ("name", "pool", "address", "rack", "role", "labels", "taints")
    for original, copied in pairs(copy):
        assert {key: getattr(copied, key) for key in told} == {key: getattr(original, key) for key in told}
        assert copied.kernel == "6.8"  # as twin.nodes has it; a file may leave it out


def test_hardware_is_the_same_but_for_disks_and_hcas(copy: Copy) -> None:
    told = ("cpu", "memory", "gpu")
    assert set(copy.copied.cluster.pools) == set(copy.original.pools)
    for original, copied in pairs(copy):
        assert {key: getattr(copied.hardware, key) for key in told} == {
            key: getattr(original.hardware, key) for key in told
        }


def test_kubernetes_is_the_same(copy: Copy) -> None:
    """But for how files reach machines, and whether etcd is backed up and defragmented, which is told."""
    was = copy.original.kubernetes
    same = structs.replace(was, deliver=(), etcd=structs.replace(was.etcd, backup=None, defragment="by-hand"))
    assert copy.copied.cluster.kubernetes == same
    assert "deliver: how files of nodes reach machines" in copy.copied.said
    assert "etcd.defragment: whether a timer" in copy.copied.said
    assert "what gen is asked for beside: monitoring, backups" in copy.copied.said


def test_teams_are_the_same(copy: Copy) -> None:
    by_name = {one.name: one for one in copy.copied.cluster.teams}
    assert by_name == {one.name: one for one in copy.original.teams}
    assert copy.copied.cluster.scheduling == copy.original.scheduling


def test_what_is_the_same_beside(copy: Copy) -> None:
    copied = copy.copied.cluster
    assert copied.repository == copy.original.repository
    assert copied.networks.cni == copy.original.networks.cni
    assert copied.networks.load_balancer == copy.original.networks.load_balancer
    assert copied.components == copy.original.components == {}
    assert copied.site.oidc == copy.original.site.oidc


DIFFERS = {
    "networks": ["interface, mtu, gateway", "mtu, gateway", "how large the network is"],
    "site": ["dns, ntp, timezone", "the domain that"],
    "pools": ["hardware.hcas", "disks: no API server knows them"],
    "fabric": ["hardware.hcas"],
    "storage": ["the disks of Ceph cluster", "disks: no API server knows them"],
    "backups": ["what gen is asked for beside"],
    "monitoring": ["what gen is asked for beside"],
    "gitops": ["what gen is asked for beside"],
    "acceptance": ["what gen is asked for beside"],
    "mlperf": ["what gen is asked for beside"],
    "gpu_care": ["what gen is asked for beside"],
}
"""Sections that may differ, and what then says so."""


def test_what_differs_is_what_is_told(copy: Copy) -> None:
    # In which order teams, nodes and pools stand in a file no cluster knows.
    differing = {name for name in DIFFERS if getattr(copy.copied.cluster, name) != getattr(copy.original, name)}
    untold = {name for name in differing if not any(text in copy.copied.said for text in DIFFERS[name])}
    assert untold == set()
    # Of the operators of jobs none runs on the twin.
    looked_at = {
        *DIFFERS,
        "frameworks",
        "repository",
        "kubernetes",
        "teams",
        "scheduling",
        "components",
        "machines",
        "nodes",
        "name",
    }
    rest = {name for name in copy.original.__struct_fields__ if name not in looked_at}
    assert {name for name in rest if getattr(copy.copied.cluster, name) != getattr(copy.original, name)} == set()


def test_errors_are_told(copy: Copy) -> None:
    for one in copy[1:]:
        codes = {error.partition(":")[0] for error in one.errors}
        assert {code for code in codes if f"`gen check` says {code}: " not in one.said} == set()


def test_what_somebody_else_installed_stays_his(copy: Copy) -> None:
    """Of the twin Kueue's and Volcano's charts are there, and what is made of objects alone."""
    settings = copy.foreign.cluster.components
    assert {"kueue", "queues", "tenants", "volcano"} <= settings.keys()
    assert not any(one.managed for one in settings.values())
    text = " ".join(copy.foreign.text.split())
    assert "# volcano v1.14.1, not installed by Helm; gen would take it over with this line removed" in text
    # The chart's label says its version as the chart has it, without a v.
    assert "# kueue 0.18.3, not installed by Helm; gen would take it over with this line removed" in text


def test_an_account_without_rights_is_told_what_it_lacks(copy: Copy) -> None:
    assert copy.refused.cluster.machines == ()
    (lacking,) = (line for line in copy.refused.said.splitlines() if line.startswith("  - rights: you lack the right"))
    assert all(kind in lacking for kind in (" nodes,", " deployments.apps,", " configmaps in kube-system,"))
    assert copy.refused.cluster.kubernetes.version == copy.original.kubernetes.version

"""The catalogue: which versions of every component are known, where they come from and what goes together."""

from msgspec import Struct

from generator.model.cluster import Cluster

HELM = "v3.19.0"
"""What charts are inflated with: another Helm may write the same chart differently."""


class Chart(Struct, frozen=True, kw_only=True):
    """A Helm chart: its name, the repository (https:// or oci://) and its version as the repository spells it."""

    name: str
    repository: str
    version: str


class Version(Struct, frozen=True, kw_only=True):
    """One version of a component, whole.

    `version` names the base folder. `charts` and `manifests` (URLs of files at a tag) are what upstream ships, `images`
    what our own objects run. `schemas` are folders below `../shared/upstream` whose CRDs and chart values this entry
    was checked against; `proven` is the version on which the real program was run, if it was.
    `kubernetes` is the range of minors that upstream supports, both ends included.
    """

    version: str
    charts: tuple[Chart, ...] = ()
    manifests: tuple[str, ...] = ()
    images: dict[str, str] = {}
    schemas: tuple[str, ...] = ()
    proven: str = ""
    kubernetes: tuple[int, int] = (31, 36)

    def chart(self, name: str) -> Chart:
        """Return the chart of that name."""
        return next(chart for chart in self.charts if chart.name == name)


def version_of(component: str, cluster: Cluster) -> Version:
    """Return the version a cluster uses: the one its file names, else the default (the first). An unknown one
    falls back to the default: a rule reports it.
    """
    known = CATALOGUE[component]
    wanted = cluster.settings(component).version
    return next((version for version in known if version.version == wanted), known[0])


CATALOGUE: dict[str, tuple[Version, ...]] = {
    # first: the default
    "argo-cd": (
        Version(
            version="v3.5.8",
            manifests=(
                "https://raw.githubusercontent.com/argoproj/argo-cd/v3.5.8/manifests/install.yaml",
                "https://raw.githubusercontent.com/argoproj/argo-cd/v3.5.8/manifests/ha/install.yaml",
            ),
            schemas=("argo-cd/v3.5.3",),
            proven="v3.5.3",
            kubernetes=(33, 36),
        ),
    ),
    "argo-workflows": (
        Version(
            version="v4.0.15",
            manifests=("https://github.com/argoproj/argo-workflows/releases/download/v4.0.15/install.yaml",),
            images={"argoexec": "quay.io/argoproj/argoexec:v4.0.15-nonroot"},
            schemas=("argo-workflows/v4.0.2",),
            proven="v4.0.2",
        ),
    ),
    "calico": (
        Version(
            version="v3.32.1",
            charts=(
                Chart(name="tigera-operator", repository="https://docs.tigera.io/calico/charts", version="v3.32.1"),
                Chart(
                    name="crd.projectcalico.org.v1",
                    repository="https://docs.tigera.io/calico/charts",
                    version="v3.32.1",
                ),
            ),
            schemas=("calico/v3.32.1",),
        ),
    ),
    "ceph-cluster": (
        Version(
            version="v20.2.4",
            images={"ceph": "quay.io/ceph/ceph:v20.2.4-20260818"},
            schemas=("rook/v1.20.6", "external-snapshotter/v8.6.0", "cert-manager/v1.21.1"),
        ),
    ),
    "ceph-csi-drivers": (
        Version(
            version="1.0.4",
            charts=(
                Chart(name="ceph-csi-drivers", repository="https://ceph.github.io/ceph-csi-operator", version="1.0.4"),
            ),
            schemas=("ceph-csi-operator/v1.0.4", "rook/v1.20.6"),
        ),
    ),
    "cert-manager": (
        Version(
            version="v1.21.1",
            charts=(Chart(name="cert-manager", repository="oci://quay.io/jetstack/charts", version="v1.21.1"),),
            schemas=("cert-manager/v1.21.1",),
        ),
    ),
    "cilium": (
        Version(
            version="1.20.0",
            charts=(Chart(name="cilium", repository="https://helm.cilium.io", version="1.20.0"),),
            schemas=("cilium/1.20.0",),
        ),
    ),
    "csi-nfs": (
        Version(
            version="4.13.4",
            charts=(
                Chart(
                    name="csi-driver-nfs",
                    repository="https://raw.githubusercontent.com/kubernetes-csi/csi-driver-nfs/master/charts",
                    version="4.13.4",
                ),
            ),
        ),
    ),
    "gpu-operator": (
        Version(
            version="v26.7.0",
            charts=(Chart(name="gpu-operator", repository="https://helm.ngc.nvidia.com/nvidia", version="v26.7.0"),),
            schemas=("gpu-operator/v26.7.0",),
            kubernetes=(33, 36),
        ),
    ),
    "kube-prometheus-stack": (
        Version(
            version="88.5.3",
            charts=(
                Chart(
                    name="kube-prometheus-stack",
                    repository="oci://ghcr.io/prometheus-community/charts",
                    version="88.5.3",
                ),
            ),
            schemas=("kube-prometheus-stack-chart/88.5.3", "prometheus-operator/v0.93.1"),
        ),
    ),
    "kueue": (
        Version(
            version="v0.18.3",
            charts=(Chart(name="kueue", repository="oci://registry.k8s.io/kueue/charts", version="0.18.3"),),
            schemas=("kueue/v0.18.3",),
            proven="v0.18.3",
        ),
    ),
    "metrics-server": (
        Version(
            version="3.13.1",
            charts=(
                Chart(
                    name="metrics-server",
                    repository="https://kubernetes-sigs.github.io/metrics-server",
                    version="3.13.1",
                ),
            ),
            schemas=("metrics-server/chart-3.13.1",),
        ),
    ),
    "minio": (
        Version(
            version="RELEASE.2026-09-16T00-00-00Z",
            images={
                "server": "docker.io/pgsty/silo:RELEASE.2026-09-16T00-00-00Z"
                "@sha256:635197cb9f36d01bee221d34d1c7d7960f6a95c48b0b6c01d99cd13bdae51a46",
                "client": "docker.io/pgsty/mc:RELEASE.2026-09-16T00-00-00Z"
                "@sha256:cfc83108c3abb371f8fb84d99c1fdc88f8c237e022409b0081fb7c0a3be634dd",
            },
        ),
    ),
    "network-operator": (
        Version(
            version="v26.4.1",
            charts=(Chart(name="network-operator", repository="https://helm.ngc.nvidia.com/nvidia", version="26.4.1"),),
            images={"rdma": "nvcr.io/nvidia/mellanox/k8s-rdma-shared-dev-plugin:network-operator-v26.4.1"},
            schemas=("network-operator/v26.4.1",),
            kubernetes=(31, 35),
        ),
    ),
    "node-feature-discovery": (
        Version(
            version="v0.19.0",
            charts=(
                Chart(name="node-feature-discovery", repository="oci://registry.k8s.io/nfd/charts", version="0.19.0"),
            ),
            schemas=("node-feature-discovery/v0.19.0",),
        ),
    ),
    "prometheus-crds": (
        Version(
            version="v0.93.1",
            manifests=(
                "https://github.com/prometheus-operator/prometheus-operator/releases/download/v0.93.1/stripped-down-crds.yaml",
            ),
            schemas=("prometheus-operator/v0.93.1",),
        ),
    ),
    "rook-ceph": (
        Version(
            version="v1.20.6",
            charts=(Chart(name="rook-ceph", repository="https://charts.rook.io/release", version="v1.20.6"),),
            images={"operator": "docker.io/rook/ceph:v1.20.6"},
            schemas=("rook/v1.20.6",),
        ),
    ),
    "scratch": (
        Version(
            version="v2.9.0",
            charts=(
                Chart(
                    name="local-static-provisioner",
                    repository="https://kubernetes-sigs.github.io/sig-storage-local-static-provisioner",
                    version="2.9.0",
                ),
            ),
            images={"node-cleanup": "registry.k8s.io/sig-storage/local-volume-node-cleanup:v2.8.0"},
            schemas=("local-static-provisioner/v2.9.0",),
        ),
    ),
    "snapshot-controller": (
        Version(
            version="v8.6.0",
            manifests=tuple(
                f"https://raw.githubusercontent.com/kubernetes-csi/external-snapshotter/v8.6.0/{path}.yaml"
                for path in (
                    "client/config/crd/snapshot.storage.k8s.io_volumesnapshotclasses",
                    "client/config/crd/snapshot.storage.k8s.io_volumesnapshotcontents",
                    "client/config/crd/snapshot.storage.k8s.io_volumesnapshots",
                    "client/config/crd/groupsnapshot.storage.k8s.io_volumegroupsnapshotclasses",
                    "client/config/crd/groupsnapshot.storage.k8s.io_volumegroupsnapshotcontents",
                    "client/config/crd/groupsnapshot.storage.k8s.io_volumegroupsnapshots",
                    "deploy/kubernetes/snapshot-controller/rbac-snapshot-controller",
                    "deploy/kubernetes/snapshot-controller/setup-snapshot-controller",
                )
            ),
            images={"controller": "registry.k8s.io/sig-storage/snapshot-controller:v8.6.0"},
            schemas=("external-snapshotter/v8.6.0",),
        ),
    ),
    "volcano": (
        Version(
            version="v1.14.1",
            charts=(Chart(name="volcano", repository="https://volcano-sh.github.io/helm-charts", version="1.14.1"),),
            schemas=("volcano/v1.14.1",),
            proven="v1.14.1",
            kubernetes=(28, 35),
        ),
    ),
    "zabbix": (
        Version(
            version="7.0.30",
            images={
                "server": "docker.io/zabbix/zabbix-server-pgsql:ubuntu-7.0.30",
                "web": "docker.io/zabbix/zabbix-web-nginx-pgsql:ubuntu-7.0.30",
                "proxy": "docker.io/zabbix/zabbix-proxy-sqlite3:ubuntu-7.0.30",
                "agent": "docker.io/zabbix/zabbix-agent2:ubuntu-7.0.30",
                "postgresql": "docker.io/library/postgres:16.10",
                "python": "docker.io/library/python:3.12.12-alpine3.22",
            },
            schemas=("zabbix-chart/7.0.12",),
        ),
    ),
}

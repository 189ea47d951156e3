"""Each judge finds what it is for: broken copies of a cluster with which nothing is wrong."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from validation import ownership, placement, projects, references, schemas, selectors, values, waits
from validation.build import ROOT, Built, Object, added, broken
from validation.judges import JUDGES, Judge

pytest_plugins = ["validation.fixtures"]

Change = Callable[[Any], object]


def put(*path: str | int, to: object) -> Change:
    """Return what sets one field."""

    def change(part: Any) -> None:
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = to

    return change


def together(*changes: Change) -> Change:
    """Return what makes several changes."""

    def change(part: Any) -> None:
        for each in changes:
            each(part)

    return change


def drop(*path: str | int) -> Change:
    """Return what removes one field."""

    def change(part: Any) -> None:
        for key in path[:-1]:
            part = part[key]
        del part[path[-1]]

    return change


POD = ("spec", "template", "spec")
MAIN = (*POD, "containers", 0)
MINIO, CEPH, QUEUE = "StatefulSet minio", "CephCluster rook-ceph", "ClusterQueue vision"
RDMA, RGW, APP = "NicClusterPolicy nic-cluster-policy", "Certificate rgw-datasets-tls", "Application minio"
INGRESS, BACKUP, DRIVE = "Ingress argocd-server", "WorkflowTemplate backup", "PersistentVolume minio-nas-1-0"
CRON, NIGHTLY, ANY = "workflowSpec", "CronWorkflow backup-datasets", {"matchLabels": {"x": "y"}}
ISSUER = ("metadata", "annotations", "cert-manager.io/cluster-issuer")

BROKEN: list[tuple[Judge, str, Change, str]] = [
    (schemas.refused, MINIO, put(*MAIN, "resource", to={}), "'resource' was unexpected"),
    (schemas.refused, MINIO, put("spec", "replicas", to="four"), "'four' is not of type"),
    (schemas.refused, CEPH, put("spec", "storage", "nodez", to=[]), "'nodez' was unexpected"),
    (schemas.refused, CEPH, put("spec", "mon", "count", to=99), "99 is greater than the maximum"),
    (schemas.refused, "CephObjectStoreUser datasets-backup-reader", put("spec", "opMask", to="read"), "'array'"),
    (schemas.refused, QUEUE, put("spec", "queueingStrategy", to="Fair"), "'Fair' is not one of"),
    (schemas.refused, "LocalQueue default", put("metadata", "label", to={}), "'label' was unexpected"),
    (schemas.refused, "Cohort teams", put("apiVersion", to="kueue.x-k8s.io/v1"), "no schema for kueue.x-k8s.io/v1"),
    (schemas.refused, "Cohort teams", put("kind", to="Kohort"), "no schema for kueue.x-k8s.io/v1beta2 Kohort"),
    (schemas.refused, "Service minio", put("kind", to="Servise"), "no schema for v1 Servise"),
    (references.dangling, MINIO, put(*POD, "serviceAccountName", to="nobody"), "no ServiceAccount minio/nobody"),
    (references.dangling, MINIO, put(*POD, "priorityClassName", to="x"), "no PriorityClass x"),
    (references.dangling, MINIO, put("spec", "serviceName", to="x"), "no Service minio/x"),
    (references.dangling, MINIO, put(*MAIN, "env", 0, "valueFrom", "secretKeyRef", "key", to="x"), "root with key x"),
    (references.dangling, "ConfigMap backup-scripts", put("metadata", "name", to="x"), "ConfigMap rook-ceph/backup-sc"),
    (references.dangling, RGW, put("spec", "issuerRef", "name", to="x"), "no ClusterIssuer x"),
    (references.dangling, "LocalQueue default", put("spec", "clusterQueue", to="x"), "no ClusterQueue x"),
    (references.dangling, QUEUE, put("spec", "cohortName", to="x"), "no Cohort x"),
    (references.dangling, "ResourceFlavor cpu", put("metadata", "name", to="x"), "no ResourceFlavor cpu"),
    (references.dangling, "RoleBinding gen-sync", put("roleRef", "name", to="x"), "no Role argocd/x"),
    (references.dangling, "RoleBinding gen-sync", put("subjects", 0, "name", to="x"), "no ServiceAccount argocd/x"),
    (references.dangling, DRIVE, put("spec", "storageClassName", to="x"), "no StorageClass x"),
    (references.dangling, "Namespace minio", put("metadata", "name", to="x"), "no Namespace minio"),
    (references.dangling, "Ingress minio", put("spec", "tls", 0, "secretName", to="x"), "no Secret minio/x"),
    (references.dangling, INGRESS, put(*ISSUER, to="x"), "no ClusterIssuer x"),
    (references.dangling, INGRESS, put("spec", "ingressClassName", to="x"), "no IngressClass x"),
    (references.dangling, APP, put("spec", "project", to="x"), "no AppProject argocd/x"),
    (
        references.dangling,
        "CephFilesystem shared",
        put("metadata", "name", to="x"),
        "no CephPool rook-ceph/shared-fast",
    ),
    (
        references.dangling,
        "CephObjectStore datasets",
        put("metadata", "name", to="x"),
        "no CephObjectStore rook-ceph/d",
    ),
    (references.dangling, "StorageClass rbd-nvme", put("provisioner", to="x"), "no CSIDriver x"),
    (references.dangling, BACKUP, put("spec", "templates", 0, "steps", 0, 0, "template", to="x"), "rook-ceph/x"),
    (
        references.dangling,
        NIGHTLY,
        put("spec", CRON, "arguments", "parameters", 3, "value", to="x"),
        "Secret rook-ceph/x",
    ),
    (
        references.late,
        APP,
        put("metadata", "annotations", "argocd.argoproj.io/sync-wave", to="1"),
        "comes from issuers",
    ),
    (
        waits.addressless,
        INGRESS,
        together(put("metadata", "annotations", to={}), put("spec", "ingressClassName", to="nginx")),
        "may wait for an address",
    ),
    (ownership.misplaced, "StorageClass rbd-nvme", put("metadata", "namespace", to="x"), "lives in no namespace"),
    (ownership.misplaced, CEPH, drop("metadata", "namespace"), "no namespace"),
    (ownership.misplaced, QUEUE, put("metadata", "namespace", to="vision"), "lives in no namespace"),
    (ownership.unpinned_images, MINIO, put(*MAIN, "image", to="example.org:5000/minio"), "example.org:5000/minio"),
    (ownership.unpinned_images, MINIO, put(*MAIN, "image", to="minio:latest"), "minio:latest"),
    (ownership.unpinned_images, CEPH, put("spec", "cephVersion", "image", to="ceph"), ": ceph"),
    (ownership.unpinned_images, RDMA, put("spec", "rdmaSharedDevicePlugin", "version", to=""), "plugin:"),
    (ownership.unresolved_namespaces, APP, put("spec", "destination", "namespace", to="x"), "no namespace x"),
    (selectors.selecting_nothing, "Service minio", put("spec", "selector", to={"x": "y"}), "nothing matches"),
    (selectors.selecting_nothing, "PodDisruptionBudget minio", put("spec", "selector", to=ANY), "nothing matches"),
    (selectors.selecting_nothing, MINIO, put("spec", "template", "metadata", "labels", to={"x": "y"}), "StatefulSet"),
    (selectors.selecting_nothing, "NetworkPolicy minio", put("spec", "podSelector", to=ANY), "nothing matches"),
    (selectors.unbacked_ports, MINIO, put(*MAIN, "ports", to=[]), "which minio does not open"),
    (selectors.unbacked_ports, MINIO, put(*MAIN, "livenessProbe", to={"tcpSocket": {"port": "x"}}), "asks for port x"),
    (placement.node_less, "ResourceFlavor cpu", put("spec", "nodeLabels", "gen.internal/pool", to="x"), "no node has"),
    (placement.homeless, MINIO, put(*POD, "nodeSelector", to={"gen.internal/pool": "x"}), "no node takes its pods"),
    (placement.homeless, MINIO, put(*POD, "tolerations", to=[]), "no node takes its pods"),
    (placement.ungated_gpus, MINIO, put(*MAIN, "resources", to={"limits": {"nvidia.com/gpu": 1}}), "by Volcano"),
    (projects.forbidden, APP, put("spec", "source", "repoURL", to="x"), "repository x is not allowed"),
    (projects.forbidden, APP, put("spec", "destination", "namespace", to="x"), "namespace x is not allowed"),
    (projects.forbidden, "AppProject storage", put("spec", "clusterResourceWhitelist", to=[]), "kind that is not"),
    (projects.forbidden, "AppProject root", put("spec", "namespaceResourceWhitelist", to=[]), "kind that is not"),
]


@pytest.mark.parametrize(("judge", "which", "change", "verdict"), BROKEN)
def test_a_broken_object_is_found(ml50_built: Built, judge: Judge, which: str, change: Change, verdict: str) -> None:
    found = judge(broken(ml50_built, which, change))
    assert any(verdict in one for one in found), found


PRIVATE = "-----BEGIN EC PRIVATE " + "KEY-----"
LABELS = {"app": "x"}
DAEMON = {
    "selector": {"matchLabels": LABELS},
    "template": {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "x", "image": "x:1"}]}},
}
PATHS = [{"backend": {"service": {"name": "minio", "port": {"number": 1}}}}]
MONITORING = "monitoring.coreos.com/v1"


def made(kind: str, version: str, **content: Any) -> Object:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "x", "namespace": "minio"}, **content}


def monitor(selector: Object) -> Object:
    return made("ServiceMonitor", MONITORING, spec={"selector": selector, "endpoints": [{"port": "x"}]})


ADDED: list[tuple[Judge, str, Object, str]] = [
    (schemas.refused, "minio", made("Widget", "example.org/v1"), "no schema for example.org/v1 Widget"),
    (references.dangling, "minio", made("Widget", "example.org/v1"), "no API group example.org"),
    (references.late, "cilium", monitor({}) | {"apiVersion": "cert-manager.io/v1"}, "comes from cert-manager"),
    (ownership.secrets, "minio", made("Secret", "v1", data={"password": "eA=="}), "Secret minio/x"),
    (ownership.secrets, "minio", made("ConfigMap", "v1", data={"key": PRIVATE}), "ConfigMap minio/x"),
    (placement.homeless, "minio", made("DaemonSet", "apps/v1", spec=DAEMON), "taints keep it off cp-1"),
    (
        selectors.unbacked_ports,
        "minio",
        made("Ingress", "networking.k8s.io/v1", spec={"rules": [{"http": {"paths": PATHS}}]}),
        "minio has no port 1",
    ),
    (selectors.selecting_nothing, "minio", monitor(ANY), "nothing matches"),
    (selectors.unbacked_ports, "minio", monitor({}), "no Service it selects has a port named x"),
    (waits.addressless, "cilium", made("Service", "v1", spec={"type": "LoadBalancer"}), "may wait for an address"),
    (
        projects.forbidden,
        "minio",
        made("ClusterRole", "v1") | {"metadata": {"name": "x"}},
        "ClusterRole x is of a kind",
    ),
]


@pytest.mark.parametrize(("judge", "application", "manifest", "verdict"), ADDED)
def test_an_object_that_should_not_be_there_is_found(
    ml50_built: Built, judge: Judge, application: str, manifest: Object, verdict: str
) -> None:
    found = judge(added(ml50_built, application, manifest))
    assert any(verdict in one for one in found), found


def test_an_object_of_two_applications_is_found(ml50_built: Built) -> None:
    (storage, *_) = ml50_built.objects["scratch"]
    (found,) = ownership.shared_objects(added(ml50_built, "minio", storage))
    assert found.endswith(": minio, scratch")


CHARTS: list[tuple[Judge, tuple[str, str], Change, str]] = [
    (values.unknown, ("kueue", "kueue"), put("controllerManager", to={"replicaz": 2}), "controllerManager.replicaz"),
    (values.unknown, ("rook-ceph", "rook-ceph"), put("ceph-csi-operator", "x", to=1), "ceph-csi-operator.x"),
    (values.unknown, ("volcano", "volcano"), put("customs", to={}), ": customs"),
    (values.schema_problems, ("cilium", "cilium"), put("MTU", to="9000"), "$.MTU"),
    (values.schema_problems, ("cert-manager", "cert-manager"), put("replicas", to=2), "replicas"),
    (references.dangling, ("kueue", "kueue"), put("existingSecret", to="x"), "no Secret kueue-system/x"),
    (references.dangling, ("kueue", "kueue"), put("a", to=[{"priorityClassName": "x"}]), "no PriorityClass x"),
    (references.late, ("cilium", "cilium"), put("a", to={"storageClass": "rbd-nvme"}), "comes from ceph-cluster"),
    (waits.addressless, ("kueue", "kueue"), put("ingress", to={"enabled": True}), "values of kueue: ingress: may wait"),
    (ownership.secrets, ("cilium", "cilium"), put("key", to=PRIVATE), "values of cilium/cilium"),
    (placement.node_less, ("scratch", "local-static-provisioner"), put("nodeSelector", to={"a": "b"}), "no node has"),
    (placement.daemons_kept_out, ("scratch", "local-static-provisioner"), put("tolerations", to=[]), "off gpu-01"),
    (placement.daemons_kept_out, ("gpu-operator", "gpu-operator"), put("daemonsets", to={}), "off gpu-15"),
    (placement.daemons_kept_out, ("node-feature-discovery",) * 2, drop("worker", "tolerations"), "off nas-1"),
]


@pytest.mark.parametrize(("judge", "chart", "change", "verdict"), CHARTS)
def test_a_wrong_chart_value_is_found(
    ml50_built: Built, judge: Judge, chart: tuple[str, str], change: Change, verdict: str
) -> None:
    changed = deepcopy(ml50_built.values)
    change(changed[chart])
    assert any(verdict in found for found in judge(replace(ml50_built, values=changed)))


def test_a_release_in_a_namespace_that_is_not_there_or_not_allowed_is_found(ml50_built: Built) -> None:
    charts = deepcopy(ml50_built.charts)
    charts["kueue", "kueue"]["namespace"] = "x"
    moved = replace(ml50_built, charts=charts)
    assert ownership.unresolved_namespaces(moved) == ["kueue: release kueue: no namespace x"]
    assert projects.forbidden(moved) == [f"{ROOT}: Application argocd/kueue: namespace x is not allowed"]


def test_a_chart_without_a_values_file_is_told(ml50_built: Built) -> None:
    charts = deepcopy(ml50_built.charts)
    charts["kueue", "kueue"]["name"] = "other"
    empty = {**ml50_built.values, ("csi-nfs", "x"): {"a": 1}}
    charts["csi-nfs", "x"] = {"name": "x", "version": "1"}
    assert values.no_file(replace(ml50_built, charts=charts, values=empty)) == ["csi-nfs: x 1"]


def test_every_judge_is_shown_to_find_something() -> None:
    """In this file; the two that are missing from the tables have tests of their own."""
    shown = {judge for judge, *_ in (*BROKEN, *ADDED, *CHARTS)} | {ownership.shared_objects, values.no_file}
    assert shown == set(JUDGES)

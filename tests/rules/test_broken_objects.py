"""Each rule finds what it is for: broken copies of a cluster with which nothing is wrong."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs
from validation import releases as judges
from validation import values
from validation.build import added, broken, find
from validation.releases import Judge, releases

from generator.build.objects import Built, TargetedPatch
from generator.components.component import Manifest
from generator.model.finding import Finding
from generator.model.rule import rules
from generator.rules import argo_cd, references, schemas, selectors, unknown_kinds
from generator.rules.engine import RULES

pytest_plugins = ["validation.fixtures"]

OURS = set(rules([argo_cd, references, schemas, selectors, unknown_kinds]))

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


def text(problem: Finding) -> str:
    """Return a problem in words: the object, where, what and how to mend it."""
    return f"{problem.about} {problem.at}: {problem.message} ({problem.fix})"


POD = ("spec", "template", "spec")
MAIN = (*POD, "containers", 0)
MINIO, CEPH, QUEUE = "StatefulSet minio", "CephCluster rook-ceph", "ClusterQueue vision"
RGW, APP = "Certificate rgw-datasets-tls", "Application minio"
SERVER = "https://kubernetes.default.svc"
NOT_VISION = [{"server": SERVER, "namespace": space} for space in ("*", "!vision")]
INGRESS, BACKUP, DRIVE = "Ingress argocd-server", "WorkflowTemplate backup", "PersistentVolume minio-nas-1-0"
CRON, NIGHTLY, ANY = "workflowSpec", "CronWorkflow backup-datasets", {"matchLabels": {"x": "y"}}
ISSUER = ("metadata", "annotations", "cert-manager.io/cluster-issuer")
WAVE = ("metadata", "annotations", "argocd.argoproj.io/sync-wave")
LABEL = ("metadata", "labels")
STORE = "CephObjectStore datasets"

BROKEN: list[tuple[str, str, Change, str | None]] = [
    ("GEN-API-001", MINIO, put(*MAIN, "resource", to={}), "containers[0].resource (write `re"),
    ("GEN-API-001", MINIO, put("spec", "replicas", to="four"), "'four' is not integer"),
    ("GEN-API-001", CEPH, put("spec", "storage", "nodez", to=[]), "no field spec.storage.nodez (write `nodes`)"),
    ("GEN-API-001", CEPH, put("spec", "mon", "count", to=99), "99 is greater than the maximum"),
    ("GEN-API-001", "CephObjectStoreUser datasets-backup-reader", put("spec", "opMask", to="read"), "is not array"),
    ("GEN-API-001", QUEUE, put("spec", "queueingStrategy", to="Fair"), "'Fair' is not one of"),
    ("GEN-API-001", "LocalQueue default", put("metadata", "label", to={}), "no field metadata.label (write `labels`)"),
    ("GEN-API-001", "PodDisruptionBudget minio", put("spec", to=[]), "is not object"),
    ("GEN-API-001", RGW, drop("spec", "issuerRef"), "spec.issuerRef is missing (add `issuerRef`)"),
    ("GEN-API-002", "Service minio", put("kind", to="Servise"), "serves no Servise in v1"),
    ("GEN-API-002", MINIO, put("apiVersion", to="apps/v1beta2"), "StatefulSet in apps/v1beta2 (write it in apps/"),
    ("GEN-API-002", INGRESS, put("apiVersion", to="extensions/v1beta1"), "(write it in networking.k8s.io/v1)"),
    ("GEN-API-003", "Cohort teams", put("apiVersion", to="kueue.x-k8s.io/v1"), "no version v1 (write it in kueue"),
    ("GEN-API-004", "Cohort teams", put("kind", to="Kohort"), "no CRD of Kohort.kueue.x-k8s.io"),
    ("GEN-API-005", "StorageClass rbd-nvme", put("metadata", "namespace", to="x"), "lives in no namespace"),
    ("GEN-API-005", CEPH, drop("metadata", "namespace"), "lives in a namespace, and none is named"),
    ("GEN-API-005", QUEUE, put("metadata", "namespace", to="vision"), "lives in no namespace"),
    ("GEN-REF-001", MINIO, put(*POD, "serviceAccountName", to="nobody"), "no ServiceAccount minio/nobody"),
    ("GEN-REF-001", "ConfigMap minio-setup-script", put("metadata", "name", to="x"), "ConfigMap minio/minio-setup-sc"),
    ("GEN-REF-001", RGW, put("spec", "issuerRef", "name", to="x"), "no ClusterIssuer x"),
    ("GEN-REF-001", "LocalQueue default", put("spec", "clusterQueue", to="visio"), "visio (write `vision`)"),
    ("GEN-REF-001", QUEUE, put("spec", "cohortName", to="x"), "no Cohort x"),
    ("GEN-REF-001", "ResourceFlavor cpu", put("metadata", "name", to="x"), "no ResourceFlavor cpu"),
    ("GEN-REF-001", MINIO, put(*LABEL, "kueue.x-k8s.io/queue-name", to="x"), "no LocalQueue minio/x"),
    ("GEN-REF-001", DRIVE, put("spec", "storageClassName", to="x"), "no StorageClass x"),
    ("GEN-REF-001", "Namespace minio", put("metadata", "name", to="x"), "no Namespace minio"),
    ("GEN-REF-001", "Ingress minio", put("spec", "tls", 0, "secretName", to="x"), "no Secret minio/x"),
    ("GEN-REF-001", INGRESS, put("spec", "tls", 0, "secretName", to="x"), None),  # cert-manager makes it
    ("GEN-REF-001", INGRESS, put(*ISSUER, to="x"), "no ClusterIssuer x"),
    ("GEN-REF-001", APP, put("spec", "project", to="x"), "no AppProject argocd/x"),
    ("GEN-REF-001", "CephFilesystem shared", put("metadata", "name", to="x"), "no CephPool rook-ceph/shared-fast"),
    ("GEN-REF-001", STORE, put("metadata", "name", to="x"), "no CephObjectStore rook-ceph/datasets"),
    ("GEN-REF-001", "StorageClass rbd-nvme", put("provisioner", to="x.csi.example.org"), "no CSIDriver x.csi.ex"),
    ("GEN-REF-001", BACKUP, put("spec", "templates", 0, "steps", 0, 0, "template", to="x"), "minio-backup/x"),
    ("GEN-REF-001", NIGHTLY, put("spec", CRON, "arguments", "parameters", 3, "value", to="x"), "Secret rook-ceph/x"),
    ("GEN-REF-002", MINIO, put(*MAIN, "env", 0, "valueFrom", "secretKeyRef", "key", to="x"), "root has no key x"),
    ("GEN-REF-003", APP, put(*WAVE, to="1"), "comes with issuers in wave"),
    ("GEN-REF-004", APP, put("spec", "destination", "namespace", to="x"), "nothing makes the Namespace x"),
    ("GEN-REF-005", MINIO, put("spec", "serviceName", to="x"), "no Service minio/x"),
    ("GEN-SEL-001", "Service minio", put("spec", "selector", to={"x": "y"}), "no pod in minio has x=y"),
    ("GEN-SEL-001", "PodDisruptionBudget minio", put("spec", "selector", to=ANY), "no pod in minio has x=y"),
    ("GEN-SEL-001", "NetworkPolicy minio", put("spec", "podSelector", to=ANY), "no pod in minio has x=y"),
    ("GEN-SEL-002", MINIO, put(*POD[:-1], "metadata", "labels", to={"x": "y"}), "does not match the labels of its own"),
    ("GEN-SEL-003", MINIO, put(*MAIN, "ports", to=[{"containerPort": 1}]), "which StatefulSet minio/minio does not"),
    ("GEN-SEL-003", "Service minio", put("spec", "ports", 0, "targetPort", to="https-apy"), "targetPort: https-api)"),
    ("GEN-SEL-004", "Service minio", put("spec", "ports", to=[{"name": "x", "port": 1}]), "minio has no port"),
    ("GEN-SEL-006", MINIO, put(*MAIN, "livenessProbe", to={"tcpSocket": {"port": "x"}}), "asks for port x"),
    ("GEN-ARGO-002", APP, put("spec", "source", "repoURL", to="x"), "does not allow the repository x"),
    ("GEN-ARGO-002", APP, put("spec", "destination", "namespace", to="x"), "does not allow the namespace x"),
    ("GEN-ARGO-002", "AppProject tenants", put("spec", "destinations", to=NOT_VISION), "the namespace vision"),
    ("GEN-ARGO-002", "AppProject storage", put("spec", "clusterResourceWhitelist", to=[]), "the kind StorageClass"),
    ("GEN-ARGO-002", "AppProject root", put("spec", "namespaceResourceWhitelist", to=[]), "the kind Application"),
    (
        "GEN-ARGO-005",
        INGRESS,
        together(put("metadata", "annotations", to={}), put("spec", "ingressClassName", to="nginx")),
        "waits for its address",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("code", "which", "change", "verdict"), BROKEN)
def test_a_broken_object_is_found(
    ml50_built: Built, code: str, which: str, change: Change, verdict: str | None
) -> None:
    found = [text(one) for one in RULES[code].findings(broken(ml50_built, which, change))]
    assert (found == []) if verdict is None else any(verdict in one for one in found), found


PATHS = [{"backend": {"service": {"name": "minio", "port": {"number": 1}}}}]
MONITORING = "monitoring.coreos.com/v1"


def made(kind: str, version: str, **content: Any) -> Manifest:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "x", "namespace": "minio"}, **content}


def monitor(selector: Manifest) -> Manifest:
    return made("ServiceMonitor", MONITORING, spec={"selector": selector, "endpoints": [{"port": "x"}]})


def webhook(kind: str, key: str) -> Manifest:
    service = {"clientConfig": {"service": {"name": "x", "namespace": "minio"}}}
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": "x"}, key: [service]}


ADDED: list[tuple[str, str, Manifest, str]] = [
    ("GEN-API-004", "minio", made("Widget", "example.org/v1"), "no CRD of Widget.example.org"),
    ("GEN-REF-001", "minio", webhook("ValidatingWebhookConfiguration", "webhooks"), "no Service minio/x"),
    ("GEN-REF-001", "minio", made("PersistentVolumeClaim", "v1", spec={"storageClassName": "x"}), "no StorageClass x"),
    ("GEN-REF-003", "cilium", made("Certificate", "cert-manager.io/v1", spec={}), "comes with cert-manager in wave"),
    ("GEN-SEL-001", "minio", monitor(ANY), "no Service in minio has x=y"),
    ("GEN-SEL-005", "minio", monitor({"matchExpressions": []}) | {}, "no Service it selects has a port named x"),
    (
        "GEN-SEL-004",
        "minio",
        made("Ingress", "networking.k8s.io/v1", spec={"rules": [{"http": {"paths": PATHS}}]}),
        "minio has no port 1",
    ),
    ("GEN-ARGO-002", "minio", made("ClusterRole", "v1") | {"metadata": {"name": "x"}}, "the kind ClusterRole"),
    ("GEN-ARGO-003", "minio", made("Endpoints", "v1"), "Argo CD leaves out Endpoints"),
    ("GEN-ARGO-004", "minio", made("Namespace", "v1") | {"metadata": {"name": "x"}}, "a Namespace in the Appl"),
    ("GEN-ARGO-005", "cilium", made("Service", "v1", spec={"type": "LoadBalancer"}), "waits for its address"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "component", "manifest", "verdict"), ADDED)
def test_an_object_that_should_not_be_there_is_found(
    ml50_built: Built, code: str, component: str, manifest: Manifest, verdict: str
) -> None:
    found = [text(one) for one in RULES[code].findings(added(ml50_built, component, manifest))]
    assert any(verdict in one for one in found), found


def test_an_object_of_two_applications_is_found(ml50_built: Built) -> None:
    storage = next(one for one in ml50_built.objects if one.component == "scratch")
    (found,) = RULES["GEN-ARGO-001"].findings(added(ml50_built, "minio", storage.manifest))
    assert found.object
    assert found.object.component == "minio"
    assert found.message == f"the same object is in scratch ({storage.file}) as well"


def test_a_patch_that_matches_nothing_is_found_where_everything_is_seen(ml50_built: Built) -> None:
    minio = find(ml50_built, MINIO)
    good = TargetedPatch(
        "minio", "overlays/ml50/minio/custom/kustomization.yaml", 0, {"kind": "StatefulSet", "name": "min.*"}
    )
    wrong = TargetedPatch("minio", good.file, 1, {"kind": "StatefulSet", "name": "mini"})
    vendored = structs.replace(ml50_built, patches=(good, wrong), objects=(minio,), unseen=())
    (found,) = RULES["GEN-ARGO-006"].findings(vendored)
    assert (found.file, found.at) == (good.file, ("patches", 1, "target"))
    unseen = structs.replace(vendored, unseen=("minio",))
    assert (list(RULES["GEN-ARGO-006"].findings(unseen)), argo_cd.unproven(unseen)) == ([], 1)


def test_what_charts_may_bring_is_counted_and_not_found(ml50_built: Built) -> None:
    pod = {"serviceAccountName": "x", "containers": []}
    there = made("Pod", "v1", spec=pod) | {"metadata": {"name": "x", "namespace": "rook-ceph"}}
    hidden = added(ml50_built, "ceph-cluster", there)
    seen = structs.replace(hidden, unseen=())
    assert len(references.unproven(hidden)) == len(references.unproven(ml50_built)) + 1
    assert "no ServiceAccount rook-ceph/x" in "".join(text(one) for one in RULES["GEN-REF-001"].findings(seen))
    assert "rook-ceph/x" not in "".join(text(one) for one in RULES["GEN-REF-001"].findings(hidden))


@pytest.mark.parametrize(
    ("which", "change", "verdict"),
    [
        (MINIO, put(*POD, "priorityClassName", to="x"), "no PriorityClass x"),
        (INGRESS, put("spec", "ingressClassName", to="x"), "no IngressClass x"),
    ],
)
def test_kinds_that_charts_bring_for_all_are_missed_once_all_is_seen(
    ml50_built: Built, which: str, change: Change, verdict: str
) -> None:
    hidden = broken(ml50_built, which, change)
    assert list(RULES["GEN-REF-001"].findings(hidden)) == []
    assert len(references.unproven(hidden)) == len(references.unproven(ml50_built)) + 1
    found = RULES["GEN-REF-001"].findings(structs.replace(hidden, unseen=()))
    assert any(verdict in text(one) for one in found)


def test_selectors_of_what_charts_make_are_counted_and_not_found(ml50_built: Built) -> None:
    manifest = made("Service", "v1", spec={"selector": {"x": "y"}}) | {"metadata": {"name": "x", "namespace": "argocd"}}
    hidden = added(ml50_built, "argo-cd", manifest)
    assert list(RULES["GEN-SEL-001"].findings(hidden)) == []
    assert selectors.unproven(hidden) == selectors.unproven(ml50_built) + 1
    assert len(list(RULES["GEN-SEL-001"].findings(structs.replace(hidden, unseen=())))) > 0


CHARTS: list[tuple[Judge, tuple[str, str], Change, str]] = [
    (values.unknown, ("kueue", "kueue"), put("controllerManager", to={"replicaz": 2}), "controllerManager.replicaz"),
    (values.unknown, ("rook-ceph", "rook-ceph"), put("ceph-csi-operator", "x", to=1), "ceph-csi-operator.x"),
    (values.unknown, ("volcano", "volcano"), put("customs", to={}), ": customs"),
    (values.schema_problems, ("cilium", "cilium"), put("MTU", to="9000"), "$.MTU"),
    (values.schema_problems, ("cert-manager", "cert-manager"), put("replicas", to=2), "replicas"),
    (judges.dangling, ("kueue", "kueue"), put("existingSecret", to="x"), "no Secret kueue-system/x"),
    (judges.dangling, ("kueue", "kueue"), put("a", to=[{"priorityClassName": "x"}]), "no PriorityClass x"),
    (judges.late, ("cilium", "cilium"), put("a", to={"storageClass": "rbd-nvme"}), "comes from ceph-cluster"),
    (judges.addressless, ("kueue", "kueue"), put("ingress", to={"enabled": True}), "kueue: ingress: may wait"),
    (judges.leaking, ("cilium", "cilium"), put("key", to="glpat-" + 20 * "x"), "cilium: Values cilium"),
    (judges.node_less, ("scratch", "local-static-provisioner"), put("nodeSelector", to={"a": "b"}), "scratch: Values"),
    (judges.kept_out, ("scratch", "local-static-provisioner"), put("tolerations", to=[]), "off gpu-01"),
    (judges.kept_out, ("gpu-operator", "gpu-operator"), put("daemonsets", to={}), "off gpu-15"),
    (judges.kept_out, ("node-feature-discovery",) * 2, drop("worker", "tolerations"), "off nas-1"),
]  # fmt: skip


@pytest.mark.parametrize(("judge", "chart", "change", "verdict"), CHARTS)
def test_a_wrong_chart_value_is_found(
    ml50_built: Built, judge: Judge, chart: tuple[str, str], change: Change, verdict: str
) -> None:
    changed = releases(ml50_built)
    change(changed[chart].values)
    assert any(verdict in found for found in judge(ml50_built, changed))


def test_a_release_in_a_namespace_that_is_not_there_is_found(ml50_built: Built) -> None:
    charts = releases(ml50_built)
    charts["kueue", "kueue"] = charts["kueue", "kueue"]._replace(namespace="x")
    assert "kueue: values of kueue: no Namespace x" in judges.dangling(ml50_built, charts)


def test_a_chart_without_a_values_file_is_told(ml50_built: Built) -> None:
    charts = releases(ml50_built)
    charts["csi-nfs", "x"] = charts["kueue", "kueue"]._replace(name="x", version="1")
    assert values.no_file(ml50_built, charts) == ["csi-nfs: x 1"]


def test_every_rule_and_judge_is_shown_to_find_something() -> None:
    """In this file; the rules that are missing from the tables have tests of their own."""
    shown = {code for code, *_ in (*BROKEN, *ADDED)} | {"GEN-ARGO-001", "GEN-ARGO-006", "GEN-ARGO-007"}
    assert shown == OURS
    judged = {judge for judge, *_ in CHARTS} | {values.no_file}
    assert judged == {*judges.ABOUT_VALUES, values.unknown, values.schema_problems, values.no_file}

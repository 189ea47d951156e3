"""Kubeflow's older training operator, for what Trainer has not: TFJobs, which TensorFlow's own strategies run in."""

from generator.components.closed import Controller, closed
from generator.components.common import CLUSTER_ROLES, CRD, WEBHOOKS
from generator.components.component import Component, Ignore, Manifest, Namespace, Patch, Secret, Tier
from generator.components.definition import Definition, Evidence, Version, Versions
from generator.components.jobs import OPERATORS_OWN, RUN_POLICY, JobKind, operator_leaves, plain, run_policy
from generator.components.operated import Api
from generator.components.parts import NO_POD, UNPRIVILEGED, injected_ca, pod_security, resources, webhooks_anew
from generator.components.volcano import SCHEDULER
from generator.model.cluster import Cluster

MANIFESTS = "https://raw.githubusercontent.com/kubeflow/trainer/v1.9.4/manifests/base"
VERSIONS = Versions(
    "training-operator",
    (
        Version(
            version="v1.9.4",
            manifests=tuple(
                f"{MANIFESTS}/{path}.yaml"
                for path in (
                    "crds/kubeflow.org_tfjobs",
                    "rbac/cluster-role-binding",
                    "rbac/role",
                    "rbac/service-account",
                    "service",
                    "deployment",
                    "webhook/manifests",
                )
            ),
            # The tag that upstream's overlay of this release has (kubeflow/trainer, pull request 3947).
            images={"operator": "ghcr.io/kubeflow/training-v1/training-operator:v1-93c5489"},
            schemas=("kubeflow-training-operator/v1.9.4",),
        ),
    ),
)

NAMESPACE = "training-operator"
CERTIFICATE = "training-operator-webhook-cert"
OPERATOR = Controller(
    name="training-operator",
    namespace=NAMESPACE,
    labels={"control-plane": "kubeflow-training-operator"},
    called=(9443,),
    metrics=(8080,),
)
GROUP = "kubeflow.org"
ASKED: Manifest = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "TFJob",
    "metadata": {"name": "asked"},
    "spec": {"tfReplicaSpecs": {"Worker": {"replicas": 1, "template": {"spec": NO_POD}}}},
}
"""What its webhook lets pass, once it answers."""
DEMANDS = {
    f"object.spec.tfReplicaSpecs.all(name, {plain('object.spec.tfReplicaSpecs[name].template')})": OPERATORS_OWN,
    **RUN_POLICY,
}


def training_operator(cluster: Cluster) -> Component:
    """Install upstream's manifests of TFJob alone: the MPIJob beside it has the name of the MPI operator's, and the
    init container of its PyTorchJobs asks for less memory than it may use, which teams' namespaces refuse.
    """
    version = VERSIONS.of(cluster)
    return Component(
        name="training-operator",
        tier=DEFINITION.tier,
        summary="TFJobs: distributed training of TensorFlow",
        version=version.version,
        namespaces=(Namespace(NAMESPACE),),
        base=(placeholder(),),
        objects=closed(cluster, OPERATOR),
        manifests=version.manifests,
        patches=(finished(version.images["operator"]), account(), webhook()),
        needs=("volcano", "kueue"),
        secrets=(certificate(),),
        ignore=(
            Ignore(group="", kind="Secret", name=CERTIFICATE, pointers=("/data",)),
            *injected_ca("admissionregistration.k8s.io/ValidatingWebhookConfiguration"),
        ),
        kinds=DEFINITION.chart_kinds,
    )


def placeholder() -> Manifest:
    """Return the empty Secret that the operator writes its certificate into: it makes none itself."""
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": CERTIFICATE, "namespace": NAMESPACE}}


def certificate() -> Secret:
    """Declare what the operator makes for its webhook."""
    return Secret(
        name=CERTIFICATE,
        namespace=NAMESPACE,
        keys=("ca.crt", "ca.key", "tls.crt", "tls.key"),
        source="in-cluster",
        by="training-operator",
        loss="harmless",
        rotate="delete its data and restart Deployment training-operator: it makes a new one",
        readers=("Deployment training-operator",),
        turn=webhooks_anew(
            "the operator",
            "training-operator",
            trusted=("validatingwebhookconfigurations/validator.training-operator.kubeflow.org",),
            asks=("/apis/kubeflow.org/v1/namespaces/default/tfjobs", ASKED),
        ),
    )


def finished(image: str) -> Patch:
    """Finish upstream's Deployment: gangs by Volcano, and what a restricted namespace wants. It stays one pod:
    upstream's role has no leases, by which two would choose a leader.
    """
    pod, container = "/spec/template/spec", "/spec/template/spec/containers/0"
    args = [f"--gang-scheduler-name={SCHEDULER}", "--enable-scheme=tfjob"]
    return Patch(
        target={"group": "apps", "version": "v1", "kind": "Deployment", "name": "training-operator"},
        operations=(
            {"op": "replace", "path": f"{container}/image", "value": image},
            {"op": "add", "path": f"{container}/args", "value": args},
            {"op": "add", "path": f"{container}/resources", "value": resources("50m", "128Mi", "1Gi")},
            {"op": "replace", "path": f"{container}/securityContext", "value": UNPRIVILEGED},
            {"op": "add", "path": f"{pod}/securityContext", "value": pod_security(65532)},
        ),
    )


def account() -> Patch:
    """Say where the account is that upstream binds to its role."""
    return Patch(
        target={
            "group": "rbac.authorization.k8s.io",
            "version": "v1",
            "kind": "ClusterRoleBinding",
            "name": "training-operator",
        },
        operations=({"op": "add", "path": "/subjects/0/namespace", "value": NAMESPACE},),
    )


def webhook() -> Patch:
    """Keep the webhook of TFJobs, the fourth of five, and lead it to the operator, as upstream's own patch does."""
    service = "/webhooks/0/clientConfig/service"
    return Patch(
        target={
            "group": "admissionregistration.k8s.io",
            "version": "v1",
            "kind": "ValidatingWebhookConfiguration",
            "name": "validating-webhook-configuration",
        },
        operations=(
            *({"op": "remove", "path": f"/webhooks/{number}"} for number in (4, 2, 1, 0)),
            {"op": "test", "path": f"{service}/path", "value": "/validate-kubeflow-org-v1-tfjob"},
            {"op": "replace", "path": f"{service}/name", "value": "training-operator"},
            {"op": "replace", "path": f"{service}/namespace", "value": NAMESPACE},
            {"op": "replace", "path": "/metadata/name", "value": "validator.training-operator.kubeflow.org"},
        ),
    )


DEFINITION = Definition(
    name="training-operator",
    tier=Tier.SCHEDULING,
    make=training_operator,
    wanted=lambda cluster: "training-operator" in cluster.frameworks,
    absence="frameworks do not name training-operator",
    versions=VERSIONS,
    namespaces=(NAMESPACE,),
    chart_kinds=(CRD, WEBHOOKS[1], *CLUSTER_ROLES),
    apis=(Api(group=GROUP, kinds=("TFJob",), title="kubeflow.org of TensorFlow"),),
    jobs=(
        JobKind(
            group=GROUP,
            kind="TFJob",
            framework="kubeflow.org/tfjob",
            places_itself=True,
            demands=DEMANDS,
            broken=run_policy,
        ),
    ),
    changes=lambda: (operator_leaves("GEN-CHG-634", "training-operator", "tfjobs"),),
    shown_by=Evidence(images=("/training-v1/training-operator", "kubeflow/training-operator")),
    notes="TFJobs alone, for TensorFlow's MultiWorkerMirroredStrategy: PyTorch and JAX are Trainer's, MPI has an "
    "operator of its own. From upstream's manifests at a tag.",
)

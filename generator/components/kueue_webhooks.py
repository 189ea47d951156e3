"""The certificate of Kueue's webhooks: what Kueue makes, where it is trusted, and how another one comes."""

from generator.components.common import WEBHOOKS, fullname
from generator.components.component import Ignore, Manifest, Secret
from generator.components.parts import injected_ca, webhooks_anew

ASKED: Manifest = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "ResourceFlavor",
    "metadata": {"name": "asked"},
    "spec": {},
}
"""What its webhooks let pass, once they answer."""


def certificate(release: str, namespace: str) -> Secret:
    """Declare what Kueue makes for the webhooks of a release; the chart emits it empty."""
    name = fullname(release, "kueue")
    kinds = ("localqueues", "clusterqueues", "workloads", "cohorts", "multikueueclusters")
    return Secret(
        name=f"{name}-webhook-server-cert",
        namespace=namespace,
        keys=("ca.crt", "ca.key", "tls.crt", "tls.key"),
        source="in-cluster",
        by="kueue",
        loss="harmless",
        rotate=f"delete its data and restart Deployment {name}-controller-manager: Kueue makes a new one",
        readers=(f"Deployment {name}-controller-manager",),
        turn=webhooks_anew(
            "Kueue",
            f"{name}-controller-manager",
            trusted=(
                f"validatingwebhookconfigurations/{name}-validating-webhook-configuration",
                f"mutatingwebhookconfigurations/{name}-mutating-webhook-configuration",
                *(f"customresourcedefinitions/{kind}.kueue.x-k8s.io" for kind in kinds),
            ),
            asks=("/apis/kueue.x-k8s.io/v1beta2/resourceflavors", ASKED),
        ),
    )


def injected(secret: str) -> tuple[Ignore, ...]:
    """Return what Kueue writes into the chart's objects: its certificate and who signed it."""
    return (
        Ignore(group="", kind="Secret", name=secret, pointers=("/data",)),
        *injected_ca(*WEBHOOKS),
        Ignore(
            group="apiextensions.k8s.io",
            kind="CustomResourceDefinition",
            expressions=(".spec.conversion.webhook.clientConfig.caBundle",),
        ),
    )

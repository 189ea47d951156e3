"""What another version of Kubernetes means. kubeadm v1.35.3: `cmd/kubeadm/app/phases/upgrade/policy.go`."""

from generator.model.change import VERSION, ChangeRule, Effect, FieldChange, ObjectChange, named
from generator.model.versions import goes_to_the_next_minor, minors, next_minor, of, skips_a_minor

SKEW = "https://kubernetes.io/releases/version-skew-policy/"
STEP = "clusters/<cluster>/bootstrap/README.md, Later: another version of Kubernetes"


def down(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether it is the minor version of Kubernetes before."""
    return change.name == "kubernetes" and minors(field) == -1


RULES = (
    ChangeRule(
        code="GEN-CHG-330",
        kinds=(VERSION,),
        paths=("version",),
        effect=Effect.IMPOSSIBLE,
        reason="kubeadm refuses to go from {old} to {new}: one minor version at a time, up or down",
        instead=f"{{old}} to the newest of {{next}} first, on every node, by {STEP}; then the next",
        link=SKEW,
        when=of("kubernetes", skips_a_minor),
        words=next_minor,
    ),
    ChangeRule(
        code="GEN-CHG-331",
        kinds=(VERSION,),
        paths=("version",),
        effect=Effect.DRAIN,
        reason="nothing happens until somebody runs kubeadm; then a kubelet of another minor version may not take over "
        "pods that run, so each node is drained first",
        instead=f"{STEP}: control plane first, one node after the other, then each worker: drain, upgrade, uncordon",
        link=SKEW,
        when=of("kubernetes", goes_to_the_next_minor),
    ),
    ChangeRule(
        code="GEN-CHG-332",
        kinds=(VERSION,),
        paths=("version",),
        effect=Effect.UNKNOWN,
        reason="kubeadm goes back one minor version, but the older API server may not read what the newer one has "
        "stored, and the older kubelet not what pods were started with",
        instead="a backup of etcd from before, tried on another cluster",
        link=SKEW,
        when=down,
    ),
    ChangeRule(
        code="GEN-CHG-333",
        kinds=(VERSION,),
        effect=Effect.BY_HAND,
        reason="nothing happens until somebody runs kubeadm; pods run on meanwhile",
        instead=f"{STEP}, one node after the other",
        when=named("kubernetes"),
    ),
)

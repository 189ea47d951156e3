"""Rules on what stands beside a team's jobs: Services, Secrets, claims of buckets, backups, disruption budgets."""

from generator.components.common import TRACKING
from generator.components.component import Manifest
from generator.components.rook_ceph import BUCKETS
from generator.components.tenants.pods import annotation
from generator.components.tenants.policy import BY_CONTROLLER, CONTROLLER, ENTERING, EVERYWHERE, policy, resources
from generator.components.volsync.names import GROUP as VOLSYNC
from generator.components.volsync.names import NAMESPACE as RESTORED_FROM
from generator.components.volsync.names import RESTORE
from generator.components.volsync.names import SECRETS as BACKUP_SECRETS

RESTORER = f"request.userInfo.username == 'system:serviceaccount:{RESTORED_FROM}:{RESTORE}'"
"""The account of runs that bring volumes back."""

TOKEN = "kubernetes.io/service-account-token"  # noqa: S105 - a type of Secrets
NO_TOKENS = "let pods have the token that Kubernetes mounts: tokens of accounts end with their pods"
NO_PORTS = (
    "leave type out: addresses outside the cluster and ports of nodes are not a team's to take; a team with `hosts` is "
    "reached by routes"
)
NO_ADDRESSES = "leave externalIPs out: an address outside the cluster is not a team's to take"
SOME = "^[0-9]*[1-9][0-9]*%?$"
"""How many pods may be missing: one or more."""
LETS_SOME_GO = "say spec.maxUnavailable: 1 or more, and no minAvailable: nodes are drained for upgrades"
LETS_BROKEN_GO = (
    "say spec.unhealthyPodEvictionPolicy: AlwaysAllow: a pod that does not run would keep its node from being drained"
)


def addresses() -> Manifest:
    """Refuse Services that take an address by naming it: nodes would send others' traffic to the team's pods
    (CVE-2020-8554).
    """
    return policy(
        "gen-no-external-addresses",
        [resources("", ["services"], "CREATE", "UPDATE")],
        validations={"object.spec.?externalIPs.orValue([]).size() == 0": NO_ADDRESSES},
        conditions={"entering": ENTERING},
    )  # fmt: skip


def tokens() -> Manifest:
    """Refuse Secrets that the token of a ServiceAccount is written into, which outlives the pods and those who had the
    right to read it.
    """
    return policy(
        "gen-no-token-secrets",
        [resources("", ["secrets"], "CREATE")],
        validations={
            f"{BY_CONTROLLER} || object.?type.orValue('') != '{TOKEN}'": NO_TOKENS,
        },
    )  # fmt: skip


def volume_backups() -> Manifest:
    """Leave backups of volumes and what brings them back to who may write them everywhere, as Argo CD and
    administrators may, and to the operation that brings them back: for whoever writes such an object VolSync starts
    pods with any claim and any Secret of the namespace, as root where the namespace's annotation lets it.
    """
    return policy(
        "gen-volume-backups",
        [resources(VOLSYNC, ["*"], "CREATE", "UPDATE")],
        validations={
            f"{CONTROLLER} || {RESTORER} || {EVERYWHERE}":
            "backups of a team's volumes are declared in the cluster file (`volumeBackups`), and brought back by the "
            "platform's people",
        },
        conditions={"entering": ENTERING},
    )  # fmt: skip


def backup_secrets() -> Manifest:
    """Leave the Secrets of volume backups, and the ConfigMap with whom they trust elsewhere, to who may write such
    everywhere, as bootstrap, cert-manager and Argo CD may. With another repository or password in one, backups would go
    well and bring nothing back; one that is gone stops them. To read them is left to members: whoever may run pods in a
    namespace can mount any Secret of it.
    """
    return policy(
        "gen-volume-backup-secrets",
        [resources("", ["secrets", "configmaps"], "CREATE", "UPDATE", "DELETE")],
        validations={
            f"{CONTROLLER} || {EVERYWHERE}":
            f"leave Secrets and ConfigMaps whose names begin with {BACKUP_SECRETS} as they are: backups of the team's "
            "volumes are written and read with them; name others otherwise",
        },
        conditions={
            "of-a-backup": "(request.operation == 'DELETE' ? oldObject : object).metadata.name"
            f".startsWith('{BACKUP_SECRETS}')",
        },
    )  # fmt: skip


def tracking() -> Manifest:
    """Leave it to Argo CD what is an object of its Applications. Of what else says so it takes an Application out of
    sync, and where that wants its pruning confirmed, no sync goes on: nobody's rights would be taken back any more
    (v3.5: `gitops-engine/pkg/sync/sync_context.go`).
    """
    said, before = annotation("object", TRACKING), annotation("oldObject", TRACKING)
    return policy(
        "gen-tracking",
        [resources("*", ["*"], "CREATE", "UPDATE")],
        validations={f"{CONTROLLER} || {EVERYWHERE}": f"leave the annotation {TRACKING} to Argo CD"},
        conditions={
            "tracked": f"{said} != '' && (request.operation == 'CREATE' || {said} != {before})",
        },
    )  # fmt: skip


def bucket_claims() -> Manifest:
    """Leave claims of buckets to Argo CD and Rook. Rook makes the user of a claim the owner of the bucket that it
    names, whoever owned that before, and a claim may open a bucket to others (v1.20.6: `Provision` in
    `pkg/operator/ceph/object/bucket/provisioner.go`). Members have no right to claims at all; this holds for whoever
    else may write to their namespace.
    """
    return policy(
        "gen-bucket-claims",
        [resources(BUCKETS, ["*"], "CREATE", "UPDATE")],
        validations={
            BY_CONTROLLER:
            "buckets of a team are declared in the cluster file (`buckets` of the team): a claim takes the bucket that "
            "it names from whoever has it",
        },
        conditions={"entering": ENTERING},
    )  # fmt: skip


def budgets() -> Manifest:
    """Refuse budgets of teams that could stop a drain for ever: those that let no pod go, or count pods that do not run
    at all. How many may be missing is said outright: what a minimum leaves depends on an autoscaler.
    """
    missing = "object.spec.?maxUnavailable"
    some = f"{missing}.hasValue() && string({missing}.value()).matches('{SOME}')"
    return policy(
        "gen-disruption-budgets",
        [resources("policy", ["poddisruptionbudgets"], "CREATE", "UPDATE")],
        validations={
            some: LETS_SOME_GO,
            "object.spec.?unhealthyPodEvictionPolicy.orValue('') == 'AlwaysAllow'": LETS_BROKEN_GO,
        },
        conditions={"entering": ENTERING},
    )  # fmt: skip

"""What changes of MinIO's servers and drives mean.

Read in MinIO's `cmd/bootstrap-peer-server.go`: servers compare binaries, command lines and `MINIO_*` with each other at
their start, and wait until as many as half of the others are equal. What fixes a pool's layout: its `docs/distributed`.
"""

import re

from generator.components.minio.layout import LABELS, NAMESPACE, RENEWAL
from generator.components.minio.setup_changes import SETUP_CHANGES
from generator.model.change import ChangeRule, Effect, FieldChange, ObjectChange
from generator.model.compared import came, every, is_protected, labelled, named, stayed

SERVERS = ("apps/StatefulSet",)
DRIVES = ("/PersistentVolume",)
POD = "spec.template.spec"
ENVIRONMENT = f"{POD}.containers.*.env"
DOCUMENTATION = "https://github.com/minio/minio/blob/master/docs/distributed"
TOGETHER = f"`{RENEWAL}`, all at once"

_RANGES = re.compile(r"\{\d+\.\.\.\d+\}")

is_ours = named(NAMESPACE)
is_drive = labelled(*next(iter(LABELS.items())))


def _endpoints(value: object) -> list[str]:
    return [one for one in value if "://" in str(one)] if isinstance(value, list) else []


def pool_appended(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether server pools come after those that are there."""
    old, new = _endpoints(field.old), _endpoints(field.new)
    return len(new) > len(old) > 0 and new[: len(old)] == old


def nothing_appended(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether no server pool comes after those that are there."""
    return not pool_appended(change, field)


def pool_lost(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a server pool is no longer named, or stands elsewhere in the list."""
    old, new = _endpoints(field.old), _endpoints(field.new)
    return len(new) < len(old) or (old != new and sorted(old) == sorted(new))


def pool_reshaped(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a server pool has other numbers of servers or drives."""
    old, new = ([_RANGES.findall(one) for one in _endpoints(value)] for value in (field.old, field.new))
    return len(old) == len(new) and old != new and sorted(old) != sorted(new)


def reshaped(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether servers ask for more or fewer drives, or expect other servers or drives."""
    claims = field.path[1] == "volumeClaimTemplates"
    return not stayed(change, field) if claims else pool_reshaped(change, field)


def of_the_key(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a field is about the key that MinIO encrypts with, and was there before."""
    return not came(change, field) and any("KMS" in str(step) for step in field.path)


def of_parity(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a field is about how many drives of a set hold parity."""
    return any("STORAGE_CLASS" in str(step) for step in field.path)


RUNNING = (
    ChangeRule(
        code="GEN-CHG-470",
        kinds=SERVERS,
        paths=(POD,),
        effect=Effect.BY_HAND,
        reason="its pods are only replaced when somebody deletes them",
        instead=TOGETHER,
        when=is_ours,
    ),
    ChangeRule(
        code="GEN-CHG-471",
        kinds=SERVERS,
        paths=(f"{POD}.containers.*.image", f"{POD}.containers.*.args", ENVIRONMENT),
        effect=Effect.OUTAGE,
        armed=True,
        reason="servers that differ in this wait for each other: one that restarts alone stays away, and when all are "
        "restarted together MinIO is away for a minute or two",
        instead=TOGETHER,
        link="https://github.com/minio/minio/blob/master/cmd/bootstrap-peer-server.go",
        when=every(is_ours, nothing_appended),
    ),
    ChangeRule(
        code="GEN-CHG-472",
        kinds=SERVERS,
        paths=(f"{POD}.containers.*.args",),
        effect=Effect.OUTAGE,
        armed=True,
        reason="a server pool more: once all servers are restarted together, new objects go where there is room; old "
        "ones stay where they are",
        instead=f"when its servers run: `gen workflow submit minio-expansion`; without operations {TOGETHER}",
        link=f"{DOCUMENTATION}/README.md",
        when=every(is_ours, pool_appended),
    ),
    ChangeRule(
        code="GEN-CHG-473",
        kinds=SERVERS,
        paths=(f"{POD}.containers.*.args",),
        effect=Effect.DATA_LOSS,
        armed=True,
        reason="MinIO no longer knows a server pool that it knew, or takes it for another: what "
        "is stored there is gone",
        instead="`mc admin decommission start` to its end first, and never change the order of pools",
        link=f"{DOCUMENTATION}/DECOMMISSION.md",
        when=every(is_ours, pool_lost),
    ),
    ChangeRule(
        code="GEN-CHG-474",
        kinds=SERVERS,
        paths=(f"{POD}.containers.*.args", "spec.volumeClaimTemplates"),
        effect=Effect.IMPOSSIBLE,
        reason="a server pool keeps its number of servers and of drives: MinIO wrote them on every drive, and the API "
        "server refuses other claims",
        instead="another pool of nodes in `storage.objects.expansions`",
        link=f"{DOCUMENTATION}/DESIGN.md",
        when=every(is_ours, reshaped),
    ),
    ChangeRule(
        code="GEN-CHG-475",
        kinds=SERVERS,
        paths=("spec.replicas",),
        effect=Effect.OUTAGE,
        reason="servers come or go that the others do not expect: with half of them away nothing is written",
        instead="another pool of nodes in `storage.objects.expansions`",
        link=f"{DOCUMENTATION}/DESIGN.md",
        when=is_ours,
    ),
    ChangeRule(
        code="GEN-CHG-476",
        kinds=SERVERS,
        paths=(f"{ENVIRONMENT}.*",),
        effect=Effect.OUTAGE,
        armed=True,
        reason="once all servers are restarted together, new objects get the other parity; old ones keep theirs",
        instead=TOGETHER,
        link="https://github.com/minio/minio/blob/master/docs/erasure/storage-class/README.md",
        when=every(is_ours, of_parity),
    ),
    ChangeRule(
        code="GEN-CHG-477",
        kinds=SERVERS,
        paths=(f"{ENVIRONMENT}.*",),
        effect=Effect.DATA_LOSS,
        armed=True,
        reason="MinIO has another key, or none: what it encrypted with this one cannot be read",
        instead="leave the key as long as one object is encrypted with it",
        link="https://github.com/minio/minio/blob/master/docs/kms/README.md",
        when=every(is_ours, of_the_key),
    ),
)

STANDING = (
    ChangeRule(
        code="GEN-CHG-478",
        kinds=SERVERS,
        on="removed",
        effect=Effect.OUTAGE,
        reason="it is protected: servers and drives stay, with all objects; but where the Services and the certificate "
        "leave with it nobody reaches them, nor they each other",
        instead="copy what is needed, then delete StatefulSet, claims and volumes by `kubectl`",
        when=every(is_ours, is_protected),
    ),
    ChangeRule(
        code="GEN-CHG-479",
        kinds=DRIVES,
        on="removed",
        effect=Effect.BY_HAND,
        reason="it is protected: the volume and its drive stay with their server, until the claim is deleted",
        instead="where a node is replaced: sync, then delete the claims of that server and its pod, one at a time",
        when=every(is_drive, is_protected),
    ),
    ChangeRule(
        code="GEN-CHG-480",
        kinds=DRIVES,
        on="renamed",
        effect=Effect.BY_HAND,
        reason="the former volume stays with its server until the claim is deleted; then the claim takes the new one",
        instead="sync, then delete the claims of that server and its pod, one server at a time",
        when=every(is_drive, is_protected),
    ),
    ChangeRule(
        code="GEN-CHG-481",
        kinds=DRIVES,
        paths=("spec.claimRef",),
        effect=Effect.OUTAGE,
        armed=True,
        reason="volumes that are bound stay so; claims made anew would find the drives of another server, which MinIO "
        "refuses",
        instead="put the nodes back into the order that they had",
        when=every(is_drive, stayed),
    ),
)

CHANGES = (*RUNNING, *STANDING, *SETUP_CHANGES)

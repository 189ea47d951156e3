"""Claims, volumes, classes of storage, and the drivers behind them."""

from functools import partial

from generator.kinds.general import SOURCE
from generator.model.change import ABSENT, Beside, ChangeRule, Effect, FieldChange, ObjectChange
from generator.model.fields import amount, dig

CLAIM, VOLUME, CLASS = ("/PersistentVolumeClaim",), ("/PersistentVolume",), ("storage.k8s.io/StorageClass",)
DRIVER, ATTRIBUTES = ("storage.k8s.io/CSIDriver",), ("storage.k8s.io/VolumeAttributesClass",)
CORE, STORAGE_GROUP = f"{SOURCE}/core/validation/validation.go", f"{SOURCE}/storage/validation/validation.go"
VOLUMES = "https://kubernetes.io/docs/concepts/storage/persistent-volumes"
BINDER = "https://github.com/kubernetes/kubernetes/blob/v1.35.3/pkg/controller/volume/persistentvolume/pv_controller.go"
_DEFAULT = "metadata.annotations[storageclass.kubernetes.io/is-default-class]"
_OWN_FIELDS = (
    "spec.capacity",
    "spec.accessModes",
    "spec.persistentVolumeReclaimPolicy",
    "spec.storageClassName",
    "spec.mountOptions",
    "spec.claimRef",
    "spec.nodeAffinity",
    "spec.volumeAttributesClassName",
)


def shrinks(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether less is asked for than before, or nothing."""
    old, new = amount(field.old), amount(field.new)
    return old is not None and (new is None or new < old)


def cannot_grow(change: ObjectChange, _field: FieldChange, beside: Beside) -> bool:
    """Tell whether the class of a claim is one whose volumes do not grow, or the claim is of a volume without any."""
    name = dig(change.new, "spec", "storageClassName")
    if not name:
        return isinstance(name, str)
    found = [one for one in beside.new.get(CLASS[0], ()) if dig(one, "metadata", "name") == name]
    return bool(found) and dig(found[0], "allowVolumeExpansion") is not True


def to_delete(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether what is stored goes with the claim from now on."""
    return field.new in ("Delete", "Recycle")


def was_there(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a volume was bound to nodes before."""
    return dig(change.old, "spec", "nodeAffinity") is not None and field.path[:2] == ("spec", "nodeAffinity")


def is_another(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a field that was set gets another value."""
    return field.old not in (ABSENT, None, "")


def is_claimed(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a volume that was for any claim is for one."""
    return dig(change.old, "spec", "claimRef") is None and field.new is not ABSENT


def is_given_up(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether a volume that was for one claim is for any."""
    return dig(change.new, "spec", "claimRef") is None


def is_deleted_with_it(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether a driver deletes what is stored when the volume's object goes."""
    policy, driver = (dig(change.old, "spec", key) for key in ("persistentVolumeReclaimPolicy", "csi"))
    return policy == "Delete" and driver is not None


of_claims = partial(ChangeRule, kinds=CLAIM)
of_volumes = partial(ChangeRule, kinds=VOLUME)
of_drivers = partial(ChangeRule, kinds=DRIVER)

STORAGE = (
    ChangeRule(
        code="GEN-CHG-030",
        kinds=(*CLAIM, "/Namespace"),
        on="removed",
        effect=Effect.DATA_LOSS,
        reason="with it goes what is stored in it",
        instead="annotate it with `Prune=false` in a commit before, and copy what is stored",
        link=f"{VOLUMES}/#reclaiming",
    ),
    of_claims(
        code="GEN-CHG-031",
        paths=("spec",),
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses any change of a claim but its growth; its Application stops there",
        instead="make a new claim and copy",
        link=CORE,
    ),
    of_claims(
        code="GEN-CHG-032",
        paths=("spec.resources.requests.storage",),
        effect=Effect.NONE,
        reason="the volume grows in place, if it is bound and its class has `allowVolumeExpansion`; else it is refused",
        link=f"{VOLUMES}/#expanding-persistent-volumes-claims",
    ),
    of_claims(
        code="GEN-CHG-033",
        paths=("spec.resources.requests.storage",),
        effect=Effect.IMPOSSIBLE,
        reason="a claim never shrinks: the API server refuses it, and its Application stops there",
        instead="make a new, smaller claim and copy",
        link=CORE,
        when=shrinks,
    ),
    of_claims(
        code="GEN-CHG-034",
        paths=("spec.resources.requests.storage",),
        effect=Effect.IMPOSSIBLE,
        reason="it has no class, or one without `allowVolumeExpansion`: the API server refuses that it grows",
        instead="set `allowVolumeExpansion: true` on the class first, if its driver can",
        link=f"{VOLUMES}/#expanding-persistent-volumes-claims",
        beside=cannot_grow,
    ),
    of_claims(
        code="GEN-CHG-035",
        paths=("spec.volumeAttributesClassName",),
        effect=Effect.NONE,
        reason="the driver changes the volume in place",
        link="https://kubernetes.io/docs/concepts/storage/volume-attributes-classes/",
    ),
    of_volumes(
        code="GEN-CHG-036",
        paths=("spec",),
        but=_OWN_FIELDS,
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses another source or mode of a volume; its Application stops there",
        instead="make a volume under a new name",
        link=CORE,
    ),
    of_volumes(
        code="GEN-CHG-037",
        paths=("spec.nodeAffinity",),
        effect=Effect.IMPOSSIBLE,
        reason="a volume stays on the nodes where it is: the API server refuses others; its Application stops there",
        instead="make a volume under a new name",
        link=CORE,
        when=was_there,
    ),
    of_volumes(
        code="GEN-CHG-038",
        paths=("spec.persistentVolumeReclaimPolicy",),
        effect=Effect.NONE,
        reason="what is stored stays when the claim goes",
        link=f"{VOLUMES}/#reclaiming",
    ),
    of_volumes(
        code="GEN-CHG-039",
        paths=("spec.persistentVolumeReclaimPolicy",),
        effect=Effect.DATA_LOSS,
        reason="from now on what is stored is deleted with the claim",
        instead="`Retain`",
        link=f"{VOLUMES}/#reclaiming",
        armed=True,
        when=to_delete,
    ),
    of_volumes(
        code="GEN-CHG-040",
        paths=("spec.claimRef",),
        effect=Effect.OUTAGE,
        reason="the claim that is bound to it is Lost: pods that are made from then on do not start",
        link=BINDER,
    ),
    of_volumes(
        code="GEN-CHG-720",
        paths=("spec.claimRef",),
        effect=Effect.UNKNOWN,
        reason="it is kept for this claim: one of another name that is bound to it is Lost",
        instead="`kubectl get pv NAME` shows who is bound to it",
        link=BINDER,
        when=is_claimed,
    ),
    of_volumes(
        code="GEN-CHG-721",
        paths=("spec.claimRef",),
        effect=Effect.UNKNOWN,
        reason="a claim that is bound to it takes it again; where none is, the next claim that fits gets it, with what "
        "is stored on it",
        instead="leave the claim in it until the disk is empty",
        link=BINDER,
        when=is_given_up,
    ),
    of_volumes(
        code="GEN-CHG-041",
        paths=("spec.capacity", "spec.accessModes", "spec.storageClassName", "spec.mountOptions", "spec.nodeAffinity"),
        effect=Effect.NONE,
        reason="it counts when a claim is bound to it or a node mounts it; the disk behind stays as it is",
        link=f"{VOLUMES}/#binding",
    ),
    of_volumes(
        code="GEN-CHG-042",
        on="removed",
        effect=Effect.OUTAGE,
        reason="the object goes as soon as no claim is bound to it; a disk behind it keeps what is stored, "
        "and nothing in the cluster knows of it any more",
        link=f"{VOLUMES}/#storage-object-in-use-protection",
    ),
    of_volumes(
        code="GEN-CHG-722",
        on="removed",
        effect=Effect.DATA_LOSS,
        reason="its policy is `Delete`: its driver deletes what is stored before the object goes",
        instead="`persistentVolumeReclaimPolicy: Retain` in a commit before",
        link=f"{VOLUMES}/#persistentvolume-deletion-protection-finalizer",
        when=is_deleted_with_it,
    ),
    ChangeRule(
        code="GEN-CHG-043",
        kinds=CLASS,
        paths=("provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"),
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses it; its Application stops there",
        instead="make a class under a new name for new volumes; those that are there stay as they are",
        link=STORAGE_GROUP,
    ),
    ChangeRule(
        code="GEN-CHG-044",
        kinds=CLASS,
        paths=("allowVolumeExpansion", "mountOptions", "allowedTopologies", _DEFAULT),
        effect=Effect.NONE,
        reason="it counts for volumes that are made or grow from now on",
        link="https://kubernetes.io/docs/concepts/storage/storage-classes/",
    ),
    ChangeRule(
        code="GEN-CHG-045",
        kinds=(*CLASS, *ATTRIBUTES),
        on="removed",
        effect=Effect.OUTAGE,
        reason="claims that name it wait for ever, those of a StatefulSet's new pods too; volumes that are there go on",
    ),
    of_drivers(
        code="GEN-CHG-046",
        paths=("spec.attachRequired", "spec.volumeLifecycleModes"),
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses it; its Application stops there",
        instead="delete the CSIDriver while no pod mounts its volumes, then sync",
        link=STORAGE_GROUP,
    ),
    of_drivers(
        code="GEN-CHG-047",
        paths=("spec",),
        effect=Effect.NONE,
        reason="it counts when a volume is mounted the next time",
    ),
    of_drivers(
        code="GEN-CHG-048",
        on="removed",
        effect=Effect.OUTAGE,
        reason="volumes of the driver are no longer mounted as it needs; those that are mounted stay",
    ),
    ChangeRule(
        code="GEN-CHG-049",
        kinds=ATTRIBUTES,
        paths=("driverName", "parameters"),
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses it; its Application stops there",
        instead="make a class under a new name, and have claims name it",
        link=STORAGE_GROUP,
    ),
    of_claims(
        code="GEN-CHG-029",
        paths=("spec.volumeName",),
        effect=Effect.NONE,
        reason="a claim that waits is bound to this volume",
        link=CORE,
        when=lambda change, field: not is_another(change, field),
    ),
)

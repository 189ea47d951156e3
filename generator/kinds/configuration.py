"""ConfigMaps and Secrets: a change of them is what it is to their readers."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from generator.build.pods import Pod
from generator.kinds.general import SOURCE
from generator.kinds.network import pods_beside
from generator.kinds.workloads import ALL
from generator.model.change import Beside, ChangeRule, Effect, FieldChange, ObjectChange
from generator.model.fields import dig, mapping, sequence, walk

CONFIG, SECRET = ("/ConfigMap",), ("/Secret",)
BOTH = (*CONFIG, *SECRET)
CORE = f"{SOURCE}/core/validation/validation.go"
MOUNTED = "https://kubernetes.io/docs/concepts/configuration/configmap/#mounted-configmaps-are-updated-automatically"
DATA = ("data", "binaryData", "stringData")


def is_fixed(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether it was said to be immutable."""
    return dig(change.old, "immutable") is True


def _names(part: Any, change: ObjectChange) -> bool:
    """Tell whether a piece of a pod names an object."""
    keys = ("secretName", "name") if change.kind in SECRET else ("name",)
    return any(dig(part, key) == change.name for key in keys)


def _volumes(pod: Pod, change: ObjectChange) -> set[str]:
    """Return the names of the volumes that hold what is in an object."""
    kind = "secret" if change.kind in SECRET else "configMap"
    volumes = [mapping(one) for one in sequence(pod.spec.get("volumes"))]
    return {
        str(one.get("name"))
        for one in volumes
        if _names(one.get(kind), change)
        or any(_names(dig(each, kind), change) for each in sequence(dig(one, "projected", "sources")))
    }


def _references(pod: Pod, change: ObjectChange) -> bool:
    """Tell whether variables of the environment come from an object."""
    way = "secret" if change.kind in SECRET else "configMap"
    return any(
        key in (f"{way}KeyRef", f"{way}Ref") and _names(value, change)
        for _, part in walk(pod.spec)
        if isinstance(part, dict)
        for key, value in part.items()
    )


def _sub_paths(pod: Pod, volumes: set[str]) -> bool:
    """Tell whether a single file of a volume is mounted: it never changes while the pod runs."""
    return any(
        dig(one, "name") in volumes and (dig(one, "subPath") or dig(one, "subPathExpr"))
        for kind in ("containers", "initContainers")
        for each in sequence(pod.spec.get(kind))
        for one in sequence(dig(each, "volumeMounts"))
    )


def _there(change: ObjectChange, beside: Beside) -> Iterator[Pod]:
    return (pod for pod in pods_beside(beside, "new") if pod.namespace == (change.namespace or "default"))


def mounted(change: ObjectChange, _field: FieldChange, beside: Beside) -> bool:
    """Tell whether pods see it as files."""
    return any(_volumes(pod, change) for pod in _there(change, beside))


def read_at_start(change: ObjectChange, _field: FieldChange, beside: Beside) -> bool:
    """Tell whether pods read it only when they start."""
    return any(_references(pod, change) or _sub_paths(pod, _volumes(pod, change)) for pod in _there(change, beside))


def restarted_with_it(change: ObjectChange, _field: FieldChange, beside: Beside) -> bool:
    """Tell whether all pods that read it get another template in the same change."""
    readers = [
        pod.maker.manifest
        for pod in _there(change, beside)
        if pod.maker.kind in {kind.rpartition("/")[2] for kind in ALL}
        and (_references(pod, change) or _volumes(pod, change))
    ]
    return bool(readers) and all(_other_template(one, beside) for one in readers)


def _other_template(manifest: Any, beside: Beside) -> bool:
    before = beside.old.get(f"apps/{manifest['kind']}", ())
    names = [dig(manifest, "metadata", key) for key in ("namespace", "name")]
    found = [one for one in before if [dig(one, "metadata", key) for key in ("namespace", "name")] == names]
    way = ("spec", "template")
    return not found or dig(found[0], *way) != dig(manifest, *way)


def is_checksum(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether an annotation of a template stands for what its pods read."""
    return any(word in str(field.path[-1]).lower() for word in ("checksum", "config-hash", "confighash"))


of_both = partial(ChangeRule, kinds=BOTH)

CONFIGURATION = (
    of_both(
        code="GEN-CHG-100",
        paths=(*DATA, "immutable"),
        effect=Effect.IMPOSSIBLE,
        reason="it is `immutable`: the API server refuses any change of what is in it; its Application stops there",
        instead="make one of a new name, and have pods name it",
        link=CORE,
        when=is_fixed,
        settles=1,
    ),
    ChangeRule(
        code="GEN-CHG-101",
        kinds=SECRET,
        paths=("type",),
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses another type of a Secret; its Application stops there",
        instead="delete the Secret, then sync; or make one of a new name",
        link=CORE,
    ),
    of_both(
        code="GEN-CHG-102",
        paths=DATA,
        effect=Effect.BY_HAND,
        reason="no pod that was built reads it: what does may read it at its start only",
        instead="restart what reads it, if it does not watch it",
    ),
    of_both(
        code="GEN-CHG-103",
        paths=DATA,
        effect=Effect.NONE,
        reason="pods see the new files within about a minute; the program decides when it reads them",
        link=MOUNTED,
        beside=mounted,
    ),
    of_both(
        code="GEN-CHG-104",
        paths=DATA,
        effect=Effect.BY_HAND,
        reason="pods read it as environment or by `subPath`, only when they start: those that run keep the old",
        instead="`kubectl rollout restart` what reads it",
        link=MOUNTED,
        beside=read_at_start,
    ),
    of_both(
        code="GEN-CHG-105",
        paths=DATA,
        effect=Effect.ROLLING,
        reason="what reads it changes with it, so its pods are replaced and read the new",
        beside=restarted_with_it,
        settles=1,
    ),
    ChangeRule(
        code="GEN-CHG-106",
        kinds=ALL,
        paths=("spec.template.metadata.annotations.*",),
        effect=Effect.ROLLING,
        reason="its pods are replaced to read what this checksum is of",
        when=is_checksum,
    ),
    of_both(
        code="GEN-CHG-107",
        on="removed",
        effect=Effect.BY_HAND,
        reason="pods that run keep what they read; what still names it does not start again",
    ),
    of_both(
        code="GEN-CHG-108",
        on="removed",
        effect=Effect.OUTAGE,
        reason="pods name it still: none of them starts again",
        instead="take it out of the pods first",
        beside=lambda change, field, beside: mounted(change, field, beside) or read_at_start(change, field, beside),
    ),
    of_both(
        code="GEN-CHG-109",
        paths=("immutable",),
        effect=Effect.NONE,
        reason="from now on nothing in it can be changed",
        armed=True,
        when=lambda change, field: not is_fixed(change, field),
    ),
)

"""The sections `teams` and `scheduling`: what queues of Kueue say of who owns how much."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from generator.components.acceptance.names import JOBS as ACCEPTANCE
from generator.components.common import OIDC_PREFIX
from generator.components.component import Manifest
from generator.components.kueue import NAMESPACE, TEAM
from generator.components.tenants import OF_CLASS
from generator.components.tenants.pods import ALLOWED
from generator.components.tenants.rbac import MEMBER, PIPELINES, VIEWER
from generator.components.volcano import OWN_QUEUES
from generator.model.base import is_label
from generator.model.fields import amount, dig, mapping, sequence
from generator.model.gpus import GPU, MIG
from generator.model.quantity import Quantity
from generator.model.teams import Scheduling, Team
from generator.survey.notes import Notes
from generator.survey.seen import Seen, named, read, text
from generator.survey.storage import CLASSES, LOCAL, NFS

Plain: TypeAlias = dict[str, Any]
AT = "teams"
KUEUE = "kueue.x-k8s.io"
CONFIG = "controller_manager_config.yaml"
RECLAIM = {"Any": "any", "LowerPriority": "lower-priority", "Never": "never"}
LEVEL = "pod-security.kubernetes.io/enforce"


def teams(seen: Seen, pools: Mapping[str, Plain], members: Mapping[str, list[str]], notes: Notes) -> list[Plain]:
    """Return a team for each ClusterQueue; `members` are the nodes of each pool."""
    flavors = {named(one): _pool_of(seen, one, members) for one in seen.of_group(KUEUE, "resourceflavors")}
    queues = seen.of_group(KUEUE, "clusterqueues")
    for queue in seen.shown(OWN_QUEUES):
        if named(queue) not in {"default", "root"} and not queues:
            notes.unknown((AT,), f"what Volcano's queue {named(queue)} owns: gen gives quotas by Kueue")
    own = [queue for queue in queues if named(queue) != ACCEPTANCE]
    return [team for queue in own if (team := _team(seen, queue, flavors, pools, notes))]


def _pool_of(seen: Seen, flavor: Manifest, members: Mapping[str, list[str]]) -> str:
    """Return the pool whose nodes, all and no others, a flavor stands for; an empty text where there is none such."""
    wanted = mapping(dig(flavor, "spec", "nodeLabels"))
    labelled = ((named(node), mapping(dig(node, "metadata", "labels"))) for node in seen.nodes)
    chosen = {name for name, labels in labelled if wanted.items() <= labels.items()}
    return next((pool for pool, names in members.items() if wanted and set(names) == chosen), "")


def _team(seen: Seen, queue: Manifest, flavors: Mapping[str, str], pools: Mapping[str, Plain], notes: Notes) -> Plain:
    name = named(queue)
    if not is_label(name, 50):
        notes.unknown((AT,), f"ClusterQueue `{name}` is left out: here names are of small letters, digits and hyphens")
        return {}
    spec = mapping(queue.get("spec"))
    found: Plain = {"name": name, "quotas": dict(_quotas(name, spec, flavors, pools, notes))}
    if text(spec, "queueingStrategy") == "StrictFIFO":
        found["queueing"] = "StrictFIFO"
    cohort = text(spec, "cohortName") or text(spec, "cohort")
    if cohort.startswith("department-") and is_label(cohort):
        found["department"] = cohort.removeprefix("department-")
    weight = amount(dig(spec, "fairSharing", "weight"))
    if weight is not None and weight != 1000:
        found["weight"] = min(weight // 1000, 1000)
    return found | _namespace(seen, name, notes)


def _quotas(
    team: str, spec: Plain, flavors: Mapping[str, str], pools: Mapping[str, Plain], notes: Notes
) -> Iterator[tuple[str, Plain]]:
    for group in sequence(spec.get("resourceGroups")):
        for flavor in sequence(dig(group, "flavors")):
            owned = {text(one, "name"): mapping(one) for one in sequence(dig(flavor, "resources"))}
            if not any(_whole(one, "nominalQuota") for one in owned.values()):
                continue
            pool = flavors.get(text(flavor, "name"), "")
            if pool:
                yield pool, _quota(owned, gpus="gpu" in pools[pool]["hardware"])
            else:
                notes.unknown((AT,), f"what {team} owns of flavor {text(flavor, 'name')}: it is no pool's nodes")


def _quota(owned: Mapping[str, Plain], *, gpus: bool) -> Plain:
    """Return what is owned: of GPUs, where CPU and memory follow, or of CPUs and memory."""
    instances = {name.removeprefix(MIG): one for name, one in owned.items() if name.startswith(MIG)}
    counted: Plain
    if gpus and instances:
        counted = {"instances": {name: _whole(one, "nominalQuota") or 0 for name, one in instances.items()}}
        first = next(iter(instances.values()))
    elif gpus:
        first = owned.get(GPU, {})
        counted = {"gpus": _whole(first, "nominalQuota") or 0}
    else:
        first = owned.get("cpu", {})
        milli = amount(dig(owned.get("memory"), "nominalQuota")) or 0
        memory = {"memory": str(Quantity(milli // 1000 * 1000, binary=True))} if milli else {}
        counted = {"cpus": _whole(first, "nominalQuota") or 0, **memory}
    limits = {"borrow": _whole(first, "borrowingLimit"), "lend": _whole(first, "lendingLimit")}
    return counted | {key: value for key, value in limits.items() if value is not None}


def _whole(resource: Plain, key: str) -> int | None:
    milli = amount(resource.get(key))
    return None if milli is None else min(milli // 1000, 2**31 - 1)


def _namespace(seen: Seen, team: str, notes: Notes) -> Plain:
    """Return what a team's own namespace says of it."""
    space = next((one for one in seen.items("/api/v1/namespaces") if named(one) == team), {})
    if not space:
        notes.found((AT, team), "there is no namespace of this name; here a team's is called as the team is")
        return {}
    labels = mapping(dig(space, "metadata", "labels"))
    bindings = seen.items(f"/apis/rbac.authorization.k8s.io/v1/namespaces/{team}/rolebindings")
    found: Plain = {"members": [*_members(bindings)], **_volumes(seen, team, notes)}
    found["pipelines"] = any(text(one, "roleRef", "name") == PIPELINES for one in bindings)
    if labels.get(LEVEL) in {"restricted", "privileged"}:
        found["security"] = labels[LEVEL]
    allowed = [name for name in _classes(seen) if f"{ALLOWED}{name}" in labels]
    if TEAM in labels and allowed not in ([], _usual(_classes(seen))):
        found["priorities"] = allowed
    if not found["members"]:
        notes.unknown((AT, team), "members: who of the identity provider belongs to it")
    return {key: value for key, value in found.items() if value}


def _classes(seen: Seen) -> dict[str, int]:
    """Return the classes of jobs that a file can name, the lowest first."""
    found = ((named(one), one.get("value")) for one in seen.of_group(KUEUE, "workloadpriorityclasses"))
    known = {name: value for name, value in found if is_label(name) and type(value) is int and abs(value) <= 10**9}
    return dict(sorted(known.items(), key=lambda item: (item[1], item[0])))


def _usual(classes: Mapping[str, int]) -> list[str]:
    """Return the classes that teams may use of which the file says nothing."""
    return Scheduling(priorities=dict(classes)).open_to(Team(name="any"))


def _members(bindings: Sequence[Manifest]) -> Iterator[Plain]:
    for one in bindings:
        role = text(one, "roleRef", "name")
        if role not in {MEMBER, VIEWER}:
            continue
        for subject in sequence(dig(one, "subjects")):
            key = {"Group": "group", "User": "user"}.get(text(subject, "kind"))
            if key and (name := text(subject, "name").removeprefix(OIDC_PREFIX)):
                yield {key: name, **({"role": "viewer"} if role == VIEWER else {})}


def _volumes(seen: Seen, team: str, notes: Notes) -> Plain:
    """Return the bounds on a team's volumes that last. What it may have of scratch, which a quota counts in the sum,
    follows from its nodes' disks, unless the file says it: which of the two it is nobody can read.
    """
    hard: Plain = {}
    for one in seen.items(f"/api/v1/namespaces/{team}/resourcequotas"):
        # Each quota binds: the smallest bound counts.
        for key, bound in mapping(dig(one, "spec", "hard")).items():
            size, known = amount(bound), amount(hard.get(key))
            if size is not None and (known is None or size < known):
                hard[key] = bound
    ending, made = f".{OF_CLASS}", {named(one): text(one, "provisioner") for one in seen.items(CLASSES)}
    local = {name for name, by in made.items() if by == LOCAL}
    classes = {key.removesuffix(ending): value for key, value in hard.items() if key.endswith(ending)}
    sizes = {name: size for name, size in classes.items() if is_label(name) and amount(size) is not None}
    total, scratch = amount(hard.get("requests.storage")), sum(amount(sizes[name]) or 0 for name in local & set(sizes))
    storage = total - scratch if total is not None and scratch < total else total
    # Beside scratch gen gives each class of Ceph or NFS that has no bound of its own that of all that last.
    own = {name for name, by in made.items() if by.endswith((".csi.ceph.com", NFS))} if local & set(sizes) else set()
    unsaid = {name for name in own & set(sizes) if amount(sizes[name]) == storage}
    for name in sorted(local & set(sizes)):
        said = f"storageClasses: {{{name}: {sizes[name]}}} bounds its scratch"
        notes.found((AT, team), f"{said}: say it, unless that is all its nodes have, which it gets without")
    lasting = {name: size for name, size in sizes.items() if name not in local | unsaid}
    found: Plain = {"storageClasses": lasting} if lasting else {}
    return found | ({} if storage is None else {"storage": str(Quantity(storage, binary=True))})


def _settings(seen: Seen, notes: Notes) -> Plain:
    """Return what Kueue's own configuration says."""
    files = (mapping(one.get("data")) for one in seen.items(f"/api/v1/namespaces/{NAMESPACE}/configmaps"))
    config = next((read(one[CONFIG]) for one in files if CONFIG in one), {})
    if not config:
        notes.unknown(("scheduling",), f"startMinutes, fairSharing: Kueue's configuration is not seen in {NAMESPACE}")
    timeout = re.fullmatch(r"([0-9]{1,4})m(0s)?", text(config, "waitForPodsReady", "timeout"))
    found: Plain = {"fairSharing": True} if "fairSharing" in config else {}
    if timeout and int(timeout[1]) not in {0, Scheduling().start_minutes}:
        found["startMinutes"] = min(int(timeout[1]), 1440)
    return found


def scheduling(seen: Seen, found: list[Plain], notes: Notes) -> Plain:
    """Return the section."""
    classes = _classes(seen)
    section: Plain = {"priorities": classes} if classes and classes != Scheduling().priorities else {}
    policies = {text(one, "spec", "preemption", "reclaimWithinCohort") for one in seen.of_group(KUEUE, "clusterqueues")}
    known = {RECLAIM[one or "Never"] for one in policies if (one or "Never") in RECLAIM}
    if len(known) > 1:
        notes.found(
            ("scheduling",), f"queues differ in whom they reclaim from ({', '.join(sorted(known))}); here all are alike"
        )
    if known and known != {"any"}:
        section["reclaim"] = min(known)
    if found:
        section |= _settings(seen, notes)
    if departments := sorted({team["department"] for team in found if "department" in team}):
        section["departments"] = {name: {} for name in departments}
    return section

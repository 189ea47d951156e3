"""Rules on pods and on what they are made from: who places them, what they may name, and what is counted."""

from collections.abc import Sequence

from generator.components.common import OWN_LABELS, RESTRICTED_VOLUMES
from generator.components.component import Manifest
from generator.components.jobs import GROUP_NAMES, PODSET, WORKLOAD
from generator.components.kueue import PREFIX, PRIORITY
from generator.components.queues import BATCH
from generator.components.tenants.policy import BY_CONTROLLER, BY_PIPELINES, ENTERING, policy, resources
from generator.components.volcano import SCHEDULER
from generator.model.gpus import GPU, VENDOR

PIPELINE = "pipeline"
"""The ServiceAccount of a team's workflows."""
GATE = f"{PREFIX}admission"
ALLOWED = f"priority.{OWN_LABELS}/"
"""Begins a label of a team's namespace; a class of jobs follows that the team may use."""
ANNOTATIONS = "?metadata.?annotations.orValue({})"
CDI = "cdi.k8s.io/"
DEVICES = f"key.contains('{CDI}')"
GROUPS = str(list(GROUP_NAMES))
NO_DEVICES = f"leave annotations of cdi.k8s.io out: who asks for {GPU} gets its devices without them"
NO_RUNTIME = f"leave runtimeClassName out: a pod that asks for {GPU} gets its GPUs without it"
NO_NODE = "leave nodeName to the scheduler; select nodes with nodeSelector"
NO_SERVERS = "mount claims, not servers (nfs, iscsi and the like): the node would connect to them with its own address"
OWN_CLASSES = f"priorityClassName may be one that begins with {BATCH}, or left out: others may stop pods of other teams"
OPEN_CLASSES = "priorityClassName is of a class that this team may not use: its administrator gives classes to teams"
OPEN_LABELS = f"the label {PRIORITY} names a class that this team may not use: its administrator gives classes to teams"
NO_GROUPS = (
    "leave annotations that name a PodGroup out: pods would join one that counts others, and start without their gang"
)
NO_PODSET = f"leave the label {PODSET} out of pods and templates: Kueue writes it where it has let a job in"
NO_WORKLOAD = (
    f"leave the annotation {WORKLOAD} out of pods and templates: Kueue writes it, and by it a pod is stopped"
    " together with its job"
)
GRACE = 900
"""The most seconds that a pod may take to end: half of what Kueue gives a job to start, if nobody says otherwise."""
NO_GRACE = (
    f"say terminationGracePeriodSeconds: {GRACE} or less: quotas are given out again when pods are told to end, and"
    " until they do they keep what they have"
)
MOUNTED = (*RESTRICTED_VOLUMES, "hostPath")
"""Kinds of volumes that pods may have. Pod Security judges paths of the node: a privileged team may mount them."""
ASKED = "c.?resources.?requests[?r].or(c.?resources.?limits[?r]).orValue('0')"
"""A limit alone becomes the request: in pods at once, in templates when pods are made of them."""
LIMIT = "c.?resources.?limits[?'memory']"
# CPU beyond a request is only what others leave idle; memory beyond it is theirs.
WITHIN = (
    f"{LIMIT}.hasValue() && !quantity(string({LIMIT}.value()))"
    f".isGreaterThan(quantity(string(c.?resources.?requests[?'memory'].or({LIMIT}).value())))"
)


def pods() -> Manifest:
    """Demand that our schedulers place pods, and those with GPUs Volcano, after Kueue has let them in."""
    return policy(
        "gen-pods",
        [resources("", ["pods"], "CREATE")],
        validations={
            "!variables.gpu || variables.gated || (variables.podset != '' && variables.controller)":
            "a pod with GPUs starts through Kueue: make a Job, or another kind that Kueue knows",
            "!has(object.spec.nodeName) || object.spec.nodeName == ''": NO_NODE,
            f"!{BY_PIPELINES} || variables.gated":
            "a step of a workflow starts through Kueue, whatever it asks for",
            f"!{BY_PIPELINES} || object.spec.?serviceAccountName.orValue('') == '{PIPELINE}'":
            f"say serviceAccountName: {PIPELINE} in the workflow: that account may tell what became of a step, and no "
            "more",
            **pod_rules(),
        },
        variables={
            **pod_variables("object"),
            "gated": f"has(object.spec.schedulingGates) && object.spec.schedulingGates.exists(g, g.name == '{GATE}')",
            "before": "''",
            "belonged": "''",
        },
    )  # fmt: skip


def changes() -> Manifest:
    """Leave to controllers what Kueue holds a pod by, its gates, and by what it counts it, its labels; and keep devices
    out that were not counted. An account of the team's may change pods, as Ray's autoscaler does.
    """
    gates = "spec.?schedulingGates.orValue([])"
    return policy(
        "gen-pod-changes",
        # Labels and annotations are stored with the status, too.
        [resources("", ["pods", "pods/status"], "UPDATE")],
        validations={
            f"variables.controller || oldObject.{gates}.all(g, !g.name.startsWith('{PREFIX}')"
            f" || object.{gates}.exists(kept, kept.name == g.name))":
            f"leave gates that begin with {PREFIX} to Kueue: it takes them off when the quota has room for the pod",
            "variables.controller || [variables.before, variables.after].all(some, some.all(key,"
            f" !key.startsWith('{PREFIX}') || key in variables.before && key in variables.after"
            " && variables.before[key] == variables.after[key]))":
            f"leave labels that begin with {PREFIX} as they are: Kueue counts a pod by them",
            f"object.{ANNOTATIONS}.all(key, !({DEVICES}) || key in oldObject.{ANNOTATIONS})": NO_DEVICES,
            f"variables.controller || {annotation('object', WORKLOAD)} == {annotation('oldObject', WORKLOAD)}":
            f"leave the annotation {WORKLOAD} as it is: by it a pod is stopped together with its job",
        },
        variables={
            "controller": BY_CONTROLLER,
            "before": "oldObject.metadata.?labels.orValue({})",
            "after": "object.metadata.?labels.orValue({})",
        },
    )  # fmt: skip


def ends() -> Manifest:
    """Bound the time to end also where somebody says it who deletes a pod: it counts before what the pod says, and a
    job has another pod at once. Where nobody does, the API server asks with the pod's own.
    """
    told = "request.options.?gracePeriodSeconds.orValue(0)"
    return policy(
        "gen-pod-ends",
        [resources("", ["pods"], "DELETE")],
        validations={
            f"{told} <= {GRACE} || {told} <= oldObject.spec.?terminationGracePeriodSeconds.orValue(0)":
            f"give a pod at most {GRACE} seconds to end: quotas count it no more, and until then it keeps what it has",
        },
    )  # fmt: skip


def templates(name: str, kinds: Sequence[tuple[str, list[str]]], path: str) -> Manifest:
    """Demand the same of templates, at `path` below `spec`: a mistake is told when the job is made, not when it has
    waited its turn. What controllers do to a job that is there is theirs: Kueue starts those from before the rules.
    """
    outer = path.partition(".")[0]
    changed = f"!{BY_CONTROLLER} && object.spec.{outer} != oldObject.spec.{outer}"
    return policy(
        name,
        [resources(group, plural, "CREATE", "UPDATE") for group, plural in kinds],
        validations=pod_rules(),
        variables=pod_variables(f"object.spec.{path}")
        | {
            "before": f"request.operation == 'CREATE' ? '' : {label(f'oldObject.spec.{path}', PODSET)}",
            "belonged": f"request.operation == 'CREATE' ? '' : {annotation(f'oldObject.spec.{path}', WORKLOAD)}",
        },
        conditions={"entering": ENTERING, "new-template": f"request.operation == 'CREATE' || {changed}"},
    )


def pod_rules() -> dict[str, str]:
    """Return the rules that pods and their templates share, each with what to do."""
    more = f"quantity(string({ASKED})).isGreaterThan(quantity('0'))"
    taken = " || ".join(f"has(v.{kind})" for kind in MOUNTED)
    return {
        f"variables.scheduler in ['default-scheduler', '{SCHEDULER}']":
        f"schedulerName may be {SCHEDULER} or left out",
        f"!variables.gpu || variables.scheduler == '{SCHEDULER}'":
        f"set schedulerName: {SCHEDULER} where GPUs are asked for: two schedulers would both give out the last GPU",
        f"variables.priority == '' || variables.priority.startsWith('{BATCH}')": OWN_CLASSES,
        allowed(f"variables.priority.replace('{BATCH}', '', 1)"): OPEN_CLASSES,
        allowed("variables.class"): OPEN_LABELS,
        f"variables.containers.all(c, ['cpu', 'memory'].all(r, {more}))":
        "give every container requests for cpu and memory, of more than 0: quotas count requests",
        f"variables.containers.all(c, {WITHIN})":
        "give every container a limit for memory, and no smaller request: quotas count requests, and what is used"
        " beyond them is taken from other teams' pods on the node",
        f"variables.volumes.all(v, {taken})": NO_SERVERS,
        f"variables.grace <= {GRACE}": NO_GRACE,
        "variables.runtime == ''": NO_RUNTIME,
        f"!variables.annotations.exists(key, {DEVICES})": NO_DEVICES,
        f"variables.controller || !variables.annotations.exists(key, key in {GROUPS})": NO_GROUPS,
        "variables.controller || variables.podset in ['', variables.before]": NO_PODSET,
        "variables.controller || variables.workload in ['', variables.belonged]": NO_WORKLOAD,
    }  # fmt: skip


def pod_variables(pod: str) -> dict[str, str]:
    """Return what the rules look at, for a pod or template at this path."""
    spec = f"{pod}.spec"
    return {
        **gpu_variables(pod),
        "volumes": f"{spec}.?volumes.orValue([])",
        "scheduler": f"{spec}.?schedulerName.orValue('default-scheduler')",
        "priority": f"{spec}.?priorityClassName.orValue('')",
        "grace": f"{spec}.?terminationGracePeriodSeconds.orValue(0)",
        "runtime": f"{spec}.?runtimeClassName.orValue('')",
        "class": label(pod, PRIORITY),
        "annotations": f"{pod}.{ANNOTATIONS}",
        "controller": BY_CONTROLLER,
        "podset": label(pod, PODSET),
        "workload": annotation(pod, WORKLOAD),
    }


def gpu_variables(pod: str) -> dict[str, str]:
    """Return what tells whether a pod or template at this path asks for GPUs."""
    return {
        "containers": f"{pod}.spec.containers + {pod}.spec.?initContainers.orValue([])",
        # The API server demands limits for extended resources.
        "gpu": "variables.containers.exists(c, has(c.resources) && has(c.resources.limits)"
        f" && c.resources.limits.exists(r, r.startsWith('{VENDOR}')))",
    }


def label(of: str, key: str) -> str:
    """Return what reads a label, an empty text where there is none."""
    return f"{of}.?metadata.?labels[?'{key}'].orValue('')"


def annotation(of: str, key: str) -> str:
    """Return what reads an annotation, an empty text where there is none."""
    return f"{of}.?metadata.?annotations[?'{key}'].orValue('')"


def allowed(name: str) -> str:
    """Return what asks whether a team may use a class of jobs. No class is always allowed."""
    return f"({name} == '' || '{ALLOWED}' + {name} in namespaceObject.metadata.labels)"

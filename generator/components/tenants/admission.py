"""Rules of the API server that keep a team's jobs in the queue, in every namespace of a team.

Kueue's own webhooks put jobs in the queue; these rules hold where somebody takes a way that the webhooks do not see.
Each is a ValidatingAdmissionPolicy, so that it holds while Kueue is down.
"""

from collections.abc import Mapping, Sequence

from generator.components.component import Manifest
from generator.components.jobs import JOB, SERVICES, Jobs, by_group, sorted_kinds
from generator.components.kueue import QUEUE, TEAM
from generator.components.queues import BATCH
from generator.components.volcano import JOB_GROUPS, SCHEDULER

GROUP = "admissionregistration.k8s.io"
GATE = "kueue.x-k8s.io/admission"
PODSET = "kueue.x-k8s.io/podset"

BUILT_IN: Jobs = ((JOB,), SERVICES)

# A controller of another namespace. A team's own ServiceAccounts are the team; `system:masters` is the way in when all
# else fails, and no ordinary administrator has it since Kubernetes 1.29.
BY_CONTROLLER = (
    "(request.userInfo.username.startsWith('system:serviceaccount:')"
    " && !request.userInfo.username.startsWith('system:serviceaccount:' + request.namespace + ':'))"
    " || request.userInfo.username == 'system:kube-controller-manager'"
    " || (has(request.userInfo.groups) && 'system:masters' in request.userInfo.groups)"
)
# Parts of a job that Kueue holds as a whole carry no queue themselves.
PART = (
    "has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(o,"
    " has(o.controller) && o.controller && o.kind in [{}])"
)
LABELLED = f"has({{0}}.metadata.labels) && '{QUEUE}' in {{0}}.metadata.labels && {{0}}.metadata.labels['{QUEUE}'] != ''"
# Objects from before the rules may still be changed and deleted.
ENTERING = "!has(object.metadata.deletionTimestamp)"
NEW_TEMPLATE = "request.operation == 'CREATE' || object.spec.{0} != oldObject.spec.{0}"


def policies(jobs: Jobs) -> tuple[Manifest, ...]:
    """Return every policy and what binds it to the teams' namespaces."""
    made = (
        queued(jobs),
        pods(),
        templates("gen-pod-templates", by_group(BUILT_IN), "template"),
        templates("gen-cron-job-templates", [("batch", ["cronjobs"])], "jobTemplate.spec.template"),
        volcano_jobs(),
        pod_groups(),
    )
    return tuple(item for policy in made for item in (policy, binding(policy)))


def queued(jobs: Jobs) -> Manifest:
    """Demand that whatever runs pods names its queue, and keeps naming one."""
    return policy(
        "gen-queue-name",
        [resources(group, kinds, "CREATE", "UPDATE") for group, kinds in by_group((*BUILT_IN, *jobs))],
        validations={
            "variables.part && variables.controller || variables.labelled || variables.never":
            f"put the label {QUEUE}: default on it (a label, not an annotation): jobs start through the team's queue",
        },
        variables={
            "controller": BY_CONTROLLER,
            "part": PART.format(", ".join(f"'{one.kind}'" for one in sorted_kinds(jobs))),
            "labelled": LABELLED.format("object"),
            "never": f"request.operation == 'UPDATE' && !({LABELLED.format('oldObject')})",
        },
        conditions={"entering": ENTERING},
    )  # fmt: skip


def pods() -> Manifest:
    """Demand that our schedulers place pods, and those with GPUs Volcano, after Kueue has let them in."""
    requests = (
        "variables.containers.all(c, has(c.resources) && has(c.resources.requests)"
        " && 'cpu' in c.resources.requests && 'memory' in c.resources.requests)"
    )
    return policy(
        "gen-pods",
        [resources("", ["pods"], "CREATE")],
        validations={
            **pod_rules(),
            "!variables.gpu || variables.gated || (variables.admitted && variables.controller)":
            "a pod with GPUs starts through Kueue: make a Job, or another kind that Kueue knows",
            "!has(object.spec.nodeName) || object.spec.nodeName == ''":
            "leave nodeName to the scheduler; select nodes with nodeSelector",
            requests: "give every container requests for cpu and memory: quotas count requests",
        },
        variables={
            **pod_variables("object.spec"),
            "controller": BY_CONTROLLER,
            "gated": f"has(object.spec.schedulingGates) && object.spec.schedulingGates.exists(g, g.name == '{GATE}')",
            # Kueue writes this label into the template when it lets the job in.
            "admitted": f"has(object.metadata.labels) && '{PODSET}' in object.metadata.labels",
        },
    )  # fmt: skip


def templates(name: str, kinds: Sequence[tuple[str, list[str]]], path: str) -> Manifest:
    """Demand the same of templates, at `path` below `spec`: a mistake is told when the job is made, not when it has
    waited its turn.
    """
    return policy(
        name,
        [resources(group, plural, "CREATE", "UPDATE") for group, plural in kinds],
        validations=pod_rules(),
        variables=pod_variables(f"object.spec.{path}.spec"),
        conditions={"entering": ENTERING, "new-template": NEW_TEMPLATE.format(path.partition(".")[0])},
    )


def volcano_jobs() -> Manifest:
    """Refuse Volcano's own jobs: they have no `suspend`, so that Kueue cannot hold or count them."""
    return policy(
        "gen-no-volcano-jobs",
        [resources(group, ["*"], "CREATE") for group in JOB_GROUPS],
        validations={"false": "Kueue cannot hold Volcano's own jobs back: make a batch/v1 Job, a JobSet or a TrainJob"},
    )


def pod_groups() -> Manifest:
    """Leave PodGroups to Volcano and the operators of jobs, who make them from the jobs."""
    return policy(
        "gen-pod-groups",
        [resources("scheduling.volcano.sh", ["podgroups"], "CREATE", "UPDATE")],
        validations={
            "variables.controller":
            "PodGroups are made from jobs: put the annotation scheduling.volcano.sh/group-min-member on the Job",
        },
        variables={"controller": BY_CONTROLLER},
        conditions={"entering": ENTERING},
    )  # fmt: skip


def pod_rules() -> dict[str, str]:
    """Return the rules that pods and their templates share, each with what to do."""
    return {
        f"variables.scheduler in ['default-scheduler', '{SCHEDULER}']":
        f"schedulerName may be {SCHEDULER} or left out",
        f"!variables.gpu || variables.scheduler == '{SCHEDULER}'":
        f"set schedulerName: {SCHEDULER} where GPUs are asked for: two schedulers would both give out the last GPU",
        f"variables.priority == '' || variables.priority.startsWith('{BATCH}')":
        f"priorityClassName may be one that begins with {BATCH}, or left out: others may stop pods of other teams",
    }  # fmt: skip


def pod_variables(spec: str) -> dict[str, str]:
    """Return what the rules look at, for a pod specification at this path."""
    initial = f"(has({spec}.initContainers) ? {spec}.initContainers : [])"
    return {
        "containers": f"{spec}.containers + {initial}",
        # The API server demands limits for extended resources.
        "gpu": "variables.containers.exists(c, has(c.resources) && has(c.resources.limits)"
        " && c.resources.limits.exists(r, r.startsWith('nvidia.com/')))",
        "scheduler": f"has({spec}.schedulerName) ? {spec}.schedulerName : 'default-scheduler'",
        "priority": f"has({spec}.priorityClassName) ? {spec}.priorityClassName : ''",
    }


def resources(group: str, kinds: list[str], *operations: str) -> Manifest:
    """Match operations on kinds of one API group, in any version."""
    return {"apiGroups": [group], "apiVersions": ["*"], "resources": kinds, "operations": list(operations)}


def policy(
    name: str,
    matched: list[Manifest],
    *,
    validations: Mapping[str, str],
    variables: Mapping[str, str] | None = None,
    conditions: Mapping[str, str] | None = None,
) -> Manifest:
    """Write a policy: `validations` are CEL expressions that must hold, with what to tell where one does not."""
    spec: Manifest = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": matched},
        "validations": [{"expression": rule, "message": told} for rule, told in validations.items()],
    }
    for key, named in (("variables", variables), ("matchConditions", conditions)):
        if named:
            spec[key] = [{"name": name, "expression": text} for name, text in named.items()]
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": spec,
    }


def binding(policy: Manifest) -> Manifest:
    """Apply a policy in the namespaces that carry a team's label."""
    name = policy["metadata"]["name"]
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {
            "policyName": name,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": {"matchExpressions": [{"key": TEAM, "operator": "Exists"}]}},
        },
    }

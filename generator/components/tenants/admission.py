"""Rules of the API server that keep a team's jobs in the queue, in every namespace of a team.

Kueue's own webhooks put jobs in the queue; these rules hold where somebody takes a way that the webhooks do not see.
Each is a ValidatingAdmissionPolicy, so that it holds while Kueue is down.
"""

from collections.abc import Iterator

from generator.components.component import Manifest
from generator.components.jobs import JOB, SERVICES, Jobs, by_group, sorted_kinds
from generator.components.kueue import PREFIX, PRIORITY, QUEUE
from generator.components.tenants.beside import (
    addresses,
    backup_secrets,
    bucket_claims,
    budgets,
    tokens,
    tracking,
    volume_backups,
)
from generator.components.tenants.datasets import kept
from generator.components.tenants.pipelines import WORKFLOWS, statuses, workflows
from generator.components.tenants.pods import allowed, changes, ends, gpu_variables, label, pods, templates
from generator.components.tenants.policy import BY_CONTROLLER, BY_PIPELINES, ENTERING, binding, policy, resources
from generator.components.volcano import GANG, JOB_GROUPS

BUILT_IN: Jobs = ((JOB,), SERVICES)
CRON_JOBS = ("batch", ["cronjobs"])

# Parts of a job that Kueue holds as a whole carry no queue themselves.
PART = "variables.owners.exists(o, o.kind in [{}])"
CONTROLLERS = "{0}.metadata.?ownerReferences.orValue([]).filter(o, o.?controller.orValue(false))"
LABELLED = f"has({{0}}.metadata.labels) && '{QUEUE}' in {{0}}.metadata.labels && {{0}}.metadata.labels['{QUEUE}'] != ''"
NO_ORPHANS = (
    "delete the job together with its pods, as kubectl does (propagationPolicy: Background): their quota is given out "
    "again, and they would run on"
)


def policies(jobs: Jobs) -> tuple[Manifest, ...]:
    """Return every policy and what binds it to the teams' namespaces."""
    made = (
        queued(jobs),
        owners(jobs),
        priorities(jobs),
        pods(),
        changes(),
        ends(),
        templates("gen-pod-templates", by_group(BUILT_IN), "template"),
        templates("gen-cron-job-templates", [CRON_JOBS], "jobTemplate.spec.template"),
        gangs("gen-gangs", "jobs", "", jobs),
        gangs("gen-cron-job-gangs", "cronjobs", ".spec.jobTemplate", jobs),
        *demands(jobs),
        parts(jobs),
        deletions(jobs),
        orphan_marks(jobs),
        volcano_jobs(),
        pod_groups(),
        addresses(),
        tokens(),
        bucket_claims(),
        volume_backups(),
        backup_secrets(),
        kept(),
        budgets(),
        tracking(),
        workflows(),
        statuses(),
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
            **part_variables(jobs),
            "labelled": LABELLED.format("object"),
            "never": f"request.operation == 'UPDATE' && !({LABELLED.format('oldObject')})",
        },
        conditions={"entering": ENTERING},
    )  # fmt: skip


def part_variables(jobs: Jobs) -> dict[str, str]:
    """Return what tells parts of operators' jobs, and who asks."""
    return {
        "controller": BY_CONTROLLER,
        "owners": CONTROLLERS.format("object"),
        "part": PART.format(kind_list(jobs)),
    }


def kind_list(jobs: Jobs) -> str:
    """Return the kinds of operators, as a list in CEL has them."""
    return ", ".join(f"'{one.kind}'" for one in sorted_kinds(jobs))


def owners(jobs: Jobs) -> Manifest:
    """Leave it to controllers to say what controls what: Kueue neither stops nor counts what is a part of something
    that it has let in (v0.18.3: jobframework `FindAncestorJobManagedByKueue`).
    """
    kinds = (*by_group((*BUILT_IN, *jobs)), CRON_JOBS, WORKFLOWS, ("", ["pods"]))
    return policy(
        "gen-owners",
        [resources(group, plural, "CREATE", "UPDATE") for group, plural in kinds],
        validations={
            "variables.controller || variables.owners == variables.before":
            "leave ownerReferences with controller: true to controllers: jobs start through the team's queue, each by "
            "itself",
        },
        variables={
            "controller": f"{BY_CONTROLLER} || {BY_PIPELINES}",
            "owners": CONTROLLERS.format("object"),
            "before": f"request.operation == 'CREATE' ? [] : {CONTROLLERS.format('oldObject')}",
        },
        conditions={"entering": ENTERING},
    )  # fmt: skip


def priorities(jobs: Jobs) -> Manifest:
    """Keep a team to the classes that it was given. Where pods lie deep in a job of an operator, Kueue would take the
    class of the first of them: the job itself names one, which counts before those.
    """
    kinds = (*by_group((*BUILT_IN, *jobs)), CRON_JOBS)
    inner = label("object.spec.jobTemplate", PRIORITY)
    named = f"put the label {PRIORITY} on it, with a class that this team may use"
    return policy(
        "gen-priorities",
        [resources(group, plural, "CREATE", "UPDATE") for group, plural in kinds],
        validations={
            f"variables.class == variables.before || {allowed('variables.class')}": named,
            f"object.kind != 'CronJob' || {allowed(inner)}": named,
            f"variables.class != '' || !(object.kind in [{kind_list(jobs)}]) || variables.part && variables.controller"
            " || request.operation == 'UPDATE' && variables.before == ''": named,
        },
        variables={
            **part_variables(jobs),
            "class": label("object", PRIORITY),
            "before": f"request.operation == 'CREATE' ? '' : {label('oldObject', PRIORITY)}",
        },
        conditions={"entering": ENTERING},
    )


def gangs(name: str, kind: str, path: str, jobs: Jobs) -> Manifest:
    """Demand that Jobs with GPUs say how many of their pods start together: Volcano would start those that fit, which
    hold their GPUs and wait for the others (facts: scheduling 1.8). A number that changes would leave the gang
    incomplete for ever (1.9). From Kubernetes 1.36 on the resources of a suspended Job may be changed: what asks for
    GPUs only then is judged like what asks at once.
    """
    job = f"object{path}"
    template = f"!{BY_CONTROLLER} && {job}.spec.template != oldObject{path}.spec.template"
    annotation, *resizing = (
        f"?metadata.?annotations[?'{key}'].orValue('')"
        for key in (GANG, f"{PREFIX}job-min-parallelism", f"{PREFIX}elastic-job")
    )
    same = " && ".join(
        f"object{path}.{field} == oldObject{path}.{field}"
        for field in ("spec.?parallelism", "spec.?completions", annotation, *resizing)
    )
    return policy(
        name,
        [resources("batch", [kind], "CREATE", "UPDATE")],
        validations={
            f"!variables.gpu || variables.pods < 2 || {job}.{annotation} == string(variables.pods)"
            " || variables.part && variables.controller":
            f"put the annotation {GANG} on the Job, with the number of its pods (its parallelism) in quotes: without "
            "it a part of them starts and holds its GPUs",
            "!variables.gpu || !variables.resized":
            f"leave {PREFIX}job-min-parallelism and {PREFIX}elastic-job out where GPUs are asked for: a "
            "gang keeps its number of pods",
        },
        variables={
            **gpu_variables(f"{job}.spec.template"),
            **part_variables(jobs),
            "parallel": f"{job}.spec.?parallelism.orValue(1)",
            "needed": f"{job}.spec.?completions.orValue(variables.parallel)",
            "pods": "variables.needed < variables.parallel ? variables.needed : variables.parallel",
            "resized": f"{job}.?metadata.?annotations.orValue({{}}).exists(key, key in"
            f" ['{PREFIX}job-min-parallelism', '{PREFIX}elastic-job'])",
        },
        conditions={"entering": ENTERING, "changed": f"request.operation == 'CREATE' || !({same}) || {template}"},
    )  # fmt: skip


def demands(jobs: Jobs) -> Iterator[Manifest]:
    """Yield what kinds of jobs demand of their objects: where they leave a gang incomplete, run beyond their quota, or
    are refused only when their operator makes pods of them. What Kueue has let in stays what it was: it compares little
    of it, and counts it once (v0.18.3: `podset.go`).
    """
    held = "oldObject.spec.?suspend.orValue(false) || oldObject.spec.?runPolicy.?suspend.orValue(false)"
    for one in sorted_kinds(jobs):
        kept = f"request.operation == 'CREATE' || {held} || object.{one.counted} == oldObject.{one.counted}"
        yield policy(
            f"gen-{one.plural}",
            [resources(one.group, [one.plural], "CREATE", "UPDATE")],
            validations={
                kept: "delete it, and make it anew as it is to be: it was let in as it is, and quotas count it so",
                **one.demands,
            },
            conditions={
                "entering": ENTERING,
                "by-people": f"!{BY_CONTROLLER}",
                "new": "request.operation == 'CREATE' || object.spec != oldObject.spec"
                " || object.metadata.?labels.orValue({}) != oldObject.metadata.?labels.orValue({})",
            },
        )


def parts(jobs: Jobs) -> Manifest:
    """Leave what an operator makes of a job to that operator: Kueue counts the job, and looks at no part of it."""
    return policy(
        "gen-parts",
        [resources(group, plural, "UPDATE") for group, plural in by_group((*BUILT_IN, *jobs))],
        validations={
            "variables.controller || !variables.part || object.spec == oldObject.spec":
            "change the job that it is a part of, or make that anew: quotas count the whole, and look at no part",
        },
        variables=part_variables(jobs),
        conditions={"entering": ENTERING},
    )  # fmt: skip


def deletions(jobs: Jobs) -> Manifest:
    """Refuse to delete jobs without their pods: Kueue v0.18.3 frees the quota with the job, while they run on. That is
    what the API server does with a Job where a client says nothing (kubectl says `Background`).
    """
    return policy(
        "gen-no-orphans",
        [resources(group, plural, "DELETE") for group, plural in by_group(((JOB,), *jobs))],
        validations={"variables.controller || !variables.orphaned": NO_ORPHANS},
        variables={
            "controller": BY_CONTROLLER,
            "unsaid": "request.resource.group == 'batch' ? 'Orphan' : 'Background'",
            "policy": "request.options.?propagationPolicy.orValue(variables.unsaid)",
            "orphaned": "request.options.?orphanDependents.orValue(variables.policy == 'Orphan')",
        },
    )


def orphan_marks(jobs: Jobs) -> Manifest:
    """Refuse the finalizer that says the same before the job is deleted, and all others: Kueue looks no more at a job
    that ends, so that one which stays would keep what it borrowed (v0.18.3: jobframework `loadJob`).
    """
    return policy(
        "gen-no-orphan-marks",
        [resources(group, plural, "CREATE", "UPDATE") for group, plural in by_group(((JOB,), *jobs))],
        validations={
            f"{BY_CONTROLLER} || !('orphan' in object.metadata.?finalizers.orValue([]))": NO_ORPHANS,
            f"{BY_CONTROLLER} || object.metadata.?finalizers.orValue([]).all(one, one in variables.before)":
            "leave finalizers to controllers: a job that is deleted and stays keeps its quota, and nobody can stop it",
        },
        variables={"before": "request.operation == 'CREATE' ? [] : oldObject.metadata.?finalizers.orValue([])"},
    )  # fmt: skip


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
            f"PodGroups are made from jobs: put the annotation {GANG} on the Job",
        },
        variables={"controller": BY_CONTROLLER},
        conditions={"entering": ENTERING},
    )  # fmt: skip

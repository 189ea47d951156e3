"""Argo Workflows: runs the day-2 operations, and pipelines of teams. From upstream's manifest, not its chart."""

from collections.abc import Iterator

from generator.components.common import CLUSTER_ROLES, CRD
from generator.components.component import Component, Manifest, Tier
from generator.components.definition import Definition, Evidence, Version, Versions
from generator.components.operated import OWN, Api, Named, OperatedKind
from generator.components.rule_files import read_rules
from generator.model.cluster import Cluster
from generator.model.fields import dig, mapping, sequence, spots
from generator.model.finding import Path
from generator.model.versions import of, skips_a_minor

VERSIONS = Versions(
    "argo-workflows",
    (
        Version(
            version="v4.0.15",
            manifests=("https://github.com/argoproj/argo-workflows/releases/download/v4.0.15/install.yaml",),
            images={"argoexec": "quay.io/argoproj/argoexec:v4.0.15-nonroot"},
            schemas=("argo-workflows/v4.0.2",),
            proven="v4.0.2",
        ),
    ),
)

NAMESPACE = "argo"
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:argo"
"""Who the controller is to the API server: it makes pods of whatever workflows say, in every namespace."""
CONTROLLER = {"app": "workflow-controller"}
"""Labels of the controller's Service (`metrics.yaml`), whose port named metrics tells of workflows."""
METRICS_SERVICE = f"workflow-controller-metrics.{NAMESPACE}.svc"
METRICS_PORT = 9090
WORKFLOWS: dict[str, Path] = {
    "Workflow": ("spec",),
    "WorkflowTemplate": ("spec",),
    "ClusterWorkflowTemplate": ("spec",),
    "CronWorkflow": ("spec", "workflowSpec"),
}
"""Kinds that hold a workflow, and where."""
KINDS = (
    *WORKFLOWS,
    "WorkflowArtifactGCTask",
    "WorkflowEventBinding",
    "WorkflowTaskResult",
    "WorkflowTaskSet",
)
"""Every kind of its own; the others of the group are Argo CD's."""


def argo_workflows(cluster: Cluster) -> Component:
    """Argo Workflows for the whole cluster; absent where nothing uses it."""
    from generator.components.argo_workflows.install import install  # noqa: PLC0415 - only a render makes it

    return install(cluster)


def operated(cluster: Cluster) -> bool:
    """Tell whether operations of gen's own run here, beside what teams run."""
    return any(
        (
            cluster.all_backups,
            cluster.volume_backups,
            cluster.gitops.fleet,
            cluster.acceptance,
            cluster.mlperf,
            cluster.gpu_care,
        )
    )


def templates_named(manifest: Manifest) -> Iterator[Named]:
    """Yield the templates that a workflow takes from others."""
    at = WORKFLOWS[manifest["kind"]]
    whole = mapping(dig(manifest, *at))
    yield template((*at, "workflowTemplateRef", "name"), whole.get("workflowTemplateRef"))
    own = [dig(each, "name") for each in sequence(whole.get("templates"))]
    for way in ("templates.*.steps.*.*", "templates.*.dag.tasks.*"):
        for within, task in spots(whole, way):
            yield template((*at, *within, "templateRef", "name"), dig(task, "templateRef"))
            if isinstance(dig(task, "template"), str) and task["template"] not in own:
                yield Named((*at, *within, "template"), "template of the workflow", task["template"], OWN)


def template(at: Path, said: object) -> Named:
    """Return a template of workflows."""
    if dig(said, "clusterScope") is True:
        return Named(at, "ClusterWorkflowTemplate", dig(said, "name"))
    return Named(at, "WorkflowTemplate", dig(said, "name"), OWN)


DEFINITION = Definition(
    name="argo-workflows",
    tier=Tier.PLATFORM,
    make=argo_workflows,
    wanted=lambda cluster: operated(cluster) or any(team.pipelines for team in cluster.teams),
    absence="there are no backups, no fleet is rendered here, no pool is tried, there are no benchmarks, nobody looks "
    "after GPUs, and no team has pipelines",
    versions=VERSIONS,
    jumps=lambda: read_rules("argo_workflows/jumps.yaml", skips_a_minor=of("argo-workflows", skips_a_minor)),
    namespaces=(NAMESPACE,),
    chart_kinds=(CRD, *CLUSTER_ROLES, "scheduling.k8s.io/PriorityClass"),
    apis=(Api(group="argoproj.io", kinds=KINDS, title="argoproj.io of workflows"),),
    kinds=tuple(
        OperatedKind(kind=kind, also_names=templates_named) for kind in ("CronWorkflow", "Workflow", "WorkflowTemplate")
    ),
    shown_by=Evidence(images=("argoproj/workflow-controller",)),
    notes="From upstream's manifest at a tag. Runs the scheduled operations.",
)

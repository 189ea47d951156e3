"""Pods that objects of ours ask for."""

from collections.abc import Iterator

from validation.build import Object

__all__ = ["pods"]

TEMPLATES = {
    "Deployment": ("spec", "template"),
    "StatefulSet": ("spec", "template"),
    "DaemonSet": ("spec", "template"),
    "ReplicaSet": ("spec", "template"),
    "Job": ("spec", "template"),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
}
# Pods that no workload restarts.
ONCE = {"Job", "CronJob"}


def pods(manifest: Object) -> Iterator[Object]:
    """Yield each pod that an object makes, as a Pod of its own."""
    kind = manifest["kind"]
    if kind == "Pod":
        yield manifest
    elif kind in TEMPLATES:
        template = manifest
        for key in TEMPLATES[kind]:
            template = template[key]
        yield pod(manifest, template.get("metadata", {}), template["spec"])
    elif kind in {"WorkflowTemplate", "CronWorkflow", "ClusterWorkflowTemplate"}:
        yield from steps(manifest)


def pod(manifest: Object, metadata: Object, spec: Object, suffix: str = "") -> Object:
    own = manifest["metadata"]
    named = {**metadata, "name": own["name"] + suffix, "namespace": own.get("namespace", "default")}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": named, "spec": spec}


def steps(manifest: Object) -> Iterator[Object]:
    """Yield a pod for each container or script of a workflow, less what Argo Workflows adds."""
    whole = manifest["spec"].get("workflowSpec", manifest["spec"])
    for template in whole.get("templates", ()):
        main = template.get("container") or template.get("script")
        if not main:
            continue
        shared = {key: whole[key] for key in ("serviceAccountName", "priorityClassName") if key in whole}
        spec = {
            **shared,
            "automountServiceAccountToken": whole.get("automountServiceAccountToken", True),
            "securityContext": template.get("securityContext", whole.get("securityContext", {})),
            "nodeSelector": template.get("nodeSelector", whole.get("nodeSelector", {})),
            "tolerations": [*whole.get("tolerations", ()), *template.get("tolerations", ())],
            "volumes": [*whole.get("volumes", ()), *template.get("volumes", ())],
            "initContainers": template.get("initContainers", []),
            "containers": [{**{key: main[key] for key in main if key != "source"}, "name": "main"}],
            "restartPolicy": "Never",
        }
        yield pod(manifest, template.get("metadata", {}), spec, f"-{template['name']}")

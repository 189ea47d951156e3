"""All clusters of the repository rendered, or vendored, and checked by pods of one of them."""

from generator.components.common import proxy_variables
from generator.components.component import Component, Manifest, Namespace, Operation, Secret, Turn
from generator.components.fleet import DEFINITION, NAMESPACE
from generator.components.static import read_objects, read_text
from generator.components.workflows.scheduled import arguments
from generator.model.cluster import Cluster
from generator.model.gitops import Fleet

LABELS = {"app.kubernetes.io/name": "fleet", "app.kubernetes.io/part-of": "fleet"}
CA = "fleet-ca"


def install(cluster: Cluster) -> Component:
    """Return the WorkflowTemplate `fleet`: clone, render in parts, join, check in parts, push. Only its first and last
    step hold the key to the repository.
    """
    settings = cluster.gitops.fleet
    return Component(
        name=DEFINITION.name,
        tier=DEFINITION.tier,
        summary="All clusters of the repository, rendered and checked in parts",
        version="v1",
        namespaces=(Namespace(NAMESPACE),),
        base=read_objects("fleet/base.yaml"),
        objects=(workflow_template(cluster, settings), authorities(cluster)) if settings else (),
        operations=(Operation(name="fleet", templates=(scripts(),)),),
        needs=("argo-workflows",),
        storage_classes=(settings.storage_class,) if settings else (),
        secrets=(key(cluster),),
    )


def workflow_template(cluster: Cluster, settings: Fleet) -> Manifest:
    """Return the WorkflowTemplate with this cluster's image, volume and repository."""
    (made,) = read_objects("fleet/template.yaml")
    told = {
        "url": cluster.repository.url,
        "branch": cluster.repository.branch,
        "target": "gen/fleet",
        "how": "render",
        "shards": str(settings.shards),
        "author": f"gen <gen@{cluster.site.domain}>",
    }
    order, *steps = made["spec"]["templates"]
    spec = {
        **made["spec"],
        **arguments(made, told),
        "volumeClaimTemplates": [_volume(settings)],
        "templates": [order, *(_whole(step, cluster, settings) for step in steps)],
    }
    return {**made, "spec": spec}


def _volume(settings: Fleet) -> Manifest:
    return {
        "metadata": {"name": "work"},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": settings.storage_class,
            "resources": {"requests": {"storage": str(settings.storage)}},
        },
    }


def _whole(step: Manifest, cluster: Cluster, settings: Fleet) -> Manifest:
    """Return a step with what all have in common; those that talk to the repository know the site's proxy as well."""
    (common,) = read_objects("fleet/step.yaml")
    own, shared = step["container"], common["container"]
    proxy = [{"name": name, "value": value} for name, value in proxy_variables(cluster).items()]
    container = {
        **shared,
        **own,
        "image": settings.image,
        "env": [*shared["env"], *own.get("env", []), *proxy],
        "volumeMounts": [*shared["volumeMounts"], *own.get("volumeMounts", [])],
    }
    return {"retryStrategy": common["retryStrategy"], **step, "container": container}


def authorities(cluster: Cluster) -> Manifest:
    """Return the CA certificate of the site, empty without one: Git trusts it beside those of the image."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": CA, "namespace": NAMESPACE, "labels": LABELS},
        "data": {"ca.crt": cluster.site.ca or ""},
    }


def scripts() -> Manifest:
    """Return the ConfigMap with the script."""
    files = {"fleet.sh": "fleet/fleet.sh", "client.sh": "workflows/client.sh"}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "fleet-scripts", "namespace": NAMESPACE, "labels": LABELS},
        "data": {name: read_text(path) for name, path in files.items()},
    }


def key(cluster: Cluster) -> Secret:
    """Return the key that may push to the repository, of the kind that its URL asks for. Argo CD's may only read."""
    return Secret(
        name="fleet-git",
        namespace=NAMESPACE,
        keys=("sshPrivateKey", "knownHosts") if cluster.repository.by_ssh else ("username", "password"),
        source="given",
        loss="outage",
        rotate="make a new one at the Git server, which may push to the branches of `target`, and replace the value",
        readers=(DEFINITION.name,),
        turn=Turn(),
    )

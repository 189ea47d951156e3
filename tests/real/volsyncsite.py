"""What VolSync needs on an API server: the definitions and rights of its chart, and namespaces with the rules of teams.
Kueue's webhook is not there, which would put movers in the queue.
"""

import subprocess
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from generator.components.volsync.install import values
from generator.components.volsync.names import NAMESPACE
from generator.live.apiserver import free_ports

if TYPE_CHECKING:
    from apiserver import ApiServer

    from generator.components.component import Component
    from generator.model.cluster import Cluster

Object = dict[str, Any]
Made = dict[str, "Component"]
QUEUED_BY_KUEUE = "gen-queue-name"
MOVER = "quay.io/backube/volsync:0.16.0"


def install(api: "ApiServer", folder: Path, cluster: "Cluster", made: Made) -> str:
    """Apply the definitions of snapshots, VolSync's chart without its Deployment, and the rules of teams; return the
    path of the manager.
    """
    from apiserver import programs, sources

    program, helm = programs("volsync", "helm")
    api.define(*sorted(sources("snapshot-crds").glob("*snapshot.storage*.yaml")))
    for one in _chart(folder, program, helm, cluster):
        if one["kind"] == "CustomResourceDefinition":
            api.apply(one)
            api.wait(one["metadata"]["name"], partial(api.established, one))
        elif one["kind"] in {"ClusterRole", "ClusterRoleBinding"}:
            api.apply(one)
    for one in made["tenants"].base:
        name = one["metadata"]["name"]
        if one["kind"].startswith("ValidatingAdmission") and name != QUEUED_BY_KUEUE:
            api.apply(one)
    return program


def _chart(folder: Path, program: str, helm: str, cluster: "Cluster") -> list[Object]:
    """Return the chart's objects, with the values that gen renders."""
    (folder / "values.yaml").write_text(yaml.safe_dump(values(cluster)))
    place = Path(program).resolve().with_name("chart")
    command = [helm, "template", "volsync", str(place), "--namespace", NAMESPACE, "-f", str(folder / "values.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return [one for one in yaml.load_all(done.stdout, yaml.CSafeLoader) if one]


def manager(program: str, kubeconfig: Path) -> list[str]:
    """Return the command of VolSync's manager."""
    metrics, health = free_ports(2)
    return [
        "env",
        f"KUBECONFIG={kubeconfig}",
        program,
        f"--metrics-bind-address=127.0.0.1:{metrics}",
        "--metrics-secure=false",
        "--metrics-require-rbac=false",
        f"--health-probe-bind-address=127.0.0.1:{health}",
        f"--restic-container-image={MOVER}",
    ]


def space(api: "ApiServer", made: Made, team: str) -> None:
    """Make a team's namespace as it is rendered."""
    (found,) = [one for one in made["tenants"].namespaces if one.name == team]
    metadata = {"name": team, "labels": found.labels, "annotations": found.annotations}
    api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})


def secret(api: "ApiServer", team: str, name: str, held: dict[str, str]) -> None:
    """Make a Secret in a team's namespace."""
    metadata = {"name": name, "namespace": team}
    api.apply({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": held})


def sources_of(made: Made, team: str) -> list[Object]:
    """Return the ReplicationSources in a team's namespace."""
    found = (one for one in made["tenants"].objects if one["kind"] == "ReplicationSource")
    return [one for one in found if one["metadata"]["namespace"] == team]

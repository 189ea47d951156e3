"""Kinds that a simulation needs and that nothing on the twin brings, where their definitions are not vendored: whatever
is said of them is taken as it is.
"""

from generator.components.component import Manifest
from generator.live.running import RunningCluster

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NEEDED = {
    "/apis/ceph.rook.io/v1": ("CephCluster", "cephclusters"),
    "/apis/argoproj.io/v1alpha1": ("Workflow", "workflows"),
}
"""Kinds by where they are served."""


def serve(twin: RunningCluster) -> list[str]:
    """Have all needed kinds served; return those that were made up. Raises UsageError."""
    made = []
    for where, (kind, plural) in NEEDED.items():
        if not twin.serves(f"{where}/{plural}"):
            twin.create(DEFINITIONS, definition(where, kind, plural))
            made.append(kind)
    return made


def all_served(twin: RunningCluster) -> bool:
    """Tell whether all needed kinds are served by now."""
    return all(twin.serves(f"{where}/{plural}") for where, (_, plural) in NEEDED.items())


def definition(where: str, kind: str, plural: str) -> Manifest:
    """Return the definition of a kind that may say anything."""
    group, version = where.removeprefix("/apis/").split("/")
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served: Manifest = {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    # A status apart, as the real definition of a CephCluster has it; that of a Workflow has none.
    apart: Manifest = {"subresources": {"status": {}}} if kind == "CephCluster" else {}
    names = {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [{**served, **apart}]},
    }

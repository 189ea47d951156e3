"""Rules, roles and bindings of Kubernetes' role-based access control."""

from collections.abc import Iterable, Iterator

from generator.components.component import Manifest

RBAC = "rbac.authorization.k8s.io"


def rule(group: str, kinds: Iterable[str], verbs: Iterable[str], only: Iterable[str] = ()) -> Manifest:
    """Allow verbs on kinds of one API group; on objects of `only` these names where there are any."""
    made: Manifest = {"apiGroups": [group], "resources": [*kinds], "verbs": [*verbs]}
    names = [*only]
    return made | {"resourceNames": names} if names else made


def role(metadata: Manifest, rules: list[Manifest]) -> Manifest:
    """Return a role: of one namespace where its metadata names one, else of the whole cluster."""
    kind = "Role" if "namespace" in metadata else "ClusterRole"
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata, "rules": rules}


def binding(metadata: Manifest, kind: str, name: str, subjects: list[Manifest]) -> Manifest:
    """Bind somebody to a role of a kind and name: in one namespace where the metadata names one, else everywhere."""
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding" if "namespace" in metadata else "ClusterRoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": name},
        "subjects": subjects,
    }


def bound(metadata: Manifest, rules: list[Manifest], space: str, account: str = "") -> Iterator[Manifest]:
    """Yield a role, of one namespace or of the whole cluster, and its binding to a ServiceAccount of a namespace: the
    one of the same name, unless another one is named.
    """
    made, name = role(metadata, rules), metadata["name"]
    yield made
    held_by = {"kind": "ServiceAccount", "name": account or name, "namespace": space}
    yield binding(metadata, made["kind"], name, [held_by])

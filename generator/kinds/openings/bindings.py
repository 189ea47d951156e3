"""Rights on the API server: bindings that give roles to more."""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from generator.kinds.openings.rights import (
    CLUSTER_ROLE,
    GROUP,
    GUIDE,
    RBAC,
    Right,
    is_escalation,
    is_everything,
    rights,
)
from generator.model.change import Beside, ObjectChange
from generator.model.fields import dig, mapping, sequence
from generator.model.opening import OpeningRule, Opens

KINDS = (f"{GROUP}/RoleBinding", f"{GROUP}/ClusterRoleBinding")
ADMIN = "cluster-admin"
STRANGERS = {"system:anonymous", "system:unauthenticated"}
"""Who has not said who it is."""


class Grant(NamedTuple):
    """A role, given to somebody; within a namespace, if there is one."""

    kind: str
    subject: str
    role: tuple[str, str]
    namespace: str

    @property
    def text(self) -> str:
        """It in words."""
        return f"{self.kind} {self.subject} has {' '.join(self.role)}"


def _grants(manifest: Any) -> set[Grant]:
    role = (str(dig(manifest, "roleRef", "kind")), str(dig(manifest, "roleRef", "name")))
    space = str(dig(manifest, "metadata", "namespace") or "")
    found = set()
    for one in map(mapping, sequence(dig(manifest, "subjects"))):
        name = "/".join(str(one[key]) for key in ("namespace", "name") if one.get(key))
        found.add(Grant(str(one.get("kind")), name, role, space))
    return found


def _given(change: ObjectChange) -> list[Grant]:
    return sorted(_grants(change.new) - _grants(change.old))


_WIDE = {"admin", "edit"}
"""Upstream's own roles that reach the Secrets and pods of every namespace where they are bound on the whole cluster."""
_NARROW = {
    "view",
    "system:auth-delegator",
    "system:basic-user",
    "system:discovery",
    "system:monitoring",
    "system:public-info-viewer",
    "system:service-account-issuer-discovery",
}
"""Upstream's own roles that are no way to others."""


def _is_highest(grant: Grant, beside: Beside) -> bool:
    """Tell whether a role gives everything, or the way to it, on the whole cluster; or is `cluster-admin` anywhere."""
    kind, name = grant.role
    if kind != "ClusterRole" or name == ADMIN or grant.namespace:
        return (kind, name) == ("ClusterRole", ADMIN)
    held = _given_by(name, beside)
    if held is None:
        # What nobody sees here may be anything. Without either side nothing is seen at all.
        return name in _WIDE or (bool(beside.new) and name not in _NARROW)
    return any(is_everything(right) or is_escalation(right) for right in held)


def _given_by(name: str, beside: Beside) -> list[Right] | None:
    """Return what a ClusterRole gives, None where it is not among what is seen."""
    found = [one for one in beside.new.get(CLUSTER_ROLE, ()) if dig(one, "metadata", "name") == name]
    return [right for one in found for right in rights(one)] if found else None


def highest(change: ObjectChange, beside: Beside) -> Iterator[str]:
    """Yield who may do everything from now on."""
    yield from (grant.text for grant in _given(change) if _is_highest(grant, beside))


def to_strangers(change: ObjectChange, beside: Beside) -> Iterator[str]:
    """Yield what is given to those who have not said who they are."""
    given = (grant for grant in _given(change) if not _is_highest(grant, beside))
    yield from (grant.text for grant in given if grant.subject in STRANGERS)


def given(change: ObjectChange, beside: Beside) -> Iterator[str]:
    """Yield who else has a role from now on."""
    given = (grant for grant in _given(change) if not _is_highest(grant, beside))
    yield from (grant.text for grant in given if grant.subject not in STRANGERS)


opening = partial(OpeningRule, opens=Opens.RIGHTS, kinds=KINDS)

BINDINGS = (
    opening(
        code="GEN-CHG-750",
        gains=highest,
        stops=True,
        reason="who is bound to it may do everything on the cluster, or give himself the right to; or the role is of "
        "another Application, and nobody sees here what it gives",
        instead="bind a role that gives what is needed, in the namespaces where it is",
        link=f"{GUIDE}/#least-privilege",
    ),
    opening(
        code="GEN-CHG-751",
        gains=given,
        reason="who is bound to it may do what its role says",
        link=f"{RBAC}/#rolebinding-and-clusterrolebinding",
    ),
    opening(
        code="GEN-CHG-752",
        gains=to_strangers,
        stops=True,
        reason="whoever reaches the API server has these rights, without a name or a password",
        instead="bind those who need it",
        link=f"{GUIDE}/#least-privilege",
    ),
)

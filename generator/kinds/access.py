"""Roles, bindings and ServiceAccounts."""

from functools import partial
from typing import Any

from generator.kinds.general import SOURCE
from generator.kinds.openings.bindings import KINDS as BINDINGS
from generator.kinds.openings.rights import CLUSTER_ROLE, ROLE, beyond
from generator.model.change import ABSENT, ChangeRule, Effect, FieldChange, ObjectChange
from generator.model.fields import dig, mapping, sequence

ROLES = (ROLE, CLUSTER_ROLE)
ACCOUNT = ("/ServiceAccount",)


def keeps_all(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether a role gives all rights that it gave."""
    return not beyond(change.old, change.new)


def _subjects(manifest: Any) -> set[tuple[str, ...]]:
    keys = ("kind", "namespace", "name")
    return {tuple(str(one.get(key, "")) for key in keys) for one in map(mapping, sequence(dig(manifest, "subjects")))}


def keeps_everybody(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether all keep it who had it."""
    return _subjects(change.old) <= _subjects(change.new)


def is_another(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether there was a value, and is another."""
    return field.old is not ABSENT or field.path[-1] != "apiGroup"


of_bindings = partial(ChangeRule, kinds=BINDINGS)

ACCESS = (
    of_bindings(
        code="GEN-CHG-090",
        paths=("roleRef",),
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses another role of a binding; its Application stops there",
        instead="give the binding a new name",
        link=f"{SOURCE}/rbac/validation/validation.go",
        when=is_another,
    ),
    of_bindings(
        code="GEN-CHG-091",
        paths=("subjects",),
        effect=Effect.OUTAGE,
        reason="who is no longer named is refused from now on",
    ),
    of_bindings(
        code="GEN-CHG-092",
        paths=("subjects",),
        effect=Effect.NONE,
        reason="all keep it who had it",
        when=keeps_everybody,
    ),
    ChangeRule(
        code="GEN-CHG-093",
        kinds=ROLES,
        paths=("rules", "aggregationRule"),
        effect=Effect.OUTAGE,
        reason="who used a right that goes is refused from now on, without any restart",
        link="https://kubernetes.io/docs/reference/access-authn-authz/rbac/",
    ),
    ChangeRule(
        code="GEN-CHG-094",
        kinds=ROLES,
        paths=("rules",),
        effect=Effect.NONE,
        reason="it gives all rights that it gave",
        when=keeps_all,
    ),
    ChangeRule(
        code="GEN-CHG-095",
        kinds=(*ROLES, *BINDINGS),
        on="removed",
        effect=Effect.OUTAGE,
        reason="who had rights by it is refused from now on, unless others give the same",
    ),
    ChangeRule(
        code="GEN-CHG-096",
        kinds=ACCOUNT,
        on="removed",
        effect=Effect.OUTAGE,
        reason="its tokens are refused from now on, and pods that name it are not made any more",
        link="https://kubernetes.io/docs/concepts/security/service-accounts/",
    ),
    ChangeRule(
        code="GEN-CHG-097",
        kinds=ACCOUNT,
        paths=("automountServiceAccountToken", "imagePullSecrets", "secrets"),
        effect=Effect.NONE,
        reason="it counts for pods that are made from now on",
    ),
)

"""Rights on the API server: roles that give more."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

from generator.model.change import Beside, ObjectChange
from generator.model.fields import dig, mapping, sequence
from generator.model.opening import OpeningRule, Opens, texts

GROUP = "rbac.authorization.k8s.io"
ROLE, CLUSTER_ROLE = f"{GROUP}/Role", f"{GROUP}/ClusterRole"
GUIDE = "https://kubernetes.io/docs/concepts/security/rbac-good-practices"
RBAC = "https://kubernetes.io/docs/reference/access-authn-authz/rbac"
AGGREGATED = f"{GROUP}/aggregate-to-"


class Right(NamedTuple):
    """One verb on one resource of a group, on all of it unless it is named; or on an address, with no group."""

    group: str | None
    resource: str
    name: str
    verb: str

    def covers(self, other: "Right") -> bool:
        """Tell whether the other one is part of this."""
        same = self.verb in {other.verb, "*"} and self.name in {other.name, ""}
        if self.group is None or other.group is None:
            return same and self.group is other.group and _address_covers(self.resource, other.resource)
        return same and self.group in {other.group, "*"} and _resource_covers(self.resource, other.resource)

    def reaches(self, group: str, resource: str, verbs: Iterable[str]) -> bool:
        """Tell whether it gives one of these verbs on a resource, perhaps on some by name only."""
        return any(self._replace(name="").covers(Right(group, resource, "", verb)) for verb in verbs)

    @property
    def on(self) -> str:
        """What it is a right on: `deployments.apps`, `*.*`."""
        named = f" named {self.name}" if self.name else ""
        return f"{self.resource}{f'.{self.group}' if self.group else ''}{named}"


def _resource_covers(held: str, wanted: str) -> bool:
    return held in {wanted, "*"} or (held.startswith("*/") and wanted.endswith(held[1:]))


def _address_covers(held: str, wanted: str) -> bool:
    return held == wanted or (held.endswith("*") and wanted.startswith(held[:-1]))


def rights(manifest: Any) -> Iterator[Right]:
    """Yield each single right that a role gives."""
    for rule in map(mapping, sequence(dig(manifest, "rules"))):
        for verb in map(str, sequence(rule.get("verbs"))):
            yield from (Right(None, str(address), "", verb) for address in sequence(rule.get("nonResourceURLs")))
            for group in sequence(rule.get("apiGroups")):
                for resource in sequence(rule.get("resources")):
                    for name in sequence(rule.get("resourceNames")) or ("",):
                        yield Right(str(group), str(resource), str(name), verb)


def beyond(manifest: Any, other: Any) -> list[Right]:
    """Return the rights that a role gives and another one does not."""
    held = set(rights(other))
    return [right for right in rights(manifest) if right not in held and not any(one.covers(right) for one in held)]


def gained(change: ObjectChange) -> list[Right]:
    """Return the rights that a role gives and did not give."""
    return beyond(change.new, change.old)


def is_everything(right: Right) -> bool:
    """Tell whether it gives all verbs on all resources, at least of the core."""
    return right.verb == "*" and right.resource == "*" and right.group in {"*", ""}


def is_escalation(right: Right) -> bool:
    """Tell whether who has it can give himself any other right, or act as somebody else."""
    roles = any(right.reaches(GROUP, one, ("escalate", "bind")) for one in ("roles", "clusterroles"))
    others = any(right.reaches("", one, ("impersonate",)) for one in ("users", "groups", "serviceaccounts"))
    return roles or others or right.verb.startswith("impersonate")


_WORTH = (
    ("", "secrets", ("get", "list", "watch")),
    ("", "pods/exec", ("create", "get")),
    ("", "pods/attach", ("create", "get")),
    ("", "pods/ephemeralcontainers", ("patch", "update")),
    ("", "pods/portforward", ("create", "get")),
    ("", "nodes/proxy", ("get", "create")),
    ("", "serviceaccounts/token", ("create",)),
    ("certificates.k8s.io", "certificatesigningrequests/approval", ("update", "patch")),
    ("certificates.k8s.io", "signers", ("approve", "sign")),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations", ("create", "update", "patch", "delete")),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations", ("create", "update", "patch", "delete")),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies", ("create", "update", "patch", "delete")),
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings", ("create", "update", "patch", "delete")),
    (GROUP, "roles", ("create", "update", "patch")),
    (GROUP, "clusterroles", ("create", "update", "patch")),
    (GROUP, "rolebindings", ("create", "update", "patch")),
    (GROUP, "clusterrolebindings", ("create", "update", "patch")),
    ("", "namespaces", ("update", "patch")),
    ("", "persistentvolumes", ("create",)),
)
"""What leads to more than it says, as the guide to good practices of RBAC lists it."""


def is_worth_more(right: Right) -> bool:
    """Tell whether a right leads to others: to what is in Secrets, into pods, to nodes, to identities."""
    return "*" in {right.verb, right.resource, right.group} or any(right.reaches(*one) for one in _WORTH)


def in_words(found: Iterable[Right]) -> Iterator[str]:
    """Yield rights in words, those on one thing together: `get, list on secrets`."""
    verbs: dict[str, list[str]] = {}
    for right in found:
        verbs.setdefault(right.on, []).append(right.verb)
    yield from (f"{', '.join(dict.fromkeys(named))} on {thing}" for thing, named in verbs.items())


def everything(change: ObjectChange, _beside: Beside) -> Iterator[str]:
    """Yield what is gained of everything."""
    yield from in_words(filter(is_everything, gained(change)))


def escalations(change: ObjectChange, _beside: Beside) -> Iterator[str]:
    """Yield what is gained of the ways to any right."""
    yield from in_words(one for one in gained(change) if is_escalation(one) and not is_everything(one))


def worth_more(change: ObjectChange, _beside: Beside) -> Iterator[str]:
    """Yield what is gained that leads further."""
    plain = (one for one in gained(change) if not is_everything(one) and not is_escalation(one))
    yield from in_words(filter(is_worth_more, plain))


def others(change: ObjectChange, _beside: Beside) -> Iterator[str]:
    """Yield what else is gained."""
    known = (is_everything, is_escalation, is_worth_more)
    yield from in_words(one for one in gained(change) if not any(is_it(one) for is_it in known))


def flows(change: ObjectChange, _beside: Beside) -> Iterator[str]:
    """Yield which roles get rights because they gather those of others."""
    before, after = (_flowing(one) for one in (change.old, change.new))
    for label in sorted(after):
        flowing = gained(change) if label in before else list(rights(change.new))
        for text in in_words(flowing):
            yield f"into ClusterRole {label.removeprefix(AGGREGATED)}: {text}"
    old, new = (sequence(dig(one, "aggregationRule", "clusterRoleSelectors")) for one in (change.old, change.new))
    yield from (f"gathers the rights of roles with {one}" for one in new if one not in old)


def _flowing(manifest: Any) -> set[str]:
    labels = texts(dig(manifest, "metadata", "labels"))
    return {key for key, value in labels.items() if key.startswith(AGGREGATED) and value == "true"}


_LESS = "name the verbs, resources and groups that are needed"

opening = partial(OpeningRule, opens=Opens.RIGHTS)

RIGHTS = (
    opening(
        code="GEN-CHG-753",
        kinds=(CLUSTER_ROLE,),
        gains=everything,
        stops=True,
        reason="who has this role may do everything, with what is installed later as well",
        instead=_LESS,
        link=f"{GUIDE}/#least-privilege",
    ),
    opening(
        code="GEN-CHG-754",
        kinds=(CLUSTER_ROLE,),
        gains=escalations,
        stops=True,
        reason="who has this role can give himself any right (escalate, bind), or act as anybody (impersonate)",
        instead="no such verb, or `resourceNames` with roles that may be given",
        link=f"{GUIDE}/#escalate-verb",
    ),
    opening(
        code="GEN-CHG-755",
        kinds=(ROLE,),
        gains=lambda change, beside: [*everything(change, beside), *escalations(change, beside)],
        reason="who has this role may do everything in the namespace, or give himself the right to",
        instead=_LESS,
        link=f"{GUIDE}/#escalate-verb",
    ),
    opening(
        code="GEN-CHG-756",
        kinds=(ROLE, CLUSTER_ROLE),
        gains=worth_more,
        reason="these rights lead to more than they say: to what is in Secrets, into pods and onto nodes, to other "
        "accounts, or to whatever comes under a `*`",
        instead=_LESS,
        link=f"{GUIDE}/#privilege-escalation-risks",
    ),
    opening(
        code="GEN-CHG-757",
        kinds=(ROLE, CLUSTER_ROLE),
        gains=others,
        reason="who has this role may do more than before",
        link=f"{RBAC}/#role-and-clusterrole",
    ),
    opening(
        code="GEN-CHG-758",
        kinds=(CLUSTER_ROLE,),
        gains=flows,
        reason="rights flow into a role that gathers those of others: all who have that one get them too",
        instead="leave the label out, and bind the role to those who need it",
        link=f"{RBAC}/#aggregated-clusterroles",
    ),
)

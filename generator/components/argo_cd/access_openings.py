"""What changes of Argo CD's settings open (v3.5.3: `docs/operator-manual/rbac.md`, `argocd-cm.yaml`)."""

import re
from collections.abc import Iterator
from typing import Any

from generator.components.argo_cd.changes import TYPE
from generator.components.rule_files import read_rules
from generator.model.change import Beside, ObjectChange
from generator.model.fields import dig
from generator.model.opening import texts

_ADMIN = "role:admin"
_POLICY = re.compile(r"policy(\..*)?\.csv")


def _lines(manifest: Any) -> list[tuple[str, ...]]:
    """Return the lines of all policies, taken apart."""
    found = [text for key, text in texts(dig(manifest, "data")).items() if _POLICY.fullmatch(key)]
    lines = [line.strip() for text in found for line in text.splitlines()]
    return [tuple(part.strip() for part in line.split(",")) for line in lines if line and not line.startswith("#")]


def _is_everything(line: tuple[str, ...]) -> bool:
    """Tell whether a line makes somebody an administrator."""
    if line[0] == "g":
        return line[2:3] == (_ADMIN,)
    return line[0] == "p" and line[2:4] == ("*", "*") and line[-1] != "deny"


def _admins(lines: list[tuple[str, ...]]) -> set[str]:
    return {_ADMIN, *(line[1] for line in lines if len(line) > 2 and _is_everything(line))}


def makes_admins(change: ObjectChange, _beside: Beside) -> Iterator[str]:
    """Yield who may do everything in Argo CD from now on."""
    if change.name != "argocd-rbac-cm":
        return
    before, after = (_lines(side) for side in (change.old, change.new))
    yield from (", ".join(line) for line in after if line not in before and _is_everything(line))
    old, new = (str(dig(side, "data", "policy.default") or "") for side in (change.old, change.new))
    if new in _admins(after) and not (old == new and old in _admins(before)):
        yield f"whoever logs in is {new}"


def lets_more(change: ObjectChange, _beside: Beside) -> Iterator[str]:
    """Yield who else may do more in Argo CD."""
    if change.name != "argocd-rbac-cm" or not change.new:
        return
    before, after = (_lines(side) for side in (change.old, change.new))
    plain = (line for line in after if line not in before and not _is_everything(line))
    yield from (", ".join(line) for line in plain if line[-1] != "deny")
    yield from (f"without {', '.join(line)}" for line in before if line[-1] == "deny" and line not in after)
    for key in ("policy.default", "policy.matchMode", "scopes"):
        old, new = (str(dig(side, "data", key) or "") for side in (change.old, change.new))
        if old != new and not (key == "policy.default" and new in {"", *_admins(after)}):
            yield f"{key}: {old or 'nothing'} -> {new or 'nothing'}"


_CLOSED = {"users.anonymous.enabled", "exec.enabled", "admin.enabled", "server.disable.auth", "server.insecure"}
_WATCHED = (
    "accounts.",
    "oidc.",
    "dex.",
    "kustomize.buildOptions",
    "kustomize.path",
    "application.namespaces",
    "applicationsetcontroller.namespaces",
    "applicationsetcontroller.enable.scm.providers",
    "applicationsetcontroller.allowed.scm.providers",
    "application.sync.impersonation.enabled",
    "globalProjects",
    "resource.exclusions",
    "resource.inclusions",
    "resource.customizations.ignoreDifferences",
)


def lets_in(change: ObjectChange, _beside: Beside) -> Iterator[str]:
    """Yield who else gets into Argo CD, or what it runs. What is behind a login is not shown: it may hold secrets."""
    if change.name not in {"argocd-cm", "argocd-cmd-params-cm"} or not change.new:
        return
    old, new = (texts(dig(side, "data")) for side in (change.old, change.new))
    for key in sorted(new):
        if new[key] == old.get(key):
            continue
        if key in _CLOSED:
            yield from (f"{key}: {new[key]}" for _ in range(new[key].lower() == "true"))
        elif key.startswith(_WATCHED):
            yield f"{key} differs" if key.startswith(("oidc.", "dex.")) else f"{key}: {new[key]}"


def reaches_more(change: ObjectChange, _beside: Beside) -> Iterator[str]:
    """Yield that a Secret makes Argo CD know a repository or a cluster; never what is in it."""
    old, new = (dig(side, "metadata", "labels", TYPE) for side in (change.old, change.new))
    same = all(dig(change.old, key) == dig(change.new, key) for key in ("data", "stringData"))
    if new and not (new == old and same):
        yield f"{new} {change.name}"


OPENINGS = read_rules("argo_cd/access_openings.yaml", makes_admins, lets_more, lets_in, reaches_more)

"""What pods may do on their node, and as whom: whatever kind the object is that makes them."""

from collections.abc import Callable, Iterator
from typing import Any

from generator.kinds.definitions import CRD
from generator.model.change import ANY, Beside, ObjectChange
from generator.model.fields import dig, mapping, sequence, walk
from generator.model.opening import OpeningRule, Opens

STANDARDS = "https://kubernetes.io/docs/concepts/security/pod-security-standards"
ACCOUNTS = "https://kubernetes.io/docs/tasks/configure-pod-container/configure-service-account"
_ENDLESS = "kubernetes.io/service-account-token"
_SHARED = ("hostNetwork", "hostPID", "hostIPC")


def on_the_host(manifest: Any) -> Iterator[str]:
    """Yield what pods have of their node, wherever in an object a part of a pod stands."""
    for _, part in walk(manifest):
        if isinstance(part, dict):
            yield from _shared(part)
            yield from _freed(part)


def _shared(part: dict[str, Any]) -> Iterator[str]:
    yield from (key for key in _SHARED if part.get(key) is True)
    if isinstance(path := dig(part, "hostPath", "path"), str):
        yield f"hostPath {path}"
    if isinstance(port := part.get("hostPort"), int) and port:
        yield f"hostPort {port}"


def _freed(part: dict[str, Any]) -> Iterator[str]:
    context = mapping(part.get("securityContext"))
    whose = f" in {part['name']}" if isinstance(part.get("name"), str) else ""
    if context.get("privileged") is True:
        yield f"privileged{whose}"
    yield from (f"capability {one}{whose}" for one in sequence(dig(context, "capabilities", "add")))
    if context.get("runAsUser") == 0 and not isinstance(context["runAsUser"], bool):
        yield f"runs as root{whose}"
    if context.get("procMount") == "Unmasked":
        yield f"/proc unmasked{whose}"
    for key in ("seccompProfile", "appArmorProfile"):
        if dig(context, key, "type") == "Unconfined":
            yield f"{key} Unconfined{whose}"
    if dig(context, "windowsOptions", "hostProcess") is True:
        yield f"hostProcess{whose}"


_HELD: dict[str, Callable[[dict[str, Any]], object]] = {
    "may run as root": lambda one: one.get("runAsNonRoot") is True,
    "may gain privileges": lambda one: one.get("allowPrivilegeEscalation") is False,
    "keeps its default capabilities": lambda one: "ALL" in sequence(dig(one, "capabilities", "drop")),
    "no seccomp profile": lambda one: str(dig(one, "seccompProfile", "type")) in {"RuntimeDefault", "Localhost"},
    "may write its own files": lambda one: one.get("readOnlyRootFilesystem") is True,
}
"""What holds a container back, by what is said when it no longer does."""


def _held_back(manifest: Any) -> dict[tuple[Any, ...], set[str]]:
    """Return what holds pods and containers back, by where they stand: items of a list by their names."""
    found: dict[tuple[Any, ...], set[str]] = {}
    for path, part in walk(manifest):
        if isinstance(part, dict) and ("containers" in part or "image" in part):
            context = mapping(part.get("securityContext"))
            place = (*(step for step in path if not isinstance(step, int)), part.get("name"))
            found[place] = {text for text, holds in _HELD.items() if holds(context)}
    return found


def gains_host(change: ObjectChange, _beside: Beside) -> Iterator[str]:
    """Yield what pods have of their node that they had not, and what holds them back no more."""
    if change.kind in CRD or not change.new:
        return
    before = set(on_the_host(change.old))
    yield from (text for text in on_the_host(change.new) if text not in before)
    after = _held_back(change.new)
    for place, texts in _held_back(change.old).items():
        whose = f" in {place[-1]}" if place[-1] else ""
        yield from (f"{text}{whose}" for text in sorted(texts - after.get(place, texts)))


def gains_identity(change: ObjectChange, beside: Beside) -> Iterator[str]:
    """Yield as whom pods act from now on, and where they get a token that they had not."""
    if change.kind in CRD or not change.new:
        return
    if change.kind == "/Secret" and change.new.get("type") == _ENDLESS != change.old.get("type"):
        account = dig(change.new, "metadata", "annotations", "kubernetes.io/service-account.name")
        yield f"a token of ServiceAccount {account} that never expires"
    before = dict(_identities(change.old))
    for part, value in _identities(change.new):
        if change.old and value != before.get(part):
            yield f"pods act as ServiceAccount {value}"
        elif not change.old and _stood(change.namespace, value, beside):
            yield f"pods act as ServiceAccount {value}, which was there"
    if change.old and _shut(change.old) and not _shut(change.new):
        yield "a token is mounted"


def _identities(manifest: Any) -> Iterator[tuple[Any, str]]:
    for path, part in walk(manifest):
        if isinstance(part, dict) and isinstance(name := part.get("serviceAccountName"), str) and name:
            yield path, name


def _stood(namespace: str, name: str, beside: Beside) -> bool:
    found = (mapping(dig(one, "metadata")) for one in beside.old.get("/ServiceAccount", ()))
    return any(one.get("namespace", "") == namespace and one.get("name") == name for one in found)


def _shut(manifest: Any) -> bool:
    return any(mapping(part).get("automountServiceAccountToken") is False for _, part in walk(manifest))


PODS = (
    OpeningRule(
        code="GEN-CHG-780",
        kinds=(ANY,),
        opens=Opens.HOST,
        gains=gains_host,
        reason="a pod that has this of its node, or is held back less, may reach its files, its network or other pods",
        instead="ask for the one capability, path or port that is needed, in a namespace of administrators",
        link=f"{STANDARDS}/#baseline",
    ),
    OpeningRule(
        code="GEN-CHG-781",
        kinds=(ANY,),
        opens=Opens.RIGHTS,
        gains=gains_identity,
        reason="whoever gets into these pods has the rights of the account on the API server",
        instead="an account of its own, and `automountServiceAccountToken: false` where none is needed",
        link=f"{ACCOUNTS}/#opt-out-of-api-credential-automounting",
    ),
)

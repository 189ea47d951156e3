"""What changes of kubeadm's and the kubelet's settings open: who gets in, and who decides what they may do."""

from collections.abc import Iterator, Mapping
from typing import Any

from generator.components.kubeadm.changes import IN_CLUSTER, KUBELET, PAGE
from generator.model.change import Beside, ObjectChange
from generator.model.fields import dig, mapping, sequence
from generator.model.opening import OpeningRule, Opens

_GATES = (
    "anonymous-auth",
    "authentication-",
    "authorization-",
    "enable-admission-plugins",
    "disable-admission-plugins",
    "admission-control-config-file",
    "oidc-",
    "client-ca-file",
    "token-auth-file",
    "requestheader-",
    "service-account-",
)
"""Arguments of the API server that say who gets in, and who decides (`kube-apiserver --help`, 1.35)."""


def _arguments(manifest: Any) -> dict[str, str]:
    listed = map(mapping, sequence(dig(manifest, "apiServer", "extraArgs")))
    return {name: str(one.get("value")) for one in listed if (name := str(one.get("name"))).startswith(_GATES)}


def _doors(manifest: Mapping[str, Any]) -> dict[str, bool]:
    """Return what a kubelet lets in."""
    return {
        "the kubelet answers whoever asks": dig(manifest, "authentication", "anonymous", "enabled") is True,
        "the kubelet refuses nobody": dig(manifest, "authorization", "mode") == "AlwaysAllow",
        "the kubelet answers on a port without a login": bool(manifest.get("readOnlyPort")),
    }


def lets_in(change: ObjectChange, _beside: Beside) -> Iterator[str]:
    """Yield what else decides who gets in."""
    if change.kind == KUBELET:
        before = _doors(change.old)
        yield from (text for text, is_open in _doors(change.new).items() if is_open and not before[text])
        return
    old, new = _arguments(change.old), _arguments(change.new)
    for name in sorted({*old, *new}) if change.old else ():
        if old.get(name) != new.get(name):
            yield f"{name}: {old.get(name, 'nothing')} -> {new.get(name, 'nothing')}"


RULES = (
    OpeningRule(
        code="GEN-CHG-759",
        kinds=(IN_CLUSTER, KUBELET),
        opens=Opens.RIGHTS,
        gains=lets_in,
        reason="once somebody brings it to the nodes, others get in, or other rules decide what they may do",
        instead="roles and bindings, which are told one by one",
        link=PAGE,
    ),
)

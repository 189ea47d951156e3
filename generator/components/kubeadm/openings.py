"""What changes of kubeadm's and the kubelet's settings open: who gets in, and who decides what they may do."""

from collections.abc import Iterator, Mapping
from typing import Any

from generator.components.kubeadm.changes import KUBELET
from generator.components.kubeadm.firewall_openings import reaches_more
from generator.components.kubeadm.init import ADMISSION_FILE
from generator.components.rule_files import read_rules
from generator.model.change import Beside, ObjectChange
from generator.model.fields import dig, mapping, sequence
from generator.model.opening import LEVELS

_ADMISSION = "admission-control-config-file"
_GATES = (
    "anonymous-auth",
    "authentication-",
    "authorization-",
    "enable-admission-plugins",
    "disable-admission-plugins",
    _ADMISSION,
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
    if new.get(_ADMISSION) == ADMISSION_FILE:
        old.setdefault(_ADMISSION, ADMISSION_FILE)  # what it lets in is told of the file itself
    for name in sorted({*old, *new}) if change.old else ():
        if old.get(name) != new.get(name):
            yield f"{name}: {old.get(name, 'nothing')} -> {new.get(name, 'nothing')}"


def takes_more(change: ObjectChange, _beside: Beside) -> Iterator[str]:
    """Yield the level of namespaces that say none, where it refuses less than before."""
    old, new = (_level(side) for side in (change.old, change.new))
    if change.old and LEVELS.index(new) < LEVELS.index(old):
        yield f"pods of namespaces without a label are held to `{new}`"
    added = _exempt(change.new) - _exempt(change.old) if change.old and change.new else set[str]()
    yield from (f"pods of namespace {name} are held to nothing" for name in sorted(added))


def _level(manifest: Mapping[str, Any]) -> str:
    found = next((str(dig(one, "defaults", "enforce")) for one in _configurations(manifest)), LEVELS[0])
    return found if found in LEVELS else LEVELS[0]


def _exempt(manifest: Mapping[str, Any]) -> set[str]:
    return {str(one) for each in _configurations(manifest) for one in sequence(dig(each, "exemptions", "namespaces"))}


def _configurations(manifest: Mapping[str, Any]) -> Iterator[Any]:
    plugins = (one for one in map(mapping, sequence(manifest.get("plugins"))) if one.get("name") == "PodSecurity")
    return (one.get("configuration") for one in plugins)


RULES = read_rules("kubeadm/openings.yaml", takes_more, lets_in, reaches_more)

"""What trusts a certificate: the API server, who calls a webhook by the CA that stands beside it."""

from collections.abc import Iterator

from generator.components.component import Manifest, Secret, Turn
from generator.live.running import RunningCluster
from generator.live.secret_objects import path
from generator.model.fields import dig, walk

UNCALLED = "failed calling webhook"
"""What an API server says where it reached no webhook, or one whose certificate it does not trust."""
_SERVED = {
    "validatingwebhookconfigurations": "/apis/admissionregistration.k8s.io/v1",
    "mutatingwebhookconfigurations": "/apis/admissionregistration.k8s.io/v1",
    "customresourcedefinitions": "/apis/apiextensions.k8s.io/v1",
}


def untrusted(running: RunningCluster, secret: Secret, turn: Turn) -> str:
    """Say what does not trust a Secret's `ca.crt` yet, or where nobody answers by it; nothing once all do."""
    wanted = dig(running.get(path(secret)) or {}, "data", "ca.crt")
    for one in turn.trusted:
        if any(bundle != wanted for bundle in _bundles(running, one)):
            return f"{one} trusts the new certificate"
    if turn.asks:
        said = running.tried(*turn.asks)
        return f"the webhook answers: {said}" if UNCALLED in said else ""
    return ""


def _bundles(running: RunningCluster, trusted: str) -> Iterator[object]:
    """Yield the CAs that an object trusts: none where it is not there."""
    kind, _, _ = trusted.partition("/")
    found: Manifest = running.get(f"{_SERVED[kind]}/{trusted}") or {}
    yield from (dig(part, "caBundle") for at, part in walk(found) if at and at[-1] == "clientConfig")

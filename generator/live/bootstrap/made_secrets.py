"""Which Secrets with which data would be lost were made here once: never their values, nor anything made of these."""

from collections.abc import Iterator
from pathlib import Path

from generator.components.component import Secret
from generator.live.bootstrap import escrow
from generator.live.identity import NAME, NAMESPACE, PATH, ROOT
from generator.live.running import RunningCluster
from generator.model.cluster import Cluster
from generator.model.fields import dig

MAKING = "being made"
MADE = "made"


def noted(running: RunningCluster, name: str) -> str:
    """Return what is noted of a Secret (`namespace/name`): `MAKING`, `MADE`, or nothing."""
    return str(dig(running.get(f"{PATH}/{NAME}") or {}, "data", _key(name)) or "")


def note(running: RunningCluster, name: str, what: str) -> None:
    """Note that a Secret is about to be made, or was."""
    running.merge(f"{PATH}/{NAME}", {"data": {_key(name): what}})


def made_before(running: RunningCluster, cluster: Cluster, secret: Secret, file: Path | None) -> str:
    """Return why a Secret that is not there may not get new values: what was made with its old ones may still exist.
    Empty where it never had any that something could have been made with.
    """
    name = f"{secret.namespace}/{secret.name}"
    kept = file is not None and name in escrow.recorded(file, cluster)
    # Interrupted before its readers could come, which the root Application brings: nothing was made with it.
    interrupted = noted(running, name) == MAKING and running.get(ROOT) is None
    if (kept or noted(running, name)) and not interrupted:
        where = f"{file} holds a copy of it" if kept else f"ConfigMap {NAMESPACE}/{NAME} says that it was made"
        return f"{where}, and what was made with its old values may exist: {_AGAIN}"
    if volumes := list(_volumes(running, secret.namespace)):
        return f"its namespace has volumes already ({', '.join(volumes[:3])}), which may need its old values: {_AGAIN}"
    return ""


_AGAIN = (
    "decrypt the newest copy and `kubectl create -f -` it, or give the old values with --secrets-dir; new ones would "
    "read none of that data"
)


def _volumes(running: RunningCluster, namespace: str) -> Iterator[str]:
    """Yield the claims of a namespace, and the volumes that were claimed from there: these outlive it."""
    for one in running.items(f"/api/v1/namespaces/{namespace}/persistentvolumeclaims"):
        yield str(dig(one, "metadata", "name"))
    for one in running.items("/api/v1/persistentvolumes"):
        if dig(one, "spec", "claimRef", "namespace") == namespace:
            yield str(dig(one, "metadata", "name"))


def _key(name: str) -> str:
    return f"data-secret.{name.replace('/', '.')}"

"""Which Secrets that components make, and with which data would be lost, have a copy outside the cluster: the cluster's
record says what was copied, as a number that the API server gave it and marks of ConfigMaps, never a Secret's values.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from urllib.parse import quote

from generator.components.component import Manifest, Secret
from generator.live.identity import NAME, PATH
from generator.live.running import RunningCluster
from generator.model.fields import dig, mapping

LETTERS = 16


def kept_secrets(secrets: Iterable[Secret]) -> Iterator[Secret]:
    """Yield those of which a copy is kept though nobody gives their values."""
    yield from (one for one in secrets if one.along)


def along_paths(secret: Secret) -> list[str]:
    """Return the addresses of the ConfigMaps that go along with a Secret."""
    return [f"/api/v1/namespaces/{quote(secret.namespace, safe='')}/configmaps/{quote(one)}" for one in secret.along]


def noted(running: RunningCluster, secret: Secret) -> str:
    """Return what is noted of the last copy, empty where there was none."""
    return str(dig(running.get(f"{PATH}/{NAME}") or {}, "data", _key(secret)) or "")


def note(running: RunningCluster, secret: Secret, text: str) -> None:
    """Note what was copied."""
    running.merge(f"{PATH}/{NAME}", {"data": {_key(secret): text}})


def mark(secret: Secret, along: Sequence[Manifest]) -> str:
    """Return what tells ConfigMaps, in the order of `along`, from those with other monitors."""
    told = [
        {key: mapping(one.get("data")).get(key) for key in keys}
        for one, keys in zip(along, secret.along.values(), strict=True)
    ]
    return sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:LETTERS]


def version(there: Manifest) -> str:
    """Return what the API server changes with every change of an object."""
    return str(dig(there, "metadata", "resourceVersion") or "")


def _key(secret: Secret) -> str:
    return f"copy.{secret.namespace}.{secret.name}"

"""What upstream accepts in the storage tier: CRDs and chart values from `../shared`."""

from collections.abc import Iterator
from typing import Any

import yaml
from validation.build import Loader
from validation.schemas import refused, shared

CRDS = (
    "rook/v1.20.6",
    "cert-manager/v1.21.1",
    "external-snapshotter/v8.6.0",
    "prometheus-operator/v0.93.1",
    "ceph-csi-operator/v1.0.4",
)


def problems(manifest: dict[str, Any]) -> list[str]:
    """Return what the API server would refuse, of built-in and of custom kinds."""
    return refused(manifest, CRDS)


def unknown_values(values: dict[str, Any], file: str, *free: str) -> list[str]:
    """Return the keys we set that a chart's values file does not have. Below the paths in `free` a chart takes
    anything.
    """
    known = yaml.load(shared(file).read_bytes(), Loader)
    return list(_unknown(values, known, "", free))


def _unknown(ours: Any, theirs: Any, path: str, free: tuple[str, ...]) -> Iterator[str]:
    if path in free:
        return
    if isinstance(ours, list) and isinstance(theirs, list) and theirs:
        for one in ours:
            yield from _unknown(one, theirs[0], path, free)
    if not isinstance(ours, dict):
        return
    for key, value in ours.items():
        below = f"{path}.{key}".lstrip(".")
        if below in free:
            continue
        if not isinstance(theirs, dict) or key not in theirs:
            yield below
        else:
            yield from _unknown(value, theirs[key], below, free)

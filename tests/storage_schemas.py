"""What upstream accepts in the storage tier: CRDs and chart values from `../shared`."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml

__all__ = ["problems", "unknown_values"]

UPSTREAM = Path(__file__).parents[2] / "shared" / "upstream"
CRDS = (
    "rook/v1.20.6",
    "cert-manager/v1.21.1",
    "external-snapshotter/v8.6.0",
    "prometheus-operator/v0.93.1",
    "ceph-csi-operator/v1.0.4",
)


class Loader(yaml.CSafeLoader):
    """YAML in which `=` is text: one CRD has it."""


Loader.add_constructor("tag:yaml.org,2002:value", lambda _, node: node.value)


def upstream(path: str) -> Path:
    if not UPSTREAM.exists():
        pytest.skip("../shared is absent")
    return UPSTREAM / path


@cache
def schema(group: str, kind: str, version: str) -> Any:
    """Return a CRD's schema with unknown fields refused."""
    name = kind.lower()
    for folder in CRDS:
        for file in upstream(folder).glob(f"crds/*{name}*.yaml"):
            crd = yaml.load(file.read_bytes(), Loader)
            if crd["spec"]["names"]["kind"] == kind and crd["spec"]["group"] == group:
                served = {one["name"]: one["schema"]["openAPIV3Schema"] for one in crd["spec"]["versions"]}
                found = served[version]
                # Some CRDs leave out what every object has.
                found["properties"] |= {"apiVersion": {}, "kind": {}, "metadata": {"type": "object"}}
                return closed(found)
    raise AssertionError(f"no CRD for {group}/{version} {kind}")


def closed(part: Any) -> Any:
    if isinstance(part, list):
        return [closed(one) for one in part]
    if not isinstance(part, dict):
        return part
    part = {key: closed(value) for key, value in part.items()}
    if isinstance(part.get("properties"), dict) and not part.get("x-kubernetes-preserve-unknown-fields"):
        part.setdefault("additionalProperties", False)
    return part


def problems(manifest: dict[str, Any]) -> list[str]:
    """Return what the API server would refuse, of built-in and of custom kinds."""
    group, _, version = manifest["apiVersion"].rpartition("/")
    if "." not in group or (group.endswith(".k8s.io") and not group.startswith("snapshot")):
        try:
            kubernetes_validate.validate(manifest, "1.35", strict=True)
        except kubernetes_validate.ValidationError as error:
            return [error.message]
        return []
    validator = jsonschema.Draft202012Validator(schema(group, manifest["kind"], version))
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(manifest)]


def unknown_values(values: dict[str, Any], file: str, *free: str) -> list[str]:
    """Return the keys we set that a chart's values file does not have. Below the paths in `free` a chart takes
    anything.
    """
    known = yaml.load(upstream(file).read_bytes(), Loader)
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

"""What upstream's charts and CRDs accept, for the tests of network and GPU components."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

UPSTREAM = Path(__file__).parents[3] / "shared" / "upstream"
# Maps in which every key is the user's own.
FREE_FORM = {"annotations", "resources"}
# Files that a chart takes as YAML: Node Feature Discovery's, of which the chart shows comments only.
FILES = {"master.config", "worker.config"}


def unknown_keys(values: dict[str, Any], chart: str) -> list[str]:
    """Return the paths that we set and the chart's values.yaml does not have."""
    return list(_unknown(values, load(f"{chart}/values.yaml"), ""))


def schema_errors(values: dict[str, Any], chart: str) -> list[str]:
    """Return what the chart's values.schema.json has against our values."""
    schema = json.loads(existing(f"{chart}/values.schema.json").read_text())
    return [f"{error.json_path}: {error.message}" for error in Draft202012Validator(schema).iter_errors(values)]


def crd_errors(manifest: dict[str, Any], folder: str) -> list[str]:
    """Return what the CRD in that folder has against an object; fields it does not know are errors."""
    schema = crds(folder)[manifest["kind"], manifest["apiVersion"]]
    return [f"{error.json_path}: {error.message}" for error in Draft202012Validator(schema).iter_errors(manifest)]


def states(folder: str, kind: str, version: str) -> list[str]:
    """Return the values that `status.state` of a kind may have."""
    return list(crds(folder)[kind, version]["properties"]["status"]["properties"]["state"]["enum"])


@cache
def crds(folder: str) -> dict[tuple[str, str], Any]:
    """Return the closed schemas of a folder's CRDs by kind and apiVersion."""
    found = {}
    for path in sorted(existing(folder).glob("*.yaml")):
        for crd in yaml.load_all(path.read_text(), yaml.CSafeLoader):
            for version in crd["spec"]["versions"]:
                schema = _closed(version["schema"]["openAPIV3Schema"])
                schema["properties"] |= {"apiVersion": {}, "kind": {}, "metadata": {}}
                found[crd["spec"]["names"]["kind"], f"{crd['spec']['group']}/{version['name']}"] = schema
    return found


@cache
def load(path: str) -> Any:
    return yaml.load(existing(path).read_text(), yaml.CSafeLoader)


def existing(path: str) -> Path:
    if not (UPSTREAM / path).exists():
        pytest.skip(f"../shared/upstream/{path} is not there")
    return UPSTREAM / path


def _unknown(ours: dict[str, Any], theirs: dict[str, Any], path: str) -> Iterator[str]:
    for key, value in ours.items():
        here = f"{path}.{key}".lstrip(".")
        if key not in theirs:
            yield here
        elif isinstance(value, dict) and key not in FREE_FORM and here not in FILES:
            yield from _unknown(value, theirs[key] or {}, here)


def _closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and not schema.get("x-kubernetes-preserve-unknown-fields"):
        closed.setdefault("additionalProperties", False)
    return closed

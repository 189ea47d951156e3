"""What the API server would say to objects of the GitOps and monitoring components."""

from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml

__all__ = ["problems", "unknown_values"]

UPSTREAM = Path(__file__).parents[3] / "shared" / "upstream"
CRDS = {
    "WorkflowTemplate": "argo-workflows/v4.0.2/crds/argoproj.io_workflowtemplates.yaml",
    "CronWorkflow": "argo-workflows/v4.0.2/crds/argoproj.io_cronworkflows.yaml",
    "Certificate": "cert-manager/v1.21.1/crds/cert-manager.io_certificates.yaml",
    "ServiceMonitor": "prometheus-operator/v0.93.1/crds/crd-servicemonitors.yaml",
}


class Loader(yaml.CSafeLoader):
    """YAML in which `=` is text: one CRD has it."""


Loader.add_constructor("tag:yaml.org,2002:value", lambda _, node: node.value)


def problems(manifest: dict[str, Any]) -> list[str]:
    """Return what is wrong with an object; fields that its kind does not have are wrong."""
    if manifest["kind"] not in CRDS:
        try:
            kubernetes_validate.validate(manifest, "1.35", strict=True)
        except kubernetes_validate.ValidationError as error:
            return [str(error.message)]
        return []
    version = manifest["apiVersion"].rpartition("/")[2]
    validator = jsonschema.Draft202012Validator(schema(manifest["kind"], version))
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(manifest)]


@cache
def schema(kind: str, version: str) -> Any:
    crd = upstream(CRDS[kind])
    served = {one["name"]: one["schema"]["openAPIV3Schema"] for one in crd["spec"]["versions"]}
    found = closed(served[version])
    found["properties"] |= {"apiVersion": {}, "kind": {}, "metadata": {"type": "object"}}
    return found


def closed(part: Any) -> Any:
    if isinstance(part, list):
        return [closed(one) for one in part]
    if not isinstance(part, dict):
        return part
    part = {key: closed(value) for key, value in part.items() if key != "default"}
    if part.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"]}
    if isinstance(part.get("properties"), dict) and not part.get("x-kubernetes-preserve-unknown-fields"):
        part.setdefault("additionalProperties", False)
    return part


def unknown_values(values: dict[str, Any], file: str, known: set[str]) -> list[str]:
    """Return the paths we set that a chart's values file does not have; those in `known`, and what is below them,
    are taken from elsewhere (a subchart's own values, a comment in the file, a free map).
    """
    return _unknown(values, upstream(file), "", known)


def _unknown(ours: dict[str, Any], theirs: Any, path: str, known: set[str]) -> list[str]:
    found = []
    for key, value in ours.items():
        here = f"{path}.{key}".lstrip(".")
        if here in known:
            continue
        if not isinstance(theirs, dict) or key not in theirs:
            found.append(here)
        elif isinstance(value, dict):
            found += _unknown(value, theirs[key], here, known)
    return found


def upstream(path: str) -> Any:
    if not UPSTREAM.exists():
        pytest.skip("../shared is absent")
    return yaml.load((UPSTREAM / path).read_bytes(), Loader)

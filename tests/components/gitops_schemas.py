"""What the API server would say to objects of the GitOps and monitoring components."""

from functools import cache
from typing import Any

import yaml
from validation.build import Loader
from validation.schemas import contents, read, refused, shared

CRDS = ("argo-workflows/v4.0.2", "cert-manager/v1.21.1", "prometheus-operator/v0.93.1")


def problems(manifest: dict[str, Any]) -> list[str]:
    """Return what is wrong with an object; fields that its kind does not have are wrong."""
    return refused(manifest, CRDS)


def schema(kind: str, version: str) -> Any:
    """Return the schema of a version of one of Argo Workflows' kinds."""
    (crd,) = read(contents(CRDS[0])["argoproj.io", kind])
    return next(one["schema"]["openAPIV3Schema"] for one in crd["spec"]["versions"] if one["name"] == version)


def unknown_values(values: dict[str, Any], file: str, known: set[str]) -> list[str]:
    """Return the paths we set that a chart's values file does not have; those in `known`, and what is below them,
    are taken from elsewhere (a subchart's own values, a comment in the file, a free map).
    """
    return _unknown(values, load(file), "", known)


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


@cache
def load(path: str) -> Any:
    return yaml.load(shared(path).read_bytes(), Loader)

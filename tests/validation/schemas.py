"""What the API server's schemas say: built-in kinds, and custom ones by the CRDs of the versions a cluster uses.

Unknown fields are errors everywhere: the API server drops them in silence, and Argo CD shows a difference for ever.
"""

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from referencing import Registry, Resource

from generator.components import compose
from generator.model.cluster import Cluster
from generator.model.versions import CATALOGUE, version_of
from validation.build import Built, Loader, Object, told

__all__ = ["crds", "folders", "problems", "refused", "shared"]

UPSTREAM = Path(__file__).parents[3] / "shared" / "upstream"

# Kinds of projects whose components have no versions of their own: what installs them stands elsewhere in the
# catalogue.
BESIDE = ("prometheus-operator/v0.93.1",)

# The API groups that Kubernetes serves itself and we write to.
BUILT_IN = {
    "", "admissionregistration.k8s.io", "apps", "autoscaling", "batch", "networking.k8s.io", "node.k8s.io", "policy",
    "rbac.authorization.k8s.io", "scheduling.k8s.io", "storage.k8s.io",
}  # fmt: skip


def shared(path: str) -> Path:
    """Return a place below `../shared/upstream`; skips the test where that is absent."""
    if not UPSTREAM.exists():
        pytest.skip("../shared is absent")
    return UPSTREAM / path


def folders(cluster: Cluster) -> list[str]:
    """Return what the cluster's versions were checked against, as folders below `../shared/upstream`."""
    names = [component.name for component in compose(cluster) if component.name in CATALOGUE]
    return list(dict.fromkeys(folder for name in names for folder in version_of(name, cluster).schemas))


def refused(built: Built) -> list[str]:
    """Return what the API server would refuse, as far as schemas tell."""
    known = folders(built.cluster)
    return [
        f"{told(application, one)}: {problem}" for application, one in built.all() for problem in problems(one, known)
    ]


def problems(manifest: Object, known: Iterable[str]) -> Iterator[str]:
    """Yield what is wrong with an object by its schema."""
    found = validator(manifest["apiVersion"], manifest["kind"], tuple(known))
    if not found:
        yield f"no schema for {manifest['apiVersion']} {manifest['kind']}"
        return
    for error in found.iter_errors(manifest):
        yield f"{error.json_path}: {error.message[:300]}"


@cache
def validator(version: str, kind: str, known: tuple[str, ...]) -> Any:
    """Return what judges a kind, or None where nothing knows it."""
    group, _, name = version.rpartition("/")
    if group in BUILT_IN:
        return built_in(version, kind)
    for crd in crds(group, kind, known):
        for served in crd["spec"]["versions"]:
            if served["name"] == name and served["served"]:
                return custom(served["schema"]["openAPIV3Schema"])
    return None


def built_in(version: str, kind: str) -> Any:
    """Return the validator of a kind of Kubernetes 1.35."""
    group, _, name = version.rpartition("/")
    file = schemas() / f"{kind.lower()}-{'-'.join(filter(None, (group.partition('.')[0], name)))}.json"
    if not file.is_file():
        return None
    return jsonschema.Draft202012Validator(json.loads(file.read_text()), registry=definitions())


def schemas() -> Path:
    return Path(str(files("kubernetes_validate"))) / "kubernetes-json-schema" / "v1.35.0-local-strict"


@cache
def definitions() -> Registry[Any]:
    content = Resource.from_contents(json.loads((schemas() / "_definitions.json").read_text()))
    return content @ Registry()


@cache
def crds(group: str, kind: str, known: tuple[str, ...]) -> list[Object]:
    """Return the CRDs of a kind in those folders. Files are searched as text first: to read one as YAML takes long."""
    wanted = re.compile(rf"^ +group: {re.escape(group)}$(?s:.*)^ +kind: {re.escape(kind)}$".encode(), re.MULTILINE)
    paths = (path for folder in known for path in sorted(shared(folder).glob("crds*/*.yaml")))
    found = [
        crd
        for path in paths
        if wanted.search(path.read_bytes())
        for crd in yaml.load_all(path.read_bytes(), Loader)
        if crd and crd["spec"]["group"] == group and crd["spec"]["names"]["kind"] == kind
    ]
    return found


def custom(schema: Object) -> Any:
    """Return the validator of a CRD's schema. Some leave out what every object has."""
    whole = closed(schema)
    whole["properties"] |= {"apiVersion": {}, "kind": {}, "metadata": metadata()}
    return jsonschema.Draft202012Validator(whole, registry=definitions())


def metadata() -> Object:
    return {"$ref": f"{next(iter(definitions()))}#/$defs/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}


def closed(part: Any) -> Any:
    """Return a structural schema with unknown fields refused, as JSON Schema understands it."""
    if isinstance(part, list):
        return [closed(one) for one in part]
    if not isinstance(part, dict):
        return part
    found = {key: closed(value) for key, value in part.items() if key not in {"default", "format", "example"}}
    if part.get("x-kubernetes-int-or-string"):
        found["type"] = ["integer", "string"]
    elif part.get("nullable") and isinstance(part.get("type"), str):
        found["type"] = [part["type"], "null"]
    open_ = part.get("x-kubernetes-preserve-unknown-fields") or part.get("x-kubernetes-embedded-resource")
    if isinstance(part.get("properties"), dict) and not open_ and isinstance(part.get("type"), str):
        found.setdefault("additionalProperties", False)
    return found

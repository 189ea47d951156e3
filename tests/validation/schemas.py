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

# The API groups that Kubernetes serves itself and we write to.
BUILT_IN = {
    "", "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "apps", "autoscaling",
    "batch", "networking.k8s.io", "node.k8s.io", "policy", "rbac.authorization.k8s.io", "scheduling.k8s.io",
    "storage.k8s.io",
}  # fmt: skip


def shared(path: str) -> Path:
    """Return a place below `../shared/upstream`; skips the test where that is absent."""
    if not UPSTREAM.exists():
        pytest.skip("../shared is absent")
    return UPSTREAM / path


def folders(cluster: Cluster) -> list[str]:
    """Return what the cluster's versions were checked against, as folders below `../shared/upstream`; what somebody
    else installs included.
    """
    ours = {component.name for component in compose(cluster)}
    others = {name for name, settings in cluster.components.items() if not settings.managed}
    names = sorted((ours | others) & CATALOGUE.keys())
    return list(dict.fromkeys(folder for name in names for folder in version_of(name, cluster).schemas))


def refused(built: Built) -> list[str]:
    """Return what the API server would refuse, as far as schemas tell."""
    known = folders(built.cluster)
    return [
        f"{told(application, one)}: {problem}" for application, one in built.all() for problem in problems(one, known)
    ]


def problems(manifest: Object, known: Iterable[str]) -> Iterator[str]:
    """Yield what is wrong with an object by its schema."""
    found = validator(manifest["apiVersion"], manifest["kind"], known)
    if not found:
        yield f"no schema for {manifest['apiVersion']} {manifest['kind']}"
        return
    for error in found.iter_errors(manifest):
        yield f"{error.json_path}: {error.message[:300]}"


def validator(version: str, kind: str, known: Iterable[str]) -> Any:
    """Return what judges a kind, or None where nothing knows it."""
    group, _, name = version.rpartition("/")
    if group in BUILT_IN:
        return built_in(version, kind)
    found = (custom(path, kind, name) for path in places(group, kind, known))
    return next(filter(None, found), None)


@cache
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


def crds(group: str, kind: str, known: Iterable[str]) -> list[Object]:
    """Return the CRDs of a kind in those folders."""
    return [
        crd
        for path in places(group, kind, known)
        for crd in documents(path)
        if (crd["spec"]["group"], crd["spec"]["names"]["kind"]) == (group, kind)
    ]


def places(group: str, kind: str, known: Iterable[str]) -> list[Path]:
    return [path for folder in known for path in contents(folder).get((group, kind), ())]


@cache
def contents(folder: str) -> dict[tuple[str, str], list[Path]]:
    """Return where each kind is defined. Files are searched as text: to read one as YAML may take half a second."""
    found: dict[tuple[str, str], list[Path]] = {}
    for path in sorted(shared(folder).glob("crds*/*.yaml")):
        for group, kind in DEFINES.findall(path.read_text()):
            found.setdefault((group, kind), []).append(path)
    return found


DEFINES = re.compile(r"^  group: (\S+)$(?s:.*?)^    kind: (\S+)$", re.MULTILINE)


@cache
def documents(path: Path) -> list[Object]:
    return [crd for crd in yaml.load_all(path.read_bytes(), Loader) if crd]


@cache
def custom(path: Path, kind: str, version: str) -> Any:
    """Return the validator of a version that a CRD serves. Some leave out what every object has."""
    for crd in documents(path):
        for served in crd["spec"]["versions"] if crd["spec"]["names"]["kind"] == kind else ():
            if served["name"] == version and served["served"]:
                whole = closed(served["schema"]["openAPIV3Schema"])
                whole["properties"] |= {"apiVersion": {}, "kind": {}, "metadata": metadata()}
                return jsonschema.Draft202012Validator(whole, registry=definitions())
    return None


def metadata() -> Object:
    return {"$ref": f"{next(iter(definitions()))}#/$defs/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}


def closed(schema: Object) -> Object:
    """Return a structural schema with unknown fields refused, as JSON Schema understands it. What stands below allOf,
    anyOf, oneOf and not only adds conditions.
    """
    found = {key: value for key, value in schema.items() if key not in {"default", "format", "example", "description"}}
    if "properties" in schema:
        found["properties"] = {name: closed(part) for name, part in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            found[key] = closed(schema[key])
    if schema.get("x-kubernetes-int-or-string"):
        found["type"] = ["integer", "string"]
    elif schema.get("nullable"):
        found["type"] = [schema["type"], "null"]
    if schema.get("type") == "object" and not schema.get("x-kubernetes-preserve-unknown-fields"):
        found.setdefault("additionalProperties", False)
    return found

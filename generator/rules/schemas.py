"""Rules about what the API server's schemas say: kinds, versions, fields, namespaces."""

import json
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path

import msgspec

from generator.build.cache import remembered
from generator.build.kinds import CRD, Kinds, served_by
from generator.build.objects import Built, Object
from generator.components.component import Manifest
from generator.model.fields import dig, mapping, sequence
from generator.model.finding import Finding
from generator.model.rule import rule
from generator.rules.schema_violations import Judge, Types
from generator.rules.structural import closed
from generator.rules.values import with_values

_METADATA = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
"""Kubernetes' type of `metadata`."""


@rule("GEN-API-001", "fields are those of the kind")
def fitting(built: Built) -> Iterator[Finding]:
    """The API server drops a field that a kind does not have without a word, and Argo CD then shows a difference for
    ever; a value of the wrong type it refuses, and the whole sync with it. Built-in kinds are judged by the schemas of
    the cluster's Kubernetes minor, custom ones by the CRDs among the objects or in `--schemas`. What needs more than
    a schema (CEL rules, webhooks, the schemas inside CRDs) only a server tells: `gen check --server`. What a base
    lacks is not told: the kustomizations that name its file may add it.

    Wrong:
        kind: Service
        spec:
          port: [{port: 80}]
    Right:
        kind: Service
        spec:
          ports: [{port: 80}]
    """
    known = Kinds.of(built)
    of_kind: dict[tuple[str, str], list[Object]] = {}
    for one in built.objects:
        of_kind.setdefault((one.version, one.kind), []).append(one)
    for (version, kind), objects in of_kind.items():
        manifests = [bare(one.manifest) for one in objects]
        judge_for = cache(partial(judge_of, known, version, kind))
        for index in unfit(known, version, kind, manifests, judge_for):
            judge, one = judge_for(), objects[index]
            for found in judge.violations(manifests[index]) if judge else ():
                if not ((found.missing and one.unfinished) or one.left_open(dig(one.manifest, *found.at))):
                    yield one.finding(found.message, *found.at, fix=found.fix)


@rule("GEN-API-002", "the target Kubernetes serves the version")
def served(built: Built) -> Iterator[Finding]:
    """Kubernetes takes old versions of its kinds away, and serves beta versions only where somebody switched them on:
    what it does not serve it refuses, and the upgrade that removes a version breaks every object that names it.

    Wrong:
        apiVersion: policy/v1beta1
        kind: PodDisruptionBudget
    Right:
        apiVersion: policy/v1
        kind: PodDisruptionBudget
    """
    known = Kinds.of(built)
    for one in built.objects:
        of_a_crd = not known.ours(one.group) or (one.group, one.kind) in known.custom
        if of_a_crd or one.kind in known.served.get(one.version, {}):
            continue
        others = known.versions(one.group, one.kind) or known.elsewhere(one.kind)
        fix = f"write it in {others[-1]}" if others else f"correct the kind; is `{one.kind}` one of Kubernetes' own?"
        yield one.finding(f"Kubernetes 1.{known.minor} serves no {one.kind} in {one.version}", "apiVersion", fix=fix)


@rule("GEN-API-003", "the CRD serves the version")
def served_by_definition(built: Built) -> Iterator[Finding]:
    """A CRD says which of its versions are served; objects of another version are refused.

    Wrong:
        apiVersion: cert-manager.io/v1alpha2
        kind: Certificate
    Right:
        apiVersion: cert-manager.io/v1
        kind: Certificate
    """
    known = Kinds.of(built)
    for one in built.objects:
        found = known.versions(one.group, one.kind)
        # One that serves nothing, of an API before v1, is told by GEN-API-002.
        if (one.group, one.kind) in known.custom and found and one.version not in found:
            message = f"the CRD of {one.kind} serves no version {one.version.rpartition('/')[2]}"
            yield one.finding(message, "apiVersion", fix=f"write it in {', '.join(found)}")


@rule("GEN-API-005", "what lives in a namespace names it")
def placed(built: Built) -> Iterator[Finding]:
    """An object without a namespace goes wherever its Application points to, and a reviewer cannot see where; one that
    has a namespace and may not shows a reviewer a place where it does not live: the API server drops it in silence.
    In a folder of no cluster both are left alone: whoever applies it says where.

    Wrong:
        kind: ConfigMap
        metadata: {name: settings}
    Right:
        kind: ConfigMap
        metadata: {name: settings, namespace: monitoring}
    """
    known = Kinds.of(built)
    for one in built.objects if built.cluster else ():
        wanted = known.namespaced(one.version, one.kind)
        if wanted is True and not one.namespace:
            message = f"a {one.kind} lives in a namespace, and none is named"
            yield one.finding(message, "metadata", "name", fix="add metadata.namespace")
        if wanted is False and one.namespace:
            message = f"a {one.kind} lives in no namespace"
            yield one.finding(message, "metadata", "namespace", fix="remove metadata.namespace")


def unfit(
    known: Kinds, version: str, kind: str, manifests: list[Manifest], judge_for: Callable[[], Judge | None]
) -> list[int]:
    """Return which objects of a kind its schema does not accept. What was judged before, by the same schema, is
    remembered: reading Kubernetes' types and preparing a schema takes longer than judging.
    """

    def judged() -> list[int]:
        judge = judge_for()
        return [index for index, one in enumerate(manifests) if not judge.accepts(one)] if judge else []

    definition = known.custom.get((version.rpartition("/")[0], kind))
    try:
        content = msgspec.json.encode([known.minor, version, kind, definition, manifests])
    except (TypeError, ValueError, OverflowError):
        return judged()
    return remembered((judges(), content), judged, list[int])


@cache
def judges() -> bytes:
    """Return what tells one judge from another: the code here, and the releases of what it judges with. Raises
    ModuleNotFoundError where that is not installed: nothing is remembered in its place.
    """
    packages = [_installed(name) for name in ("jsonschema_rs", "kubernetes_validate")]
    code = [
        Path(__file__).with_name(name).read_bytes()
        for name in ("schemas.py", "schema_violations.py", "structural.py", "values.py")
    ]
    return b"".join((*code, *packages))


def _installed(name: str) -> bytes:
    """Return what tells one release of a package from another: the folder in which its installer noted it. The library
    that reads such notes takes longer to load than most folders to judge.
    """
    spec = find_spec(name)
    if not spec or not spec.origin:
        raise ModuleNotFoundError(f"there is no {name}", name=name)
    file = Path(spec.origin)
    notes = sorted(note.name for note in file.parents[1].glob(f"{name}-*.dist-info"))
    # Without a note, as with packages of some systems, the file itself must tell.
    return f"{notes or (file.stat().st_size, file.stat().st_mtime_ns)}".encode()


def judge_of(known: Kinds, version: str, kind: str) -> Judge | None:
    """Return what judges a kind, None where nothing does."""
    schemas = schemas_of(known.minor)
    if kind in known.served.get(version, {}):
        return built_in(schemas, version, kind)
    group, _, name = version.rpartition("/")
    definition = served_by(known.custom.get((group, kind))).get(name)
    schema = closed(mapping(dig(definition, "schema", "openAPIV3Schema")))
    # Some CRDs leave out what every object has. A status that is a subresource is dropped before anything judges it.
    every = {"apiVersion": {}, "kind": {}, "metadata": types_of(schemas).reference(_METADATA)}
    if not schema:
        return validator({"properties": every}, schemas)
    every |= {"status": {}} if dig(definition, "subresources", "status") is not None else {}
    return validator({**schema, "properties": mapping(schema.get("properties")) | every}, schemas)


@cache
def schemas_of(minor: int) -> Path:
    """Return the folder with the schemas of a minor, or of the nearest one below it that is there."""
    # Importing the package would load a validator in Python, which nobody asks.
    (place,) = getattr(find_spec("kubernetes_validate"), "submodule_search_locations", None) or [""]
    folder = Path(place) / "kubernetes-json-schema"
    found = {int(path.name.split(".")[1]): path for path in folder.glob("v1.*-local-strict")}
    return found[max((one for one in found if one <= minor), default=min(found))]


def bare(manifest: Manifest) -> Manifest:
    """Return an object with what cannot be judged by a schema left out: the schemas within a CRD, which would take as
    long as everything else, and what SOPS writes beside what it encrypts, which goes when it is decrypted.
    """
    if isinstance(manifest.get("sops"), dict):
        manifest = {key: value for key, value in manifest.items() if key != "sops"}
    if manifest["kind"] != CRD:
        return manifest
    spec = mapping(manifest.get("spec"))
    versions = [
        {**one, "schema": {}} if isinstance(one, dict) and "schema" in one else one
        for one in sequence(spec.get("versions"))
    ]
    return {**manifest, "spec": {**spec, "versions": versions}}


@cache
def built_in(schemas: Path, version: str, kind: str) -> Judge | None:
    """Return the validator of a kind that Kubernetes serves."""
    group, _, name = version.rpartition("/")
    file = schemas / f"{kind.lower()}-{'-'.join(filter(None, (group.partition('.')[0], name)))}.json"
    return validator(json.loads(file.read_bytes()), schemas) if file.is_file() else None


def validator(schema: Manifest, schemas: Path) -> Judge:
    """Return what judges by a schema that may point to Kubernetes' own types."""
    return Judge(schema, types_of(schemas))


@cache
def types_of(schemas: Path) -> Types:
    """Return Kubernetes' own types, with the values of fields that take only some."""
    return Types(with_values(json.loads((schemas / "_definitions.json").read_bytes())))

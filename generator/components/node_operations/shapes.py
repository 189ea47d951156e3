"""What a Job of an operation looks like to the API server, as an expression: made of the very Job that is rendered.

All that the Job says must be there, and nothing else. What the steps put in is a `Cel`: an expression of its own.
"""

import json
import re
from collections.abc import Iterable

from generator.components.component import Manifest

# What Kubernetes 1.33 to 1.36 adds to what is left out (`SetDefaults_*`): it judges a Job after it has done so.
_POD = {"dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler", "terminationGracePeriodSeconds": 30}
_CONTAINER = {
    "imagePullPolicy": "IfNotPresent",
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_FILES = ("configMap", "secret", "projected")
_MODE = {"defaultMode": 0o644}
_JOB = {
    "completionMode": "NonIndexed",
    "completions": 1,
    "manualSelector": False,
    "parallelism": 1,
    "podReplacementPolicy": "TerminatingOrFailed",
    "suspend": False,
}
# The API server itself says these.
_GIVEN = ("selector", "template")
_OF_POD = ("creationTimestamp", "labels")
_LABELS = ("batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "controller-uid", "job-name")


_SCALAR = json.JSONEncoder(ensure_ascii=False)


class Cel(str):
    """An expression, where a value would stand."""

    __slots__ = ()


def literal(value: object) -> str:
    """Write a value in CEL. The API server wants all values of a map to be of one type: what may be any is `dyn`."""
    match value:
        case Cel():
            return str(value)
        case dict():
            return "{" + ", ".join(f"{literal(key)}: dyn({literal(one)})" for key, one in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(literal, value)) + "]"
        case _:
            return _SCALAR.encode(value)


def of_pod(spec: Manifest) -> Manifest:
    """Return the spec of a pod as the API server writes it: with all that is left out."""
    made = {**_POD, "serviceAccount": spec["serviceAccountName"], **spec}
    for key in ("initContainers", "containers"):
        if key in spec:
            made[key] = [{**_CONTAINER, **one} for one in spec[key]]
    if not isinstance(spec["volumes"], Cel):
        made["volumes"] = [of_volume(one) for one in spec["volumes"]]
    return made


def of_volume(volume: Manifest) -> Manifest:
    """Return a volume as the API server writes it."""
    return {key: {**_MODE, **one} if key in _FILES else one for key, one in volume.items()}


def of_job(job: Manifest) -> Iterable[str]:
    """Yield what must hold of a new Job but for its pod. The deadline may be another one, but there is one."""
    spec = {**_JOB, **job["spec"]}
    said = {key: value for key, value in spec.items() if key not in (*_GIVEN, "activeDeadlineSeconds")}
    known = [*said, *_GIVEN, "activeDeadlineSeconds"]
    labels = job["spec"]["template"]["metadata"]["labels"]
    template = "object.spec.template.metadata"
    yield only("object.spec", known)
    yield "has(object.spec.activeDeadlineSeconds)"
    # What Kubernetes adds may be missing in one version of it; what the Job says may not.
    yield from (
        f"object.spec.{'' if key in job['spec'] else '?'}{key}{_is(key, value, job)}" for key, value in said.items()
    )
    yield f"object.metadata.labels == {literal(job['metadata']['labels'])}"
    yield only(template, _OF_POD)
    yield only(f"{template}.labels", [*labels, *_LABELS])
    yield from (f"{template}.labels[{literal(key)}] == {literal(value)}" for key, value in labels.items())


def _is(key: str, value: object, job: Manifest) -> str:
    if key in job["spec"]:
        return f" == {literal(value)}"
    return f".orValue({literal(value)}) == {literal(value)}"


def only(where: str, keys: Iterable[str]) -> str:
    """Return that an object has no other keys than these."""
    return f"dyn({where}).all(key, key in {literal([*keys])})"


def of_repository(where: str, image: str) -> str:
    """Return that an image is one of a repository, of whatever version: a run may have begun before an upgrade."""
    repository = image.partition("@")[0]
    repository = repository.rpartition(":")[0] if ":" in repository.rpartition("/")[2] else repository
    pattern = rf"^{re.escape(repository)}(:[A-Za-z0-9._-]+)?(@sha256:[0-9a-f]{{64}})?$"
    return f"{where}.matches({literal(pattern)})"

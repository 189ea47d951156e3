"""Of a pod no more than what decides where it runs and whether it may go: what it is told and what it mounts stays
where it is.
"""

from typing import Any

from generator.components.component import Manifest
from generator.components.gpu_operator import MANAGER_ACTS
from generator.model.fields import dig, mapping, sequence

OF_POD = (
    *("nodeSelector", "affinity", "tolerations", "topologySpreadConstraints", "schedulerName", "priorityClassName"),
    *("restartPolicy", "securityContext"),
)
OF_CONTAINER = ("name", "image", "securityContext", "restartPolicy")
GIVEN = ("controller-uid", "job-name", "pod-template-hash")
"""Labels that controllers give: those of a twin give their own."""


def shape(spec: Manifest) -> Manifest:
    """Return the spec of a pod as a twin has it."""
    kept: Manifest = {key: spec[key] for key in OF_POD if key in spec}
    for key in ("initContainers", "containers"):
        if containers := sequence(spec.get(key)):
            kept[key] = [_container(one) for one in containers]
    if claims := [one for one in sequence(spec.get("volumes")) if "persistentVolumeClaim" in one]:
        kept["volumes"] = claims
    return kept | {"automountServiceAccountToken": False}


def template(found: Manifest, **labels: str) -> Manifest:
    """Return the template of pods as a twin has it, with more labels; `found` may be a pod."""
    metadata = mapping(found.get("metadata"))
    own = {key: one for key, one in mapping(metadata.get("labels")).items() if key.rpartition("/")[2] not in GIVEN}
    notes = {key: one for key, one in mapping(metadata.get("annotations")).items() if _of_queue(key)}
    return {"metadata": {"labels": own | labels, "annotations": notes}, "spec": shape(found["spec"])}


def _of_queue(key: str) -> bool:
    """Tell whether an annotation asks Kueue or Volcano for something; by whose admission pods run, their own say."""
    return key.startswith(("kueue.x-k8s.io/podset", "scheduling.volcano.sh/"))


def _container(one: Manifest) -> dict[str, Any]:
    asked = {key: dig(one, "resources", key) for key in ("limits", "requests") if dig(one, "resources", key)}
    # Whether the manager of a driver evicts pods by itself: of the rest that pods are told nothing is taken.
    acts = [each for each in sequence(one.get("env")) if each.get("name") in MANAGER_ACTS and "value" in each]
    kept = {key: one[key] for key in OF_CONTAINER if key in one} | ({"env": acts} if acts else {})
    return kept | {"resources": asked}

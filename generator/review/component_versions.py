"""Which version of Kubernetes and of each component a cluster goes to.

Read from what is rendered: what a cluster file leaves to the catalogue was decided by the gen that rendered it.
"""

import re
from collections.abc import Iterator

from generator.components import CATALOGUE
from generator.layout.files import KUSTOMIZATION_NAMES
from generator.model.change import VERSION, FieldChange, ObjectChange
from generator.model.fields import dig
from generator.review.standing import BOOTSTRAP, Standing

KUBERNETES = "kubernetes"
_BASE = re.compile(r"base/([^/\s]+)/([^/\s\"']+)")


def version_changes(old: Standing, new: Standing) -> list[ObjectChange]:
    """Return the components, Kubernetes among them, that both sides have in different versions."""
    before, after = dict(_versions(old)), dict(_versions(new))
    moved = sorted(name for name in before.keys() & after.keys() if before[name] != after[name])
    return [
        ObjectChange(
            on="changed",
            kind=VERSION,
            namespace="",
            name=name,
            application=BOOTSTRAP if name == KUBERNETES else name,
            old={"version": before[name], "components": before},
            new={"version": after[name], "components": after},
            fields=(FieldChange(("version",), before[name], after[name]),),
        )
        for name in moved
    ]


def _versions(standing: Standing) -> Iterator[tuple[str, str]]:
    for document in standing.yaml(f"{standing.bootstrap}/kubeadm/init.yaml"):
        if version := dig(document, "kubernetesVersion"):
            yield KUBERNETES, str(version).removeprefix("v")
    for path in standing.below(standing.overlays):
        component, _, file = path.partition("/")
        if file in KUSTOMIZATION_NAMES and component in CATALOGUE and CATALOGUE[component].versions:
            yield from _based(standing, component, path)


def _based(standing: Standing, component: str, path: str) -> Iterator[tuple[str, str]]:
    for name, version in _BASE.findall(standing.text(f"{standing.overlays}/{path}") or ""):
        if name == component:
            yield component, version

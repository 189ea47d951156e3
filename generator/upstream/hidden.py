"""Images that operators start by themselves: no object names them, only their source."""

from collections.abc import Iterator

from msgspec import Struct

from generator.model.cluster import Cluster
from generator.model.versions import version_of
from generator.rendered.built import Built, Object

__all__ = ["Hidden", "Started", "hidden"]


class Hidden(Struct, frozen=True, kw_only=True):
    """What the operator of a component starts for an object of `kind`, at the component's version. The object's
    `spec.<field>`, where it is set, stands for `registry` in the images' names. `proof`: where that is written.
    """

    component: str
    kind: str
    field: str
    registry: str
    images: tuple[str, ...]
    proof: str


class Started(Struct, frozen=True, kw_only=True):
    """One such image: the object that decides it, upstream's name, and the name as it is applied."""

    object: Object
    field: str
    image: str
    applied: str


# Calico's own data plane, FlexVolume at its default, no CSI driver, no v3 CRDs, goldmane and whisker left out.
_KNOWN = (
    Hidden(
        component="calico",
        kind="Installation",
        field="registry",
        registry="quay.io",
        images=tuple(
            f"calico/{name}" for name in ("apiserver", "cni", "kube-controllers", "node", "pod2daemon-flexvol", "typha")
        ),
        proof="tigera/operator v1.42.3, pkg/components/calico.go and references.go",
    ),
)


def hidden(built: Built, cluster: Cluster) -> Iterator[Started]:
    """Yield what operators start on a cluster."""
    for entry in _KNOWN:
        for one in (one for one in built.of(entry.kind) if one.component == entry.component):
            spec = one.manifest.get("spec")
            given = spec.get(entry.field) if isinstance(spec, dict) else None
            registry = str(given or entry.registry).removesuffix("/")
            for image in entry.images:
                name = f"{image}:{version_of(entry.component, cluster).version}"
                yield Started(
                    object=one, field=entry.field, image=f"{entry.registry}/{name}", applied=f"{registry}/{name}"
                )

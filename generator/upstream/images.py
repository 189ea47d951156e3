"""The images of a cluster: from everything that is built, and from what nodes run before Argo CD."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct, structs

from generator.build.fields import mapping
from generator.build.objects import Built, Object
from generator.build.unread import advice, places, unread
from generator.components import compose
from generator.components.kubeadm.images import kubeadm_images
from generator.layout.images import is_own, partial, rewrite, split, upstream_name
from generator.layout.upstream import brings, state
from generator.model.cluster import Cluster
from generator.model.finding import dotted
from generator.model.versions import version_of
from generator.repository.standing import locked, on_disk, vendored, vendored_names
from generator.upstream.registry import Answer

BOOTSTRAP = "bootstrap"
"""Stands for the component where nodes take an image before any component is there."""


class Use(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Who wants an image: the component, its object and field, their file, and the reference as applied. `by_tag`: why
    no digest can stand there.
    """

    cluster: str
    component: str
    object: str
    field: str
    file: str
    applied: str
    by_tag: str = ""


class Image(Struct, frozen=True, kw_only=True):
    """One image by upstream's name with its tag (`docker.io/library/postgres:16.10`, or without one where a digest is
    all there is), and the digest where it is known. `partial`: an operator adds the node's system to the tag, so that
    no registry has this one. `own`: it lies on the mirror of every cluster that wants it under a name of the site's, so
    that nothing is to be copied. `size` is that of the compressed layers on linux/amd64 in bytes; `error` is why it is
    unknown.
    """

    name: str
    digest: str = ""
    uses: tuple[Use, ...]
    partial: bool = False
    own: bool = False
    size: int | None = None
    error: str = ""

    @property
    def reference(self) -> str:
        """The reference, with its digest where that is known."""
        return f"{self.name}@{self.digest}" if self.digest else self.name

    @property
    def pinned(self) -> bool:
        """Whether whatever takes it names the digest."""
        return all("@" in use.applied for use in self.uses)

    @property
    def by_tag(self) -> str:
        """Why it cannot be pinned everywhere; empty where it can."""
        return next((use.by_tag for use in self.uses if use.by_tag), "")

    @property
    def tagged(self) -> bool:
        """Whether it has a tag."""
        return ":" in self.name.rpartition("/")[2]

    @property
    def components(self) -> list[str]:
        """Who wants it."""
        return sorted({use.component for use in self.uses})


class Stray(Struct, frozen=True, kw_only=True):
    """An image that does not come from the mirror, and what to do about it."""

    use: Use
    fix: str


class Unclear(Struct, frozen=True, kw_only=True):
    """A field for an image whose text is no reference, which the use has as `applied`. `code` is that of the rule which
    it breaks; empty where it breaks none: what fills it in may make it an image, and no mirror is wanted.
    """

    use: Use
    fix: str
    code: str = ""


SYSTEM = "the operator adds the node's system to the tag"
# Why images of the bootstrap are not pinned, by their file: kubeadm puts versions behind names, and warns of a sandbox
# whose name is not its own.
_NODES = {
    "kubeadm/init.yaml": "kubeadm names it by its tag",
    "node/all/etc/containerd/config.toml": "kubeadm wants the very name that it has itself",
}


def images(built: Built, digests: Mapping[str, str]) -> list[Image]:
    """Return every image of a cluster once, in order; `digests` are those of `gen.lock`."""
    cluster = built.cluster
    assert cluster  # noqa: S101 - only a folder of somebody else's has none
    found: dict[tuple[str, str], list[Use]] = {}
    for reference, use in (*_named(built, cluster), *_calico(built, cluster), *_nodes(cluster, digests)):
        name, tag, digest = split(reference)
        tagged = f"{name}:{tag}" if tag else name
        found.setdefault((tagged, digest or digests.get(tagged, "")), []).append(use)
    return [
        Image(
            name=name,
            digest=digest,
            uses=tuple(uses),
            partial=any(use.by_tag == SYSTEM for use in uses),
            own=is_own(name, cluster.site.images),
        )
        for (name, digest), uses in sorted(found.items())
    ]


def _named(built: Built, cluster: Cluster) -> Iterator[tuple[str, Use]]:
    """Yield what objects name, by upstream's names."""
    for one in built.objects:
        for place in places(one.manifest):
            use = _use(built, one, place.path, place.image)
            if not place.pinnable and "@" not in place.image:
                by_tag = SYSTEM if partial(one.kind, place.path) else "the operator takes no digest"
                use = structs.replace(use, by_tag=by_tag)
            yield upstream_name(place.image, cluster.site.images), use


def _calico(built: Built, cluster: Cluster) -> Iterator[tuple[str, Use]]:
    """Yield what Calico's operator starts by itself: no object names it, only its registry. Its own data plane,
    FlexVolume at its default, no CSI driver, no v3 CRDs, goldmane and whisker left out (tigera/operator v1.42.3,
    pkg/components/calico.go and references.go).
    """
    for one in (one for one in built.of("Installation") if one.component == "calico"):
        registry = str(mapping(one.manifest.get("spec")).get("registry") or "quay.io").removesuffix("/")
        for part in ("apiserver", "cni", "kube-controllers", "node", "pod2daemon-flexvol", "typha"):
            image = f"{registry}/calico/{part}:{version_of('calico', cluster).version}"
            use = _use(built, one, ("spec", "registry"), image)
            use = structs.replace(
                use, object=f"the operator of {one.full_name}", by_tag="the operator names it by its tag"
            )
            yield upstream_name(image, cluster.site.images), use


def _nodes(cluster: Cluster, digests: Mapping[str, str]) -> Iterator[tuple[str, Use]]:
    """Yield what nodes run before Argo CD. Bootstrap files name the mirror by themselves."""
    for image, file in kubeadm_images(cluster).items():
        by_tag = _NODES.get(file, "")
        use = Use(
            cluster=cluster.name,
            component=BOOTSTRAP,
            object="node",
            field="",
            file=f"clusters/{cluster.name}/bootstrap/{file}",
            applied=rewrite(image, cluster.site.images, {} if by_tag else digests),
            by_tag=by_tag,
        )
        yield image, use


def unclear(built: Built) -> list[Unclear]:
    """Return every field for an image that cannot be read, so that its image is not in the list."""
    mirror = built.cluster.site.images if built.cluster else None
    return [
        Unclear(
            use=_use(built, one, field.path, field.text),
            fix=advice(field),
            code="GEN-IMG-005" if field.wrong else "GEN-IMG-003" if _may_stray(field.text, mirror) else "",
        )
        for one in built.objects
        for field in unread(one.manifest)
    ]


def _may_stray(text: str, mirror: str | None) -> bool:
    return mirror is not None and not text.startswith(f"{mirror}/")


def _use(built: Built, one: Object, path: tuple[str | int, ...], applied: str) -> Use:
    return Use(
        cluster=built.name,
        component=one.component,
        object=one.full_name,
        field=dotted(path),
        file=one.file,
        applied=applied,
    )


def stale(root: Path, cluster: Cluster) -> list[str]:
    """Return the components that are vendored from other inputs than those of today: their images may be others."""
    read = on_disk(root)
    lock, known = locked(read), vendored(read, cluster.name, vendored_names(root, cluster.name))
    made = {component.name: component for component in compose(cluster, known) if brings(component)}
    return [name for name in known if name in made and state(cluster, made[name], known[name], lock) == "stale"]


def merged(lists: Iterable[Iterable[Image]]) -> list[Image]:
    """Return the images of several clusters, each once."""
    found: dict[str, Image] = {}
    for image in (image for images in lists for image in images):
        known = found.get(image.reference)
        both = known and structs.replace(known, uses=(*known.uses, *image.uses), own=known.own and image.own)
        found[image.reference] = both or image
    return [found[reference] for reference in sorted(found)]


def answered(image: Image, answer: Answer) -> Image:
    """Return the image with what its registry says of it."""
    return structs.replace(image, digest=image.digest or answer.digest, size=answer.size, error=answer.error)


def strays(cluster: Cluster, found: Iterable[Image]) -> Iterator[Stray]:
    """Yield what would not come from the cluster's mirror, where it has one."""
    mirror = cluster.site.images
    for use in (use for image in found for use in image.uses):
        if mirror and use.cluster == cluster.name and not use.applied.startswith(f"{mirror}/"):
            yield Stray(use=use, fix=_fix(cluster, mirror, use))


def _fix(cluster: Cluster, mirror: str, use: Use) -> str:
    new = rewrite(use.applied, mirror, {})
    where = f"in overlays/{cluster.name}/{use.component}/custom/"
    if new == use.applied:
        return f"a registry with a port cannot stand in a path: copy it to {mirror} under another name, named {where}"
    return f"gen render; if that leaves it, {where}: {new}"


def skopeo(found: Iterable[Image]) -> dict[str, dict[str, dict[str, list[str]]]]:
    """Return what `skopeo sync --src yaml` reads: tags and digests by registry and repository. Both for a pinned image:
    registries sweep away what has no tag.
    """
    made: dict[str, dict[str, dict[str, list[str]]]] = {}
    for image in found:
        name, tag, digest = split(image.reference)
        host, _, repository = name.partition("/")
        marks = made.setdefault(host, {"images": {}})["images"].setdefault(repository, [])
        marks += [mark for mark in (tag, digest) if mark and mark not in marks]
    return made

"""The images of a cluster: from everything that is built, and from what nodes run before Argo CD."""

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct, field, structs

from generator.build.objects import Built, Object
from generator.components import CATALOGUE
from generator.components.kubeadm.bootstrap_images import bootstrap_images
from generator.layout.image_fields import has_system_added
from generator.layout.image_references import has_tag_or_digest, is_of_site, rewrite, split, upstream_name
from generator.model.cluster import Cluster
from generator.model.fields import dig
from generator.model.finding import ObjectRef, Path
from generator.rules.images import all_named

BOOTSTRAP = "bootstrap"
"""Stands for the component where nodes take an image before any component is there."""
SYSTEM = "the operator adds the node's system to the tag"


class Use(Struct, frozen=True, kw_only=True):
    """Who wants an image: the component, the object and the path into its manifest, their file, and the reference as
    applied. `object` is None where a node wants it, without any. `by_operator`: no object names it, its operator starts
    it. `by_tag`: why no digest can stand there.
    """

    cluster: str
    component: str
    object: ObjectRef | None = None
    at: Path = ()
    file: str
    applied: str
    by_operator: bool = False
    by_tag: str = ""

    @property
    def wanted_by(self) -> str:
        """How people name what wants it."""
        name = self.object.full_name if self.object else "node"
        return f"the operator of {name}" if self.by_operator else name


class Image(Struct, frozen=True, kw_only=True):
    """One image by upstream's name with its tag (`docker.io/library/postgres:16.10`, or without one where a digest is
    all there is), and the digest where it is known. `system_added`: an operator adds the node's system to the tag, so
    that no registry has this one. `of_site`: it lies on the mirror of every cluster that wants it under a name of the
    site's, so that nothing is to be copied. `size` is that of the compressed layers on linux/amd64 in bytes; `error` is
    why it is unknown.
    """

    name: str
    digest: str = ""
    uses: tuple[Use, ...]
    system_added: bool = field(default=False, name="partial")
    of_site: bool = field(default=False, name="own")
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
        return has_tag_or_digest(self.name)

    @property
    def components(self) -> list[str]:
        """Who wants it."""
        return sorted({use.component for use in self.uses})


def images(built: Built, digests: Mapping[str, str]) -> list[Image]:
    """Return every image of a cluster once, in order; `digests` are those of `gen.lock`."""
    cluster = built.cluster
    assert cluster  # noqa: S101 - only a folder of somebody else's has none
    found: dict[tuple[str, str], list[Use]] = {}
    wanted = (*_named(built, cluster), *_started_by_operators(built, cluster), *_of_bootstrap(cluster, digests))
    for reference, use in wanted:
        name, tag, digest = split(reference)
        tagged = f"{name}:{tag}" if tag else name
        found.setdefault((tagged, digest or digests.get(tagged, "")), []).append(use)
    return [
        Image(
            name=name,
            digest=digest,
            uses=tuple(uses),
            system_added=any(use.by_tag == SYSTEM for use in uses),
            of_site=is_of_site(name, cluster.site.images),
        )
        for (name, digest), uses in sorted(found.items())
    ]


def _named(built: Built, cluster: Cluster) -> Iterator[tuple[str, Use]]:
    """Yield what objects name, by upstream's names."""
    for one, found in all_named(built):
        use = _use(built, one, found.path, found.image)
        if not found.pinnable and "@" not in found.image:
            system_added = has_system_added(one.group, one.kind, found.path)
            use = structs.replace(use, by_tag=SYSTEM if system_added else "the operator takes no digest")
        yield upstream_name(found.image, cluster.site.images), use


def _started_by_operators(built: Built, cluster: Cluster) -> Iterator[tuple[str, Use]]:
    """Yield what operators start by themselves: no object names it, only its registry."""
    operators = {name: definition.operator_images for name, definition in CATALOGUE.items()}
    for one in built.objects:
        started = operators.get(one.component)
        if not started or one.kind != started.kind:
            continue
        registry = str(dig(one.manifest, *started.registry) or started.default).removesuffix("/")
        for name in started.names:
            image = f"{registry}/{name}:{started.versions.of(cluster).version}"
            use = _use(built, one, started.registry, image)
            use = structs.replace(use, by_operator=True, by_tag="the operator names it by its tag")
            yield upstream_name(image, cluster.site.images), use


def _of_bootstrap(cluster: Cluster, digests: Mapping[str, str]) -> Iterator[tuple[str, Use]]:
    """Yield what nodes run before Argo CD. Bootstrap files name the mirror by themselves."""
    for one in bootstrap_images(cluster):
        use = Use(
            cluster=cluster.name,
            component=BOOTSTRAP,
            file=f"clusters/{cluster.name}/bootstrap/{one.file}",
            applied=rewrite(one.image, cluster.site.images, {} if one.by_tag else digests),
            by_tag=one.by_tag,
        )
        yield one.image, use


def _use(built: Built, one: Object, path: Path, applied: str) -> Use:
    return Use(
        cluster=built.name,
        component=one.component,
        object=one.ref,
        at=path,
        file=one.file,
        applied=applied,
    )


def merged(lists: Iterable[Iterable[Image]]) -> list[Image]:
    """Return the images of several clusters, each once."""
    found: dict[str, Image] = {}
    for image in (image for images in lists for image in images):
        first = found.get(image.reference)
        both = first and structs.replace(
            first, uses=(*first.uses, *image.uses), of_site=first.of_site and image.of_site
        )
        found[image.reference] = both or image
    return [found[reference] for reference in sorted(found)]

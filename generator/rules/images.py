"""Rules about images: which one runs must not depend on the day it is pulled, or on who can be reached."""

import re
from collections.abc import Iterator
from functools import lru_cache

from generator.build.objects import Built, Object
from generator.build.unreadable_images import Unread, named_images, unread, unreadable_images
from generator.components import CATALOGUE
from generator.layout.image_fields import ImageField
from generator.layout.image_references import has_tag_or_digest, normalised, rewrite, split, upstream_name
from generator.model.cluster import cluster_file
from generator.model.finding import Finding, Severity
from generator.model.mirror import is_below
from generator.model.rule import Rule, rule

MOVING = {
    "canary", "current", "dev", "develop", "edge", "head", "lts", "main", "mainline", "master", "nightly", "prod",
    "release", "rolling", "stable", "staging", "test", "testing", "trunk", "unstable",
}  # fmt: skip
# Only a major version, and perhaps a system: every later version takes the same tag. Two numbers are a whole version
# for some (PostgreSQL), and longer ones are dates.
SHORT = re.compile(r"v?\d{1,4}(-(alpine|slim|bookworm|bullseye|trixie|jammy|noble|ubi8|ubi9)(\d[\d.]*)?)?")
_SHORT_TAGS = {name for one in CATALOGUE.values() for name in one.short_tags}
"""Images beside Docker's official ones of which upstream moves short tags."""

# `main` and the like with something behind that says which one, as in `main-1a2b3c4`.
PLAIN = re.compile(r"[a-z]+")


@rule("GEN-IMG-001", "images have a tag, and not `latest`")
def tagged(built: Built) -> Iterator[Finding]:
    """Without a tag, or with `latest`, every pull may bring another program: a node that restarts runs something that
    nobody reviewed and that Git does not know.

    Wrong:
        image: quay.io/minio/minio
    Right:
        image: quay.io/minio/minio:RELEASE.2025-09-07T16-13-09Z
    """
    for one, field in named(built):
        name, tag, digest = split(field.image)
        if (
            tag == "latest"
            and not digest
            and not retagged(one, field)
            and not (apart(one, field) and not built.cluster)
        ):
            told = "is the latest" if f"{name.rpartition('/')[2]}:latest" in field.text else "has no tag"
            message = f"the image {name} {told}"
            yield one.finding(message, *field.path, fix="name a version", cause=message)


@rule("GEN-IMG-002", "tags do not move", severity=Severity.WARNING)
def fixed(built: Built) -> Iterator[Finding]:
    """`stable`, `main` or a version without its last number are moved to each new build: two nodes of one cluster may
    run two programs under one name. Only a digest never moves; a full version number hardly ever does.

    Wrong:
        image: docker.io/library/postgres:16
    Right:
        image: docker.io/library/postgres:16.10
    """
    for one, field in named(built):
        name, tag, digest = split(field.image)
        if moving(name, tag) and not digest and not retagged(one, field):
            message = f"the tag {tag} of {name} is moved to newer builds"
            yield one.finding(message, *field.path, fix="name a full version, or a digest", cause=message)


def moving(name: str, tag: str) -> bool:
    """Tell whether newer builds take the same tag, as far as that is known: what a major version alone means, only
    whoever publishes it knows.
    """
    words = PLAIN.findall(tag)
    short = name.startswith("docker.io/library/") or name in _SHORT_TAGS
    named = tag.replace("-", "").isalpha() and any(w in MOVING for w in words)
    return named or (short and SHORT.fullmatch(tag) is not None)


def apart(one: Object, field: ImageField) -> bool:
    """Tell whether the tag may stand elsewhere in the file of a program that nobody here knows."""
    return one.kind == "ConfigMap" and not has_tag_or_digest(field.name)


def retagged(one: Object, field: ImageField) -> bool:
    """Tell whether a kustomization gives the image another tag than its base."""
    return bool(one.retagged) and split(normalised(field.name))[0] in one.retagged


@rule("GEN-IMG-003", "images come from the site's registry")
def mirrored(built: Built) -> Iterator[Finding]:
    """With `site.images` the cluster needs no other registry, and its nodes may have no way to one: a pod with an
    image from elsewhere does not start, or starts only as long as some node still has the image.

    Wrong:
        # site: {images: mirror.example.org/k8s}
        image: quay.io/ceph/ceph:v19.2.3
    Right:
        # site: {images: mirror.example.org/k8s}
        image: mirror.example.org/k8s/quay.io/ceph/ceph:v19.2.3
    """
    mirror = built.cluster.site.images if built.cluster else None
    for one, field in named(built) if mirror else ():
        if not is_below(field.image, mirror):
            message = f"the image {field.image} does not come from {mirror}"
            yield one.finding(message, *field.path, fix=rewrite(field.image, mirror, {}))
    for one, texts in looked_through(built) if mirror else ():
        for unreadable in unreadable_images(one.manifest, texts):
            if not unreadable.wrong and not is_below(unreadable.text, mirror):
                message = f"`{unreadable.text}` cannot be read as an image, so that it may not come from {mirror}"
                yield one.finding(message, *unreadable.path, fix=unreadable.fix)


@rule("GEN-IMG-006", "charts are vendored where the site has its own registry", severity=Severity.WARNING)
def vendored(built: Built) -> Iterator[Finding]:
    """What `site.images` names goes into the objects that are committed. A chart that Argo CD inflates itself still
    names its publisher's registries, and its pods do not start where nodes cannot reach those.

    Wrong:
        # site: {images: mirror.example.org/k8s}
        (cilium without overlays/ml50/cilium/upstream)
    Right:
        # site: {images: mirror.example.org/k8s}
        (after `gen vendor`)
    """
    if built.cluster and built.cluster.site.images and built.unvendored:
        message = f"the images of {', '.join(built.unvendored)} do not come from {built.cluster.site.images} yet"
        file = cluster_file(built.cluster.name)
        yield Finding(file=file, at=("site", "images"), message=message, fix="run `gen vendor`, and commit")


@rule("GEN-IMG-004", "where some images are pinned, all are", severity=Severity.WARNING)
def pinned(built: Built) -> Iterator[Finding]:
    """With digests in gen.lock nothing runs that nobody saw, but for images that came in after they were locked. An
    image of which registry, name and tag stand in fields of their own has no place for a digest, unless its operator
    puts them together as NVIDIA's do.

    Wrong:
        # gen.lock has digests
        image: quay.io/ceph/ceph:v19.2.3
    Right:
        # gen.lock has digests
        image: quay.io/ceph/ceph:v19.2.3@sha256:<64 digits>
    """
    mirror = built.cluster.site.images if built.cluster else None
    for one, field in named(built) if built.digests else ():
        if "@" not in field.image and field.pinnable:
            known = upstream_name(field.image, mirror) in built.digests
            message = f"the image {field.image} has no digest"
            yield one.finding(message, *field.path, fix="gen render" if known else "gen images --lock")


@rule("GEN-IMG-005", "images can be read")
def legible(built: Built) -> Iterator[Finding]:
    """Kubernetes takes a container's image as it stands: a variable, a space or half a digest ends in
    `InvalidImageName`, and whatever cannot be read is neither sent to the mirror nor pinned. Templates of workflows and
    of other operators are left out here; with `site.images` GEN-IMG-003 tells them. So is, in a folder of no cluster,
    what `ko` builds and replaces (`ko://`).

    Wrong:
        image: ${IMG}
    Right:
        image: docker.io/library/nginx:1.29.1
    """
    for one, texts in looked_through(built):
        for field in unreadable_images(one.manifest, texts):
            by_ko = built.cluster is None and field.text.startswith("ko://")
            if field.wrong and not by_ko and not one.left_open(field.text):
                yield one.finding(f"{field.named} cannot be read as an image", *field.path, fix=field.fix)


def named(built: Built) -> Iterator[tuple[Object, ImageField]]:
    """Yield every image that an object names, less what explains a ConfigMap to people (`_example`, as Knative calls
    it).
    """
    return ((one, field) for one, field in all_named(built) if field.path[:2] != ("data", "_example"))


@lru_cache(maxsize=2)
def all_named(built: Built) -> tuple[tuple[Object, ImageField], ...]:
    """Return every image that an object names; what only a running workflow knows is left out."""
    seen = looked_through(built)
    return tuple((one, field) for one, texts in seen for field in named_images(one.manifest, texts))


@lru_cache(maxsize=2)
def looked_through(built: Built) -> tuple[tuple[Object, Unread], ...]:
    """Return every object with the texts in it that may be images and are no references."""
    return tuple((one, unread(one.manifest)) for one in built.objects)


RULES: tuple[Rule[Built], ...] = (tagged, fixed, mirrored, pinned, legible, vendored)

"""What is to be said of a cluster's images: which of them would not come from its mirror, which cannot be read, which
rules they break, and what nobody could see.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from generator.build.applications import build
from generator.build.objects import Built
from generator.build.unreadable_images import unreadable_images
from generator.components import compose
from generator.layout.image_references import rewrite
from generator.layout.upstream import brings, state
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Severity
from generator.model.mirror import is_below
from generator.repository.vendored import locked, on_disk, vendored, vendored_names
from generator.rules.images import RULES
from generator.upstream.images import Image, Use, images, use_of

# What comes from elsewhere is told by `elsewhere`, of what nodes run as well; what cannot be read by `unreadable`.
_MIRRORED, _READABLE = "GEN-IMG-003", "GEN-IMG-005"


class ImageFinding(Struct, frozen=True, kw_only=True):
    """What is wrong with an image where it is wanted, and the smallest fix. `code` is that of the rule which it breaks;
    without one it is a note, and no mistake.
    """

    use: Use
    message: str
    fix: str
    code: str = ""


class ClusterImages(Struct, frozen=True, kw_only=True):
    """One cluster with what is known of its images. `elsewhere` are those that would not come from its mirror, where it
    has one; `unreadable` are fields for an image whose text (the use has it as `applied`) is no reference, so
    that the image is not in the list. `unvendored` components are not seen, `stale` ones made of other inputs than
    today's, and of `remote` ones only what the user's own kustomizations want from the network is missing. `complete`
    tells that all was seen.
    """

    cluster: Cluster
    images: list[Image]
    elsewhere: list[ImageFinding]
    unreadable: list[ImageFinding]
    findings: list[Finding]
    unvendored: tuple[str, ...]
    remote: tuple[str, ...]
    stale: list[str]
    complete: bool

    @property
    def wrong(self) -> bool:
        """Whether anything is to be mended. With a mirror, what is not seen counts as coming from elsewhere."""
        unseen = self.cluster.site.images and (self.unvendored or self.remote or self.stale)
        broken = any(finding.severity == Severity.ERROR for finding in self.findings)
        return bool(broken or self.elsewhere or any(one.code for one in self.unreadable) or unseen)


def cluster_images(root: Path, cluster: Cluster, digests: Mapping[str, str]) -> ClusterImages:
    """Build everything of a cluster and look for its images; `digests` are those of `gen.lock`."""
    built = build(root, cluster)
    found, stale = images(built, digests), _stale(root, cluster)
    rules = [rule for rule in RULES if rule.code not in {_MIRRORED, _READABLE}]
    return ClusterImages(
        cluster=cluster,
        images=found,
        elsewhere=list(_elsewhere(cluster, found)),
        unreadable=list(_unreadable(built, cluster.site.images)),
        findings=[finding for rule in rules for finding in rule.findings(built)],
        unvendored=built.unvendored,
        remote=built.remote,
        stale=stale,
        complete=not (built.unseen or built.findings or stale),
    )


def _stale(root: Path, cluster: Cluster) -> list[str]:
    """Return the components that are vendored from other inputs than those of today: their images may be others."""
    read = on_disk(root)
    lock, known = locked(read), vendored(read, cluster.name, vendored_names(root, cluster.name))
    made = {component.name: component for component in compose(cluster, known) if brings(component)}
    return [name for name in known if name in made and state(cluster, made[name], known[name], lock) == "stale"]


def _elsewhere(cluster: Cluster, found: Iterable[Image]) -> Iterator[ImageFinding]:
    mirror = cluster.site.images
    for use in (use for image in found for use in image.uses):
        if mirror and not is_below(use.applied, mirror):
            message = f"{use.applied} is not from {mirror}"
            yield ImageFinding(use=use, message=message, fix=_to_mirror(mirror, use), code=_MIRRORED)


def _to_mirror(mirror: str, use: Use) -> str:
    new = rewrite(use.applied, mirror, {})
    where = f"in overlays/{use.cluster}/{use.component}/custom/"
    if new == use.applied:
        return f"a registry with a port cannot stand in a path: copy it to {mirror} under another name, named {where}"
    return f"gen render; if that leaves it, {where}: {new}"


def _unreadable(built: Built, mirror: str | None) -> Iterator[ImageFinding]:
    """Yield fields for an image that cannot be read. What fills one in may make it an image: without a mirror, and
    where the text begins with it, that breaks no rule.
    """
    for one in built.objects:
        for found in unreadable_images(one.manifest):
            away = mirror and not is_below(found.text, mirror)
            yield ImageFinding(
                use=use_of(built, one, found.path, found.text),
                message=f"`{found.text}` is not readable as an image",
                fix=found.fix,
                code=_READABLE if found.wrong else _MIRRORED if away else "",
            )

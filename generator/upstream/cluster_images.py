"""What is to be said of a cluster's images: which of them would not come from its mirror, which cannot be read, which
rules they break, and what nobody could see.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct, structs

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
from generator.rules.images import RULES, legible, looked_through, mirrored
from generator.upstream.image_list import Image, Use, images


class ClusterImages(Struct, frozen=True, kw_only=True):
    """One cluster with what is known of its images. `findings` are mistakes, `notes` what breaks no rule and has no
    code. `unreadable` counts the fields for an image whose text is no reference, so that the image is not in the list.
    `unvendored` components are not seen, `stale` ones made of other inputs than today's, and of `remote` ones only what
    the user's own kustomizations want from the network is missing. `complete` tells that all was seen.
    """

    cluster: Cluster
    images: list[Image]
    findings: list[Finding]
    notes: list[Finding]
    unreadable: int
    unvendored: tuple[str, ...]
    remote: tuple[str, ...]
    stale: list[str]
    complete: bool

    @property
    def wrong(self) -> bool:
        """Whether anything is to be mended. With a mirror, what is not seen counts as coming from elsewhere."""
        unseen = self.cluster.site.images and (self.unvendored or self.remote or self.stale)
        return bool(unseen) or any(finding.severity == Severity.ERROR for finding in self.findings)


def cluster_images(root: Path, cluster: Cluster, digests: Mapping[str, str]) -> ClusterImages:
    """Build everything of a cluster and look for its images; `digests` are those of `gen.lock`."""
    built = build(root, cluster)
    found, stale = images(built, digests), _stale(root, cluster)
    # These two are told here with more: of what nodes run as well, and how a mirror is brought in.
    rules = [rule for rule in RULES if rule not in (mirrored, legible)]
    broken = [finding for rule in rules for finding in rule.findings(built)]
    unreadable = [*_unreadable(built, cluster.site.images)]
    return ClusterImages(
        cluster=cluster,
        images=found,
        findings=[*broken, *_elsewhere(cluster, found), *(one for one in unreadable if one.code)],
        notes=[one for one in unreadable if not one.code],
        unreadable=len(unreadable),
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


def _elsewhere(cluster: Cluster, found: Iterable[Image]) -> Iterator[Finding]:
    mirror = cluster.site.images
    for use in (use for image in found for use in image.uses):
        if mirror and not is_below(use.applied, mirror):
            message = f"{use.applied} is not from {mirror}"
            fix = _to_mirror(mirror, use)
            yield mirrored.complete(Finding(file=use.file, object=use.object, at=use.at, message=message, fix=fix))


def _to_mirror(mirror: str, use: Use) -> str:
    new = rewrite(use.applied, mirror, {})
    where = f"in overlays/{use.cluster}/{use.component}/custom/"
    if new == use.applied:
        return f"a registry with a port cannot stand in a path: copy it to {mirror} under another name, named {where}"
    return f"gen render; if that leaves it, {where}: {new}"


def _unreadable(built: Built, mirror: str | None) -> Iterator[Finding]:
    """Yield fields for an image that cannot be read. What fills one in may make it an image: without a mirror, and
    where the text begins with it, that breaks no rule.
    """
    for one, texts in looked_through(built):
        for found in unreadable_images(one.manifest, texts):
            away = mirror and not is_below(found.text, mirror)
            broken = legible if found.wrong else mirrored if away else None
            finding = one.finding(f"{found.named} is not readable as an image", *found.path, fix=found.fix)
            yield broken.complete(finding) if broken else structs.replace(finding, severity=Severity.WARNING)

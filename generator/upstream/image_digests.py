"""Digests and sizes of the images of clusters, asked from where the clusters pull them, and what `gen.lock` keeps."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import count

from msgspec import Struct, structs

from generator.layout.image_references import rewrite
from generator.upstream.cluster_images import ClusterImages
from generator.upstream.image_list import Image
from generator.upstream.registry import ImageAnswer, ask

Progress = Callable[[int, int], None]
"""Hears after each answer how many of how many have answered."""


class NewDigests(Struct, frozen=True, kw_only=True):
    """What registries say of tags: the digests by image, what each was where the lock has another (`moved`), and the
    answers that failed.
    """

    digests: Mapping[str, str]
    moved: Mapping[str, str]
    failed: Mapping[str, ImageAnswer]

    @property
    def unreachable(self) -> bool:
        """Whether some registry could not be asked at all."""
        return any(answer.unreachable for answer in self.failed.values())


def with_sizes(
    found: Sequence[Image], clusters: Iterable[ClusterImages], progress: Progress
) -> tuple[list[Image], dict[str, ImageAnswer]]:
    """Return the images with what registries say of them, and the answers that failed, by image."""
    answers = _answers(_addresses(found, clusters, by_tag=False), progress, sizes=True)
    seen = [_with_answer(image, answers.get(image.reference)) for image in found]
    return seen, {image.name: answers[image.reference] for image in seen if image.error}


def _with_answer(image: Image, answer: ImageAnswer | None) -> Image:
    if not answer:
        return image
    return structs.replace(image, digest=image.digest or answer.digest, size=answer.size, error=answer.error)


def new_digests(
    found: Iterable[Image], clusters: Iterable[ClusterImages], lock: Mapping[str, str], progress: Progress
) -> NewDigests:
    """Ask for the digests of what has a tag and no digest of its own; `lock` are those of `gen.lock`."""
    wanted = [image for image in found if image.tagged and (not image.digest or image.name in lock)]
    answers = _answers(_addresses(wanted, clusters, by_tag=True), progress, sizes=False)
    by_name = {image.name: answers[image.reference] for image in wanted if image.reference in answers}
    digests = {name: answer.digest for name, answer in by_name.items() if answer.digest}
    return NewDigests(
        digests=digests,
        moved={name: lock[name] for name, digest in digests.items() if lock.get(name, digest) != digest},
        failed={name: answer for name, answer in by_name.items() if answer.error},
    )


def forgotten(
    found: Iterable[Image], clusters: Sequence[ClusterImages], names: Collection[str], lock: Mapping[str, str]
) -> list[str]:
    """Return the images that `gen.lock` has and no cluster wants; none where not all of all clusters, `names`, was
    seen.
    """
    seen = all(one.complete for one in clusters) and {one.cluster.name for one in clusters} >= {*names}
    return sorted({*lock} - {image.name for image in found}) if seen else []


def _addresses(found: Iterable[Image], clusters: Iterable[ClusterImages], *, by_tag: bool) -> dict[str, str]:
    """Return where registries are to be asked, by reference."""
    mirrors = {one.cluster.name: one.cluster.site.images for one in clusters}
    return {
        image.reference: rewrite(image.name if by_tag else image.reference, mirrors[image.uses[0].cluster], {})
        for image in found
        if not image.system_added
    }


def _answers(addresses: Mapping[str, str], progress: Progress, *, sizes: bool) -> dict[str, ImageAnswer]:
    total, done = len(set(addresses.values())), count(1)
    told = ask(addresses.values(), sizes=sizes, told=lambda _reference, _answer: progress(next(done), total))
    return {reference: told[address] for reference, address in addresses.items()}

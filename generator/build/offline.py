"""Kustomize without a network: what it would fetch, or need not build, is set aside in a copy."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from msgspec import Struct

from generator.build.broken import BrokenError
from generator.build.kustomization import PATCHES, Kustomization, Remote, folders, kustomization, split_remotes, write
from generator.model.fields import sequence

CUSTOM = "custom"
"""The folder of an Application that holds what is the user's."""

_CRD = "customresourcedefinition-"

Result = TypeVar("Result")


class TakenOut(NamedTuple):
    """What was taken out of one kustomization: files with CRDs, and what Kustomize would fetch."""

    crds: list[Path]
    remotes: list[Remote]


class SetAside(Struct, frozen=True):
    """What was set aside of all that is built together: files with CRDs, and what the user's own kustomizations want
    from the network; `unvendored` tells that there is more, which `gen vendor` would bring. `own` are the folders of
    the user's.
    """

    crds: tuple[Path, ...] = ()
    remotes: tuple[Remote, ...] = ()
    unvendored: bool = False
    own: tuple[Path, ...] = ()


def reached(
    folder: Path, follow: Callable[[Path], Path | None], seen: set[Path] | None = None, *, own: bool
) -> Iterator[Kustomization]:
    """Yield the kustomizations that the one of a folder is built from, itself first and each once. `follow` returns the
    folder to read in place of one that is named, None where it is not to be read. Raises BrokenError for a file that
    cannot be read.
    """
    seen = set() if seen is None else seen
    one = kustomization(folder, own=own)
    if one is None or one.file in seen:
        return
    seen.add(one.file)
    yield one
    for each in folders(one):
        if below := follow(each):
            yield from reached(below, follow, seen, own=own or each.name == CUSTOM)


def set_aside(
    found: Sequence[Kustomization], earlier: dict[Path, TakenOut], *, crds: bool = False, charts: bool = False
) -> SetAside:
    """Take out of kustomizations in a copy what Kustomize would fetch; with `charts` also Helm charts, with `crds` also
    CRDs. `earlier` is kept for all that is built from one copy, and may share some.
    """
    taken = [(one.own, _take_out(one, earlier, crds=crds, charts=charts)) for one in found]
    return SetAside(
        crds=tuple(crd for _, out in taken for crd in out.crds),
        remotes=tuple(remote for own, out in taken if own for remote in out.remotes),
        unvendored=any(out.remotes for own, out in taken if not own),
        own=tuple(one.folder for one in found if one.own),
    )


def _take_out(one: Kustomization, earlier: dict[Path, TakenOut], *, crds: bool, charts: bool) -> TakenOut:
    if one.file not in earlier:
        kept, remotes = split_remotes(one, charts=charts)
        resources = sequence(kept.get("resources"))
        out = [entry for entry in resources if crds and is_crd(one.folder / str(entry))]
        if out or remotes:
            write(one.file, {**kept, "resources": [entry for entry in resources if entry not in out]})
        earlier[one.file] = TakenOut([one.folder / str(entry) for entry in out], remotes)
    return earlier[one.file]


def is_crd(file: Path) -> bool:
    """Tell whether a file holds nothing but a CRD, as gen names them."""
    return is_named_as_crd(file.name) and file.is_file()


def is_named_as_crd(name: str) -> bool:
    """Tell whether a file of this name holds a CRD alone, if it is one."""
    return name.startswith(_CRD)


def build_offline(build: Callable[[], Result], removed: SetAside, place: str) -> tuple[Result, list[str]]:
    """Build what is left: without the user's patches where they want what was set aside. Return notes on that as well,
    which name `place`. Raises BrokenError.
    """
    try:
        return build(), []
    except BrokenError:
        if not (removed.unvendored or removed.remotes) or not _remove_patches(removed.own):
            raise
    why = "not vendored" if removed.unvendored else "remote"
    return build(), [f"{place}: its patches are not judged: what they change is {why}"]


def _remove_patches(places: Sequence[Path]) -> bool:
    """Take the patches out of kustomizations of folders in a copy; tell whether there were any."""
    any_patches = False
    for one in filter(None, map(kustomization, places)):
        kept = {key: value for key, value in one.content.items() if key not in PATCHES}
        if kept != one.content:
            write(one.file, {"resources": [], **kept})
            any_patches = True
    return any_patches

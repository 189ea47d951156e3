"""Kustomizations below a folder that is read file by file: what they apply as patches, and what belongs together."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from generator.model.plural import plural
from generator.build.broken import BrokenError
from generator.build.kustomization import Kustomization, folders, kustomization, loaded
from generator.build.kustomize import NAMES


class Variants(Struct, frozen=True):
    """`folder` is what is read, `tops` are the kustomizations below it that no other one is built from, of `number` in
    all. `owners` leads from files of objects to the folder of the kustomization that names them; `others` are files
    that are patches and the like, which are no objects yet.
    """

    folder: Path
    number: int
    tops: tuple[str, ...]
    owners: Mapping[str, str]
    others: frozenset[str]

    @classmethod
    def of(cls, folder: Path, files: Iterable[Path]) -> "Variants":
        """Return the variants among files. What cannot be read counts as none: the file itself is told."""
        found = [one for each in sorted({file.parent for file in files if file.name in NAMES}) if (one := _read(each))]
        named = [(str(one.folder), *loaded(one)) for one in found]
        owners = {file: place for place, objects, _ in named for file in objects}
        below = {os.path.normpath(each) for one in found for each in folders(one)}
        return cls(
            folder=folder,
            number=len(found),
            tops=tuple(str(one.folder) for one in found if os.path.normpath(one.folder) not in below),
            owners=owners,
            others=frozenset(file for _, _, others in named for file in others if file not in owners),
        )

    def is_other(self, file: Path) -> bool:
        """Tell whether a file is a patch or the like."""
        return os.path.normpath(file) in self.others

    def group(self, file: Path) -> str:
        """Return what the objects of a file belong to. With several kustomizations nobody knows what of the rest is
        applied together.
        """
        name = os.path.normpath(file)
        return self.owners.get(name, name) if self.number > 1 else ""

    def notes(self) -> tuple[str, ...]:
        """Say what was not judged for it, and how it would be."""
        if not self.number:
            return ()
        listed = ", ".join((self.tops or (str(self.folder),))[:3])
        more = f" and {len(self.tops) - 3} more" if len(self.tops) > 3 else ""
        what = plural(self.number, "kustomization")
        told = (
            f"{self.folder}: what {what} below it become, with patches; name a folder to have it built: {listed}{more}"
        )
        return (told,)


def _read(folder: Path) -> Kustomization | None:
    try:
        return kustomization(folder)
    except (BrokenError, OSError):
        return None

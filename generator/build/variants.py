"""What kustomizations say of files that are read one by one: patches, what may still be added, what goes together."""

import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct, structs

from generator.build.broken import BrokenError
from generator.build.kinds import CRD
from generator.build.kustomization import Kustomization, folders, kustomization, named_files, retagged_images
from generator.build.objects import Object
from generator.components.component import Manifest
from generator.layout.files import KUSTOMIZATION_NAMES
from generator.model.fields import mapping, sequence
from generator.model.plural import plural

_SCHEMA = "openAPIV3Schema"
_PATCH = re.compile(r"(?:^|[-_.])patch(?:es)?(?:[-_.]|$)")


class Variants(Struct, frozen=True):
    """What kustomizations say of files below a `folder` that are read one by one: what is a patch, and what belongs
    together. `tops` are those that no other one is built from, of `number` in all. `owners` leads from files of objects
    to the folder of the kustomization that names them; `others` are files that are patches and the like, which are no
    objects yet; `leftovers` look like patches, and no kustomization names them. `retagged` are the images whose tags
    any of them sets; `reshaped` are files of CRDs whose schemas patches change.
    """

    folder: Path
    number: int
    tops: tuple[str, ...]
    owners: Mapping[str, str]
    others: frozenset[str]
    leftovers: frozenset[str]
    retagged: frozenset[str]
    reshaped: frozenset[str]

    @classmethod
    def of(cls, folder: Path, files: Iterable[Path]) -> "Variants":
        """Return the variants among files. What cannot be read counts as none: the file itself is told."""
        files = list(files)
        places = sorted({file.parent for file in files if file.name in KUSTOMIZATION_NAMES})
        found = [one for each in places if (one := _kustomization(each))]
        named = [(str(one.folder), *named_files(one)) for one in found]
        owners = {file: place for place, objects, _ in named for file in objects}
        below = {os.path.normpath(each) for one in found for each in folders(one)}
        others = frozenset(file for _, _, others in named for file in others if file not in owners)
        return cls(
            folder=folder,
            number=len(found),
            tops=tuple(str(one.folder) for one in found if os.path.normpath(one.folder) not in below),
            owners=owners,
            others=others,
            leftovers=_leftovers(folder, files, {*places}) - owners.keys() - others,
            retagged=frozenset(name for one in found for name in retagged_images(one)),
            reshaped=frozenset(file for one in _reshaped(found) for file in named_files(one)[0]),
        )

    def is_other(self, file: Path) -> bool:
        """Tell whether a file is a patch or the like."""
        name = os.path.normpath(file)
        return name in self.others or name in self.leftovers

    def grouped(self, one: Object) -> Object:
        """Return an object with what is said of its file. Of files that no kustomization names nobody knows which are
        applied together.
        """
        name = os.path.normpath(one.file)
        owner = self.owners.get(name)
        if name in self.reshaped and one.kind == CRD:
            one = structs.replace(one, manifest=_without_schemas(one.manifest))
        return structs.replace(
            one, variant=owner or name, unfinished=owner is not None, retagged=self.retagged if owner else frozenset()
        )

    def notes(self, objects: Iterable[Object]) -> Iterator[str]:
        """Say what was not judged, and how it would be."""
        if self.number:
            listed = ", ".join((self.tops or (str(self.folder),))[:3])
            more = f" and {len(self.tops) - 3} more" if len(self.tops) > 3 else ""
            what = plural(self.number, "kustomization")
            become = f"what {what} below it become, with patches"
            yield f"{self.folder}: {become}; name a folder to have it built: {listed}{more}"
        if self.leftovers:
            looking = plural(len(self.leftovers), "file that looks like a patch", "files that look like patches")
            yield f"{self.folder}: {looking}, and no kustomization names: {min(self.leftovers)}"
        yield from self._alternatives(objects)

    def _alternatives(self, objects: Iterable[Object]) -> Iterator[str]:
        """Say in one line that objects are there more than once, in files that nothing says go together."""
        places: defaultdict[tuple[str, ...], dict[str, Object]] = defaultdict(dict)
        for one in objects:
            if one.identity and not one.unfinished:
                places[one.identity].setdefault(one.file, one)
        repeated = [list(found.values()) for found in places.values() if len(found) > 1]
        if repeated:
            first, other, *_ = repeated[0]
            objects_are = plural(len(repeated), "object is", "objects are")
            example = f"{first.full_name} in {first.file} and {other.file}"
            yield f"{self.folder}: {objects_are} in several files, taken for alternatives: {example}"


def _kustomization(folder: Path) -> Kustomization | None:
    try:
        return kustomization(folder)
    except (BrokenError, OSError):
        return None


def _reshaped(found: list[Kustomization]) -> list[Kustomization]:
    """Return the kustomizations whose patches change schemas in CRDs, and all that they are built from."""
    by_folder = {os.path.normpath(one.folder): one for one in found}
    reached = [one for one in found if _reshapes(one)]
    for one in reached:
        below = (by_folder.get(os.path.normpath(each)) for each in folders(one))
        reached += [each for each in below if each and each not in reached]
    return reached


def _reshapes(one: Kustomization) -> bool:
    """Tell whether patches of a kustomization change the schemas in CRDs, by file or inline."""
    files = (Path(each) for each in named_files(one)[1])
    return _SCHEMA in json.dumps(one.content, default=str) or any(_SCHEMA in _text(each) for each in files)


def _text(file: Path) -> str:
    try:
        return file.read_text(errors="replace")
    except OSError:
        return ""


def _without_schemas(crd: Manifest) -> Manifest:
    """Return a CRD that says nothing of fields: what patches make of its schemas, only Kustomize knows."""
    spec = mapping(crd.get("spec"))
    listed = map(mapping, sequence(spec.get("versions")))
    versions = [{key: each[key] for key in each if key != "schema"} for each in listed]
    return {**crd, "spec": {**spec, "versions": versions}}


def _leftovers(folder: Path, files: Iterable[Path], places: set[Path]) -> frozenset[str]:
    """Return the files beside or below a kustomization whose name, or whose folder's, is that of a patch."""
    return frozenset(
        os.path.normpath(file)
        for file in files
        if (_PATCH.search(file.stem) or _PATCH.search(file.parent.name))
        and any(place in places for place in (file.parent, *file.parent.parents) if place.is_relative_to(folder))
    )

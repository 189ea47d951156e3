"""Moving cluster files to the newest versions that gen knows."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from generator.components import CATALOGUE
from generator.model.cluster import Cluster, cluster_file
from generator.model.versions import numbers
from generator.repository.cluster_files import Loaded, examine
from generator.spec.edit import set_value


class Moved(Struct, frozen=True):
    """Cluster files with newer versions in them: as read, as text by path, and what moved, in words."""

    loaded: tuple[Loaded, ...]
    files: Mapping[str, bytes]
    told: tuple[str, ...]


def moved(root: Path, loaded: Sequence[Loaded], wanted: Collection[str]) -> Moved:
    """Give the components `wanted`, or all, the catalogue's default where the file names an older version.

    Raises UsageError where a file cannot be edited exactly.
    """
    files: dict[str, bytes] = {}
    told: list[str] = []
    for one in loaded:
        text = (root / cluster_file(one.name)).read_bytes().decode()
        for component, old, new in _older(one.cluster, wanted) if one.cluster else ():
            text = set_value(text, ("spec", "components", component, "version"), new)
            files[cluster_file(one.name)] = text.encode()
            told.append(f"{one.name}/{component}: {old} -> {new}")
    again = tuple(
        examine(files[path], path, one.name) if (path := cluster_file(one.name)) in files else one for one in loaded
    )
    return Moved(again, files, tuple(told))


def _older(cluster: Cluster, wanted: Collection[str]) -> Iterator[tuple[str, str, str]]:
    """Give each component with an older version, that version and the default, which is the catalogue's first."""
    for name, settings in cluster.components.items():
        known = [version.version for version in CATALOGUE[name].known] if name in CATALOGUE else []
        newer = bool(known) and numbers(settings.version) > numbers(known[0])
        if settings.version in known[1:] and not newer and (not wanted or name in wanted):
            yield name, settings.version, known[0]

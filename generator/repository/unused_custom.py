"""The user's corners of the repository: folders `custom/` that nothing uses any more."""

from collections.abc import Collection, Iterator
from pathlib import Path

from generator.layout.files import corner
from generator.layout.tree import Tree

(_EMPTY,) = corner("", "").values()


def unused(root: Path, laid: Tree, clusters: Collection[str]) -> Iterator[str]:
    """Say which corners hold something that no cluster and no component uses: after a cluster was renamed, or a
    component switched off, the user's patches in them would stop to apply without a word. Of `clusters`, those that
    were not `laid` out are not judged.
    """
    used = {path.rpartition("/")[0] for path in laid.once}
    unknown = {*clusters} - {*laid.components}
    for top, pattern in (("clusters", "argocd/custom"), ("overlays", "*/custom")):
        known = sorted(each for each in (root / top).glob("*") if each.name not in unknown)
        for folder in sorted(each for cluster in known for each in cluster.glob(pattern)):
            place = folder.relative_to(root).as_posix()
            _, cluster, component, _ = place.split("/")
            if place not in used and filled(folder):
                why = f"{cluster} has no {component}" if cluster in clusters else f"no cluster is {cluster}"
                yield _note(place, why)


def filled(folder: Path) -> bool:
    """Tell whether there is more in such a corner than what gen made."""
    files = (path for path in folder.rglob("*") if not path.is_dir())
    return any(path.name != "kustomization.yaml" or _content(path) != _EMPTY for path in files)


def _content(file: Path) -> bytes:
    """Return a file less the comments that tell what it is for."""
    try:
        lines = file.read_bytes().splitlines()
    except OSError:
        return b""
    return b"".join(line + b"\n" for line in lines if not line.startswith(b"#"))


def _note(place: str, why: str) -> str:
    top, _, *rest = place.split("/")
    return (
        f"{place}: nothing uses it any more: {why}; move what is in it to where it shall apply "
        f"(`git mv -f {place}/* {top}/<cluster>/{'/'.join(rest)}/`), or remove it (`git rm -r {place}`)"
    )

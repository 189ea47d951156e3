"""What names a node outside of its cluster's file: other clusters' files, and the user's own manifests."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from generator.edits.mentions import addresses_of, names_word
from generator.model.cluster import Cluster, cluster_file
from generator.model.nodes import Machine


def named_elsewhere(
    root: Path, cluster: str, gone: Collection[Machine], others: Mapping[str, Cluster | None]
) -> list[str]:
    """Say, as `file:line names what`, where nodes that leave a cluster are still named. Files that cannot be read are
    passed over: others tell of them.
    """
    words = {text: f"{one.name}'s address {text}" for one in gone for text in addresses_of(one)}
    names = {one.name: one.name for one in gone}
    found: list[str] = []
    for name, other in others.items():
        own = {node.name for node in other.nodes} if other else set[str]()
        theirs = {word: said for word, said in names.items() if word not in own}
        found += _in(root, [root / cluster_file(name)], words | theirs)
    return [*found, *_in(root, _custom(root, cluster), words | names)]


def _custom(root: Path, cluster: str) -> Iterator[Path]:
    for folder in (*root.glob(f"overlays/{cluster}/*/custom"), root / f"clusters/{cluster}/argocd/custom"):
        yield from (path for path in sorted(folder.rglob("*")) if path.is_file())


def _in(root: Path, files: Iterable[Path], words: Mapping[str, str]) -> Iterator[str]:
    for file in files:
        for number, line in enumerate(_lines(file), 1):
            if said := next((said for word, said in words.items() if names_word(line, word)), ""):
                yield f"{file.relative_to(root).as_posix()}:{number} names {said}"


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []

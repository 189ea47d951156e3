"""The definitions of kinds whose objects changed, wherever a side has them."""

from collections.abc import Collection, Iterator

from generator.build.go_yaml import UnreadableError
from generator.build.kinds import CRD, Kinds, defined_kind
from generator.build.manifests import documents
from generator.components.component import Manifest
from generator.model.change import ObjectChange
from generator.model.served import LAST
from generator.repository.sides import Side


def definitions(old: Side, new: Side, changes: Collection[ObjectChange]) -> list[Manifest]:
    """Return the definitions of the custom kinds of which objects changed, the new ones where both sides have them:
    they come to the cluster first. What is vendored for one cluster serves for all; what cannot be read defines none.
    """
    own = Kinds.at(LAST)
    kinds = {tuple(one.kind.split("/")) for one in changes if one.on == "changed" and "/" in one.kind}
    wanted = {(group, kind) for group, kind in kinds if not own.ours(group)}
    if not wanted:
        return []
    groups = {group for group, _ in wanted}
    mine = {"/".join(one.file.split("/")[:2]) for one in changes if one.file.startswith("overlays/")}
    files = [(side, path) for side in (old, new) for folder in ("base", *sorted(mine)) for path in side.below(folder)]
    found = (each for side, path in files if _may_define(path, groups) for each in _in(side.read(path), wanted))
    return list({str(one["metadata"]["name"]): one for one in found}.values())


def _may_define(path: str, groups: set[str]) -> bool:
    """Tell by a file's name whether it defines a kind of one of these groups: as gen names it, or a user of theirs."""
    name = path.rpartition("/")[2].lower()
    return any(group in name for group in groups) if name.startswith("customresourcedefinition-") else "crd" in name


def _in(content: bytes, wanted: set[tuple[str, str]]) -> Iterator[Manifest]:
    # Text is searched first: to read a large definition as YAML may take half a second.
    if CRD.encode() not in content or not any(kind.encode() in content for _, kind in wanted):
        return
    try:
        read = documents(content)
    except UnreadableError:
        return
    yield from (one for one in read if isinstance(one, dict) and one.get("kind") == CRD and defined_kind(one) in wanted)

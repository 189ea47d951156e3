"""Joining what shards were rendered as: the repository is as if one run had rendered all of it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from msgspec import structs

from generator.errors import UsageError
from generator.layout.lock import LOCK, LockFile
from generator.layout.tree import Tree
from generator.repository.hand_edits import hand_edits
from generator.repository.outcome import Outcome, Rendered, count
from generator.repository.own_code import refuse_newer, this_gen
from generator.repository.places import gone, names
from generator.repository.plan import Plan, plan
from generator.repository.plan_notes import plan_notes
from generator.repository.render import NOTHING, owned, refuse_misnamed, shared_files, tree_of
from generator.repository.scaffold import scaffold
from generator.repository.shards import Shard
from generator.repository.shares import Share, SharedChange, digest, gathered, inputs_of
from generator.repository.vendored import on_disk
from generator.repository.write_lock import exclusive
from generator.repository.writer import write

_NO_TREE = Tree({}, {}, {})


def join(
    root: Path,
    shares: Sequence[Share],
    *,
    dry_run: bool,
    discard: Collection[str] = (),
    waiting: Callable[[str], None],
) -> Outcome:
    """Bring all shares of a whole into the repository at `root`, and remove what no cluster of any of them uses.

    Hand edits in files of clusters were judged by their shard; here only those in what no shard has looked at are.
    Writes all or nothing, and a second time nothing. Raises UsageError where the repository is not the one, or no
    longer as it was, that the shares were made of.
    """
    with exclusive(root, waiting) as held:
        refuse_newer(on_disk(held.root), discard)
        changes = gathered(shares)
        rendered = {name: one for share in shares for name, one in share.rendered.items()}
        common = shared_files(_lock(shares))
        _refuse_foreign(held.root, shares, common)
        found = _planned(held.root, common, changes, rendered)
        _refuse_overtaken(found, changes)
        own = structs.replace(found, changes=tuple(one for one in found.changes if one.path not in changes))
        verdict = hand_edits(held.root, own, tree_of, writer=this_gen(), discard=discard)
        told = dict.fromkeys(note for share in shares for note in share.notes)
        coming = sum(one.new is not None for one in found.changes)
        outcome = Outcome(
            plan=structs.replace(found, unchanged=count(rendered.values()) + len(scaffold()) - coming),
            rendered=dict(sorted(rendered.items())),
            seconds={name: spent for share in shares for name, spent in share.seconds.items()},
            edits=verdict.edits,
            notes=tuple(dict.fromkeys((*told, *verdict.notes, *plan_notes(found)))),
        )
        if not dry_run and not outcome.refused:
            write(held, found)
    return outcome


def _planned(
    root: Path, common: Mapping[str, bytes], changes: Mapping[str, SharedChange], rendered: Mapping[str, Rendered]
) -> Plan:
    """Compare with what stands: clusters are as their shards say, so that only what is shared is looked through."""
    refuse_misnamed(root)
    files = {path: one.new for path, one in changes.items() if one.new is not None}
    left = owned(names(root), [], _NO_TREE, NOTHING, whole=True, unchanged=rendered, gone=gone(root))
    going = tuple(path for path, one in changes.items() if one.new is None)
    return plan(root, {**files, **common}, scaffold(), structs.replace(left, files=going))


def _lock(shares: Sequence[Share]) -> LockFile:
    """Return the lock of all, without what none of them needs where all have said what they need. Raises UsageError
    where two have locked different digests.
    """
    kinds: dict[str, dict[str, str]] = {"charts": {}, "manifests": {}, "images": {}}
    for share in shares:
        for kind, entries in kinds.items():
            for name, found in getattr(share.lock, kind).items():
                if entries.setdefault(name, found) != found:
                    raise UsageError(
                        f"{name}: shards have locked different digests of it: {entries[name]} and {found}; somebody "
                        "moved what it names meanwhile: look at it, then vendor again"
                    )
    used = [share.used for share in shares if share.used is not None]
    if len(used) == len(shares):
        for kind in ("charts", "manifests"):
            kinds[kind] = {name: found for name, found in kinds[kind].items() if any(name in one for one in used)}
    return LockFile(**kinds)


def _refuse_foreign(root: Path, shares: Sequence[Share], common: Mapping[str, bytes]) -> None:
    """Raise UsageError where shards read something else than what stands here; gen.lock may be as they leave it: a join
    that was killed has written it.
    """
    here, lock = inputs_of(root), digest(on_disk(root)(LOCK))
    for one in shares:
        name = f"shard {Shard(one.number, one.of)}"
        if one.writer != this_gen():
            raise UsageError(
                f"{name} was rendered by gen {one.writer.version} of another build; "
                "make all with the gen that joins them"
            )
        if one.inputs != here or lock not in {one.before, digest(common[LOCK])}:
            raise UsageError(
                f"{name} was rendered of other cluster files, or of another gen.lock, than stand here; make it again"
            )


def _refuse_overtaken(found: Plan, changes: Mapping[str, SharedChange]) -> None:
    """Raise UsageError where a file was changed since a shard has looked at it: a person's edit would be lost."""
    for one in found.changes:
        if one.path in changes and digest(one.old) != changes[one.path].old:
            raise UsageError(f"{one.path}: was changed since its shard was rendered; make the shares again")

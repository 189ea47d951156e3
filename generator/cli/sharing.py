"""`gen render --shard I/N --to DIR` and `--from DIR`: a fleet rendered in parts, and the parts joined."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from generator.cli.options import discarded
from generator.cli.output import nothing_written, show_findings, without_accepted
from generator.cli.rendering import Options, rendered
from generator.cli.terminal import say, say_all, tell
from generator.errors import UsageError
from generator.model.plural import plural
from generator.repository.places import names
from generator.repository.shards import Shard

if TYPE_CHECKING:
    from generator.repository.outcome import Outcome
    from generator.repository.shares import Share


class Parts(NamedTuple):
    """What `--shard`, `--to` and `--from` say."""

    shard: str | None
    to: Path | None
    source: Path | None = None


def refuse_mixed(parts: Parts, chosen: Sequence[object], *, writes: bool) -> None:
    """Raise UsageError for options that say two things at once. `chosen` is what other options say of clusters."""
    if parts.source and (parts.shard or parts.to or any(chosen)):
        raise UsageError("--from joins all parts: give it without --shard, --to, --cluster and --since")
    if parts.to and (not parts.shard or any(chosen)):
        raise UsageError("--to is for a part of all clusters: give it with --shard, and without --cluster and --since")
    if parts.to and not writes:
        raise UsageError("--to writes one file and changes no other: leave out --check and --dry-run")
    if parts.shard and writes and not parts.to:
        raise UsageError(
            f"--shard {parts.shard}: a part alone cannot tell what no cluster uses any more; `--to DIR` keeps what it "
            "comes to, and `gen render --from DIR` writes all parts"
        )


def keep_part(root: Path, shard: Shard, to: Path, options: Options) -> int:
    """Render a part of the clusters, keep in `to` what it comes to, and say so. Returns the exit code."""
    from generator.repository.cluster_files import load  # noqa: PLC0415 - heavy
    from generator.repository.hand_edits import refusals  # noqa: PLC0415 - as above
    from generator.repository.shares import inputs_of, share_of  # noqa: PLC0415 - as above

    inputs, mine = inputs_of(root), shard.mine(names(root))
    loaded = load(root, mine) if mine else []
    if any(one.wrong for one in loaded):
        return nothing_written(loaded, options.output)
    outcome = rendered(root, loaded, {}, options._replace(dry_run=True))
    show_findings([*map(without_accepted, loaded)], options.output)
    say_all((*refusals(outcome.edits), *(f"note: {note}" for note in outcome.notes)), err=True)
    if not outcome.refused:
        kept(to, share_of(root, shard, inputs, outcome), options.output)
    return int(outcome.refused)


def kept(to: Path, share: "Share", output: str) -> None:
    """Write a share, and say so."""
    from generator.repository.shares import save  # noqa: PLC0415 - heavy

    file, changes = save(to, share), plural(len(share.changes), "file")
    say(f"{file}: {plural(len(share.rendered), 'cluster')}, {changes} to change", err=output != "text")


def joined(root: Path, source: Path, options: Options) -> "Outcome":
    """Write what all parts in `source` come to."""
    from generator.repository.joining import join  # noqa: PLC0415 - heavy
    from generator.repository.shares import load  # noqa: PLC0415 - as above

    return join(
        root,
        load(source),
        dry_run=options.dry_run,
        discard=discarded(root, options.discard),
        waiting=tell,
    )

"""What is worth a word in a plan beside its changes."""

from collections.abc import Iterator, Sequence

from generator.repository.hand_edits import several
from generator.repository.lines import same
from generator.repository.plan import Plan

NAMED = 10


def plan_notes(found: Plan) -> Iterator[str]:
    """Say which files differ only because Git converted them, and what goes unasked though gen may not have made it."""
    converted = [
        each.path
        for each in found.changes
        if each.old and each.new and each.old != each.new and same(each.old, each.new)
    ]
    if converted:
        yield (
            f"{several(converted)}: only the line endings differ, which Git converts (core.autocrlf): with "
            "`* text=auto eol=lf` in .gitattributes (`gen render` makes one where there is none), then "
            "`git add --renormalize .` and a commit, they stay as gen writes them"
        )
    if hollow := [each.path for each in found.changes if each.new is None and not each.old]:
        yield f"a render removes {_named(hollow)}: empty, and nothing that gen renders; `custom/` keeps what is yours"
    if found.temporaries:
        what = "named as gen names what it is writing; a killed run leaves such"
        yield f"a render removes {_named(found.temporaries)}: {what}"


def _named(paths: Sequence[str]) -> str:
    more = [f"and {len(paths) - NAMED} more"] if len(paths) > NAMED else []
    return ", ".join([*sorted(paths)[:NAMED], *more])

"""What may leave a cluster: Argo CD asks a person before it deletes some things, and commits say who approved them."""

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from generator.errors import UsageError
from generator.live.applications import Application, Resource
from generator.review.approvals import KEY, WHY, Approval
from generator.review.report import Report, report
from generator.review.sides import Wanted, both_sides


class Word(Struct, frozen=True, kw_only=True):
    """What commits say of what is to go: `approved`, `missing` (the approvals that nobody gave), and `untold`, the
    objects that are in neither commit.
    """

    approved: tuple[Approval, ...] = ()
    missing: tuple[str, ...] = ()
    untold: tuple[str, ...] = ()


class UnapprovedError(UsageError):
    """Something is to go that nobody approved."""

    exit_code = 3


def going(one: Application) -> list[Resource]:
    """Return what an Application is to delete and waits with for a person's word."""
    return [each for each in one.resources if each.leaving and each.unconfirmed]


def judged(root: Path, cluster: str, base: str, head: str) -> Report:
    """Return what `gen diff` says of one cluster between two commits. Raises UsageError."""
    wanted = Wanted(base=base, head=head, clusters=(cluster,))
    with both_sides(root, wanted) as sides:
        return report(sides, ())


def word(found: Report, cluster: str, leaving: Iterable[Resource]) -> Word:
    """Return what the commits between two states say of what is to go."""
    approved: list[Approval] = []
    missing: list[str] = []
    untold: list[str] = []
    for one in leaving:
        name = f"{cluster}/{'/'.join(filter(None, (one.kind, one.namespace, one.name)))}"
        open_yet = [text for text in (*found.unapproved, *found.unconfirmed) if _about(text) == name]
        given = [each for each in found.approved if _about(each.text) == name]
        missing += open_yet
        approved += given
        if not open_yet and not given:
            untold.append(name)
    return Word(approved=tuple(approved), missing=tuple(missing), untold=tuple(untold))


def _about(text: str) -> str:
    return text.partition(":")[2]


def refuse(found: Word, name: str, commit: str) -> None:
    """Raise UnapprovedError where something may not go."""
    if found.missing:
        trailers = "\n".join(f"  {KEY}: {text} {WHY}" for text in found.missing)
        raise UnapprovedError(
            f"{name}: at {commit[:9]} something leaves the cluster that nobody approved. To let it go, push a commit "
            f"whose message ends with, your reason for {WHY}:\n{trailers}\nTo keep it, put it back into the file"
        )
    if found.untold:
        raise UnapprovedError(
            f"{name}: {', '.join(found.untold)} is to go and is in no commit since the one that is deployed, so that "
            "none can approve it; look at it, then confirm it by hand as the bootstrap README says"
        )

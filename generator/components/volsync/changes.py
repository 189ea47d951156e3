"""What changes of the backups of volumes mean: a run that goes on keeps what it started with, the next one follows."""

from math import inf

from generator.components.volsync.names import GROUP
from generator.model.change import ABSENT, ChangeRule, Effect, FieldChange, ObjectChange
from generator.model.compared import stayed, turned_on
from generator.model.cron import parse

SOURCE = (f"{GROUP}/ReplicationSource",)
_DOCS = "https://volsync.readthedocs.io/en/stable/usage/restic/index.html"
_KEEP = "keep it as long as the data matters"


def _days(within: object) -> float:
    """Return for how many days backups are kept, 0 where nobody can tell: gen writes days alone."""
    text = str(within).removesuffix("d")
    return float(text) if text.isdigit() else 0


def shorter(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether backups are kept for less time, or nobody says for how long."""
    return field.new is ABSENT or _days(field.new) < _days(field.old)


def _gap(schedule: object) -> float:
    try:
        return parse(str(schedule)).longest_gap or inf
    except ValueError:
        return inf


def thinner(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether more time passes between two backups, or none is made any more."""
    return _gap(field.new) > _gap(field.old)


CHANGES = (
    ChangeRule(
        code="GEN-CHG-990",
        kinds=SOURCE,
        paths=("spec",),
        effect=Effect.NONE,
        reason="a run that goes on keeps what it started with; the next one follows",
        link=_DOCS,
    ),
    ChangeRule(
        code="GEN-CHG-991",
        kinds=SOURCE,
        on="removed",
        effect=Effect.DATA_LOSS,
        reason="the volume is backed up no more: what is written from now on is lost with it; the backups that are "
        "there stay, for who has the password of their repository",
        instead=_KEEP,
    ),
    ChangeRule(
        code="GEN-CHG-992",
        kinds=SOURCE,
        paths=("spec.trigger.schedule",),
        effect=Effect.DATA_LOSS,
        reason="more time passes between two backups: what was written since the last one is lost with the volume",
        instead="keep the schedule, unless so much work may be lost",
        when=thinner,
    ),
    ChangeRule(
        code="GEN-CHG-993",
        kinds=SOURCE,
        paths=("spec.paused",),
        effect=Effect.DATA_LOSS,
        reason="the volume is backed up no more: what is written from now on is lost with it",
        instead="say when it goes on, or take the backup out",
        when=turned_on,
    ),
    ChangeRule(
        code="GEN-CHG-994",
        kinds=SOURCE,
        paths=("spec.restic.retain.within",),
        effect=Effect.DATA_LOSS,
        reason="the next run takes out backups that would have stayed; their bucket keeps what was deleted for as long "
        "as it keeps old versions",
        instead="bring back first what is needed of them",
        link="https://restic.readthedocs.io/en/stable/060_forget.html",
        when=shorter,
    ),
    ChangeRule(
        code="GEN-CHG-995",
        kinds=SOURCE,
        paths=("spec.sourcePVC", "spec.restic.repository"),
        effect=Effect.MOVES,
        reason="the next run is of another volume, or goes to another repository; one that is not there is begun "
        "empty, and nobody looks after the former one",
        instead="a backup of another name beside it, until the former backups may go",
        when=stayed,
    ),
    ChangeRule(
        code="GEN-CHG-996",
        kinds=SOURCE,
        on="renamed",
        effect=Effect.MOVES,
        reason="a repository is begun for the new name and takes all of the volume once more; the former one stays",
    ),
)

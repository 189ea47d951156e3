"""Everything that is found in a built cluster, in words."""

from generator.build.objects import Built
from generator.rules.engine import examine
from validation.releases import ABOUT_VALUES, Judge, releases
from validation.values import no_file, schema_problems, unknown

JUDGES: tuple[Judge, ...] = (*ABOUT_VALUES, unknown, schema_problems, no_file)
"""What judges the values that charts are given."""

# Charts of which nobody has the values here.
UNSEEN_CHARTS = {"csi-nfs: csi-driver-nfs 4.13.4"}


def verdicts(built: Built) -> list[str]:
    """Return what all rules and judges find."""
    found = [f"{one.code} {one.object and one.object.component}: {one.about}: {one.message}" for one in examine(built)]
    charts = releases(built)
    return found + [one for judge in JUDGES for one in judge(built, charts) if one not in UNSEEN_CHARTS]

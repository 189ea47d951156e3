"""What changes of teams' namespaces open."""

from collections.abc import Iterator

from generator.components.kueue import TEAM
from generator.components.rule_files import read_rules
from generator.model.change import Beside, ObjectChange
from generator.model.fields import dig
from generator.model.opening import LEVELS, lowered_level


def frees_pods(change: ObjectChange, _beside: Beside) -> Iterator[str]:
    """Yield the team whose pods may do all on their nodes from now on."""
    labels = [dig(side, "metadata", "labels", TEAM) for side in (change.old, change.new)]
    if lowered_level(change) == LEVELS[0] and any(labels):
        yield f"pods of the team {labels[1] or labels[0]} may be privileged"


def leaves_the_team(change: ObjectChange, _beside: Beside) -> Iterator[str]:
    """Yield the team to which a namespace that stays belongs no more."""
    old, new = (dig(side, "metadata", "labels", TEAM) for side in (change.old, change.new))
    if change.old and change.new and old and not new:
        yield f"no policy for teams judges what is made here: it was of the team {old}"


OPENINGS = read_rules("tenants/openings.yaml", frees_pods, leaves_the_team)

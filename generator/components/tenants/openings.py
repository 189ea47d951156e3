"""What changes of teams' namespaces open."""

from collections.abc import Iterator

from generator.components.kueue import TEAM
from generator.model.change import Beside, ObjectChange
from generator.model.fields import dig
from generator.model.opening import LEVELS, OpeningRule, Opens, lowered_level


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


OPENINGS = (
    OpeningRule(
        code="GEN-CHG-760",
        kinds=("/Namespace",),
        opens=Opens.ADMISSION,
        gains=frees_pods,
        stops=True,
        reason="whoever may make a pod there owns the nodes it runs on, with the data and jobs of all other teams",
        instead="`security: baseline` of the team; what needs more runs in a namespace of the administrators",
        link="https://kubernetes.io/docs/concepts/security/pod-security-standards/",
    ),
    OpeningRule(
        code="GEN-CHG-761",
        kinds=("/Namespace",),
        opens=Opens.ADMISSION,
        gains=leaves_the_team,
        stops=True,
        reason="the admission policies choose the namespaces of teams by this label: without it pods there pass by the "
        "queues, and take what they like",
        instead="keep the label as long as somebody of the team may write there",
    ),
)

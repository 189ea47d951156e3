"""Rules about how teams and departments share what is borrowed."""

from collections.abc import Iterator

from generator.checks.places import entries, meant
from generator.model.cluster import Cluster
from generator.model.finding import Edit, Finding, Path, in_words, put, remove
from generator.model.rule import rule, warning
from generator.spec.near import suggest

DEPARTMENTS: Path = ("scheduling", "departments")


@rule("GEN-TEAM-030", "weights need fair sharing")
def weights_count(cluster: Cluster) -> Iterator[Finding]:
    """Without fair sharing who comes first keeps what is borrowed, whatever the weights: they would say what is not so.

    Wrong:
        teams: [{name: vision, weight: 2, ...}]
    Right:
        scheduling: {fairSharing: true}
        teams: [{name: vision, weight: 2, ...}]
    """
    found = [] if cluster.scheduling.fair_sharing else list(_weights(cluster))
    if found:
        at, who = found[0]
        edits = (Edit("put", ("scheduling", "fairSharing"), value=True),)
        message = f"{who} has a weight, and weights count only with fair sharing"
        yield Finding(at=at, message=message, fix=f"{in_words(edits)}, or remove all weights", edits=edits)


def _weights(cluster: Cluster) -> Iterator[tuple[Path, str]]:
    """Yield the weights that are not the one that is meant anyway, and whose they are."""
    for name, department in cluster.scheduling.departments.items():
        if department.weight != 1:
            yield (*DEPARTMENTS, name, "weight"), f"department {name}"
    for at, team in entries(cluster.teams, "teams"):
        if team.weight != 1:
            yield (*at, "weight"), f"team {team.name}"


@rule("GEN-TEAM-031", "departments of teams that exist")
def departments_known(cluster: Cluster) -> Iterator[Finding]:
    """Kueue would make one of the name, beside all others: its teams could neither borrow from them nor lend to them.

    Wrong:
        scheduling: {departments: {research: {}}}
        teams: [{name: vision, department: reserach, ...}]
    Right:
        scheduling: {departments: {research: {}}}
        teams: [{name: vision, department: research, ...}]
    """
    known = cluster.scheduling.departments
    for place, team in entries(cluster.teams, "teams"):
        name, at = team.department, (*place, "department")
        if name is not None and name not in known:
            message = f"team {team.name} is in department {name}, which is not described"
            fix = suggest(name, known, f"one of {', '.join(known)}" if known else "")
            edits = meant(at, name, known) if known else put((*DEPARTMENTS, name), {})
            also, cause = DEPARTMENTS if known else None, f"department {name} is not described"
            yield Finding(at=at, also=also, message=message, fix=fix, edits=edits, cause=cause)


@warning("GEN-TEAM-032", "departments have teams")
def departments_used(cluster: Cluster) -> Iterator[Finding]:
    """A department owns nothing itself: one without teams changes nothing, and may be a team's that was forgotten.

    Wrong:
        scheduling: {departments: {research: {}, product: {}}}
        teams: [{name: vision, department: research, ...}]
    Right:
        scheduling: {departments: {research: {}}}
        teams: [{name: vision, department: research, ...}]
    """
    used = {team.department for team in cluster.teams}
    for name in cluster.scheduling.departments:
        if name not in used:
            at = (*DEPARTMENTS, name)
            fix, edits = "put a team into it, or remove it", remove(at)
            yield Finding(at=at, key=True, message=f"no team is in department {name}", fix=fix, edits=edits)

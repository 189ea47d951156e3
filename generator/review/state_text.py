"""A cluster as it is, as a terminal shows it."""

from collections.abc import Iterator

from generator.model.plural import plural
from generator.review.html_report import borrows, facts, lends, room_of
from generator.review.pictures.leaves import caption
from generator.review.state import Shared, State, place_of


def lines(found: State) -> Iterator[str]:
    """Yield what is known of a cluster, in some thirty lines."""
    yield f"{found.cluster.name}: {', '.join(facts(found))}"
    yield from _listed("racks", (f"{one.name}: {plural(len(one.machines), 'node')}" for one in found.racks))
    yield from _listed("leaf switches", (f"{one.name}: {caption(one)}" for one in found.leaves))
    rooms = (f"{one.name}: {room_of(one)} ({one.about})" for one in found.stores)
    yield from _listed("storage", rooms)
    yield from _listed("quotas", (line for one in found.shared for line in _quotas(one)))
    members: dict[int, list[str]] = {}
    for name, wave in found.waves.items():
        members.setdefault(wave, []).append(name)
    yield from _listed("waves", (f"{wave}: {', '.join(sorted(members[wave]))}" for wave in sorted(members)))
    yield from _listed("Secrets to make", _secrets(found))
    yield from _listed(
        "findings", (f"{one.severity} {one.code} {place_of(one)}: {one.message}" for one in found.findings)
    )
    waivers = (f"{one.code} until {one.expires} by {one.owner}: {one.reason}" for one in found.cluster.waivers)
    yield from _listed("waivers", waivers)
    yield "  pictures, nodes, all Secrets and images: --output html; all of it as data: --output json"


def _listed(title: str, found: Iterator[str]) -> Iterator[str]:
    every = list(found)
    if every:
        yield f"  {title}"
    yield from (f"    {one}" for one in every[:MOST])
    if len(every) > MOST:
        yield f"    and {len(every) - MOST} more"


def _secrets(found: State) -> Iterator[str]:
    every = [secret for one in found.components for secret in one.secrets]
    for source in ("given", "generated"):
        if names := [f"{one.namespace}/{one.name}" for one in every if one.source == source]:
            yield f"{source}: {', '.join(names)}"


def _quotas(one: Shared) -> Iterator[str]:
    yield f"{one.pool}: {one.capacity} {one.what}, {one.free} owned by no team"
    for team in one.teams:
        yield f"  {team.name} owns {team.amount}, may borrow {borrows(team)}, lends {lends(team)}"


MOST = 20
"""Lines of one kind that are shown."""

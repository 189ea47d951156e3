"""A rehearsal as a terminal shows it."""

from collections.abc import Iterator

from generator.model.plural import plural
from generator.rehearsal.outcome import Wave
from generator.rehearsal.rehearsal import Rehearsal

HELD = {True: "held", False: "BROKEN", None: "not tried"}
NOTHING = "nothing happened: no object was refused or deleted, no pod replaced, no job stopped"


def lines(found: Rehearsal) -> Iterator[str]:
    """Yield the lines of a rehearsal."""
    yield f"{found.cluster}: {found.old} to {found.new}, on a twin of {plural(found.nodes, 'node')}"
    yield f"  what stands: {stood(found)}"
    if found.argocd:
        yield "  synced by Argo CD itself"
    yield f"  the change: {plural(found.objects[1], 'object')} applied"
    yield from (f"    {_wave(one)}" for one in found.waves)
    yield ""
    if not found.happened:
        yield NOTHING
    for one in found.happened:
        foretold = f"   [gen diff: {one.foretold}]" if one.foretold else ""
        yield f"{one.event:<14} {one.what}{foretold}"
        if one.why:
            yield f"{'':<14} {_short(one.why)}"
    if found.disagreements:
        yield ""
        yield "gen diff says otherwise"
        yield from (f"  {one}" for one in found.disagreements)
    if found.promises:
        yield ""
        yield "promises of the queues"
        yield from (
            f"  {HELD[one.held]:<10} {one.name}: {_short(one.seen)} ({one.seconds:g} s)" for one in found.promises
        )
    yield ""
    yield "played, and not proven"
    yield from (f"  {_short(one)}" for one in found.not_proven)
    yield ""
    yield "seconds: " + ", ".join(f"{phase} {seconds:g}" for phase, seconds in found.seconds.items())


def stood(found: Rehearsal) -> str:
    """Return what there was when the change came."""
    how = "as an earlier rehearsal left them" if found.kept else "applied"
    return f"{plural(found.objects[0], 'object')} {how}; {plural(found.jobs, 'job')} ran when the change came"


def _wave(one: Wave) -> str:
    hung = f"; {len(one.hung)} never ready" if one.hung else ""
    after = "" if one.began is None else f", from {one.began:.1f} s after the commit"
    return f"wave {one.number}: {', '.join(one.applications)}: {one.seconds:.1f} s{after}{hung}"


def _short(text: str) -> str:
    plain = " ".join(text.split())
    # An API server repeats the whole value of a field between its name and the reason.
    return plain if len(plain) <= 400 else f"{plain[:280]} ... {plain[-115:]}"

"""A simulation as a terminal shows it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from generator.model.plural import plural
from generator.rehearsal.simulation.course import Step
from generator.rehearsal.simulation.simulation import Simulation
from generator.rehearsal.simulation.timeline import Event, What

SHOWN = 4
"""Of those whose pods go at once, how many are named."""
TELLING = ("plan", "preflight", "which", "marks", "ready", "report")
"""Steps whose own words are shown: what the others do is told as it happens."""
WORDS = 60
"""Of these words, so many lines of a step."""


LEFT = (What.GONE, What.HELD, What.STOPPED)


def lines(found: Simulation) -> Iterator[str]:
    """Yield the lines of a simulation."""
    told = " ".join(f"{name}={value}" for name, value in found.parameters.items() if value)
    on = f"on a twin of {plural(found.nodes, 'node')} with {plural(found.jobs, 'job')} {found.source}"
    yield f"{found.cluster}: {found.operation}, {on}; nothing was changed in any cluster"
    yield f"  {told}"
    yield ""
    marks = [(one.begun, text) for one in found.steps for text in (f"{one.begun:7.1f} s  {_step(one)}", *_said(one))]
    marks += [(at, f"{at:7.1f} s  {text}") for at, text in _events(found.events)]
    yield from (text for _, text in sorted(marks, key=lambda one: one[0]))
    yield ""
    yield from _verdict(found)
    yield ""
    yield "assumed, and not proven"
    yield from (f"  {one}" for one in found.assumed)
    yield ""
    yield "seconds: " + ", ".join(f"{phase} {seconds:g}" for phase, seconds in found.seconds.items())


def _step(one: Step) -> str:
    return f"step {one.name}: {one.seconds:.1f} s" + (f", FAILED with code {one.code}" if one.code else "")


def _said(one: Step) -> Iterator[str]:
    """Yield what a step said itself, without the times; not what made it fail, which is told at the end."""
    said = [line.partition(" ")[2] for line in one.said if not line.endswith(one.why or "\n")]
    yield from (f"{'':11}  | {line}" for line in (said[:WORDS] if one.name in TELLING else ()))
    if one.name in TELLING and len(said) > WORDS:
        yield f"{'':11}  | ... and {len(said) - WORDS} lines more, which `--output json` has"


def _events(events: Sequence[Event]) -> Iterator[tuple[float, str]]:
    """Yield events in words; pods that go one after the other from a node in one line."""
    for (what, node), each in groupby(events, key=lambda one: (one.what, one.node)):
        some = [*each]
        if what == What.GONE and len(some) > 1:
            yield some[0].at, f"  {node:<12} {plural(len(some), 'pod')} evicted: {_some([one.to for one in some])}"
            continue
        for one in some:
            of = " of" if one.pod else ""
            words = " ".join(filter(None, (f"{one.what}{of}", one.to)))
            yield one.at, f"  {one.node:<12} {words}" + (f": {one.more}" if one.more else "")


def _some(names: Sequence[str]) -> str:
    names = [f"{name} ({count})" if count > 1 else name for name, count in Counter(names).items()]
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{', '.join(names[:SHOWN])}{more}"


def _verdict(found: Simulation) -> Iterator[str]:
    for one in found.refused:
        yield f"REFUSED by step {one.name}: {one.why or (one.said[-1] if one.said else 'it said nothing')}"
    for event in found.held:
        yield f"HELD UP    a pod of {event.to} on {event.node}: {event.more}"
    for name in found.waiting:
        yield f"WAITS      {name}: stopped, and not let in again by the end"
    if found.last:
        yield f"played up to the step {found.last}: what comes then needs the new machine or disk"
    if not found.loud and not any(one.what in LEFT for one in found.events):
        yield "no pod had to leave its node for it, and no gang was stopped"
    if not found.loud:
        yield "nothing stood against it"

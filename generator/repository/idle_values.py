"""Values of cluster files that do nothing in the charts that were vendored."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import UNSET

from generator.model.fields import dig
from generator.model.finding import Finding, Severity
from generator.model.rule import Explained
from generator.repository.cluster_files import Loaded
from generator.spec.reader import read

IDLE_VALUE = Explained(
    code="GEN-VEND-003",
    title="the chart knows the values that a cluster file gives it",
    severity=Severity.WARNING,
    text="""
    Helm passes over a key that no template reads: a mistyped one changes nothing, in silence. `gen vendor` looks for
    keys that the chart's own values do not name, and inflates the chart without them; where the same comes out, they
    do nothing. At what is not vendored, or was before a key was written, nobody has looked: a note says so.

    Wrong:
        components:
          kueue: {values: {controllerManager: {replica: 2}}}
    Right:
        components:
          kueue: {values: {controllerManager: {replicas: 2}}}
    """,
)


def with_idle_values(root: Path, one: Loaded) -> Loaded:
    """Return a cluster file with a warning for each of its chart values that does nothing. Raises UsageError for a file
    that cannot be read.
    """
    given = _given(one)
    return one.adding(_found(root, one, given)) if given else one


def unproven(root: Path, one: Loaded) -> Iterator[str]:
    """Say which values nobody has looked at: their charts are not vendored, or were without them. Raises as
    `with_idle_values`.
    """
    given = _given(one)
    if not given:
        return
    from generator.repository.vendored import on_disk, vendored  # noqa: PLC0415 - it imports what lays out

    known = vendored(on_disk(root), one.name, given)
    for name, values in sorted(given.items()):
        if name not in known:
            yield f"values of {name} are unproven until `gen vendor`: its chart is not vendored"
        elif keys := [".".join(map(str, steps)) for steps in _absent(values, _looked_at(known[name].inputs))]:
            yield f"new values of {name} are unproven until `gen vendor`: {', '.join(keys)}"


def _looked_at(inputs: bytes) -> Any:
    """Return the values with which a chart was vendored; those of a cluster file are the first release's."""
    return dig(read(inputs, "inputs.yaml").value, "releases", 0, "values")


def _absent(given: Mapping[str, Any], known: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the topmost keys that are not among the known ones."""
    for key, value in given.items():
        steps = (*above, key)
        if not isinstance(known, dict) or key not in known:
            yield steps
        elif isinstance(value, dict):
            yield from _absent(value, known[key], steps)


def _given(one: Loaded) -> dict[str, Mapping[str, Any]]:
    components, extras = (one.cluster.components, one.cluster.extras) if one.cluster else ({}, {})
    given = {name: each.values for name, each in components.items() if each.values}
    return given | {name: each.values for name, each in extras.items() if each.values}


def _found(root: Path, one: Loaded, given: Mapping[str, Mapping[str, Any]]) -> Iterator[Finding]:
    from generator.repository.vendored import on_disk, vendored  # noqa: PLC0415 - it imports what lays out

    for name, known in vendored(on_disk(root), one.name, given).items():
        for steps in () if known.found.idle is UNSET else known.found.idle:
            section = "extras" if one.cluster and name in one.cluster.extras else "components"
            above, key = dig(given[name], *steps[:-1]), steps[-1]
            if isinstance(above, dict) and key in above:  # else it was taken out since
                yield IDLE_VALUE.complete(
                    Finding(
                        message=f"the chart of {name} has no value {'.'.join(steps)}: it does nothing",
                        fix="take it out, or write it as `helm show values` of the chart has it",
                        file=one.document.file,
                        at=(section, name, "values", *steps),
                        key=True,
                    )
                )

"""Which components of the catalogue a running cluster has: each definition says what shows it."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, get_args

from msgspec import Struct

from generator.components import CATALOGUE, absent
from generator.components.component import Manifest
from generator.components.definition import Definition
from generator.live.identity import LABEL
from generator.model.cluster import Cluster
from generator.model.fields import dig, mapping
from generator.model.frameworks import Framework
from generator.model.versions import numbers
from generator.spec.scalars import inline
from generator.survey.notes import Notes
from generator.survey.seen import Seen, named, text

Plain: TypeAlias = dict[str, Any]
AT = "components"
RELEASE, SPACE = "meta.helm.sh/release-name", "meta.helm.sh/release-namespace"
"""Where Helm says of each object which release it is of: nobody need read its Secrets, which hold all values."""
CHART = "helm.sh/chart"


class Installed(Struct, frozen=True, kw_only=True):
    """A component that is there: its version as its chart's label or its image's tag has it, the Helm release that it
    is part of, if it is of one, and whether gen brought it.
    """

    name: str
    version: str
    release: str
    namespace: str
    ours: bool


def installed(seen: Seen) -> dict[str, Installed]:
    """Return the components that are there, by name."""
    ours = _applications(seen)
    return {name: found for name, one in CATALOGUE.items() if (found := _find(one, seen, ours))}


def _applications(seen: Seen) -> set[str]:
    """Return the names of the Applications that gen's root made."""
    found = seen.of_group("argoproj.io", "applications")
    return {named(one) for one in found if LABEL in mapping(dig(one, "metadata", "labels"))}


def _find(one: Definition, seen: Seen, ours: set[str]) -> Installed | None:
    shown = next(_objects(one, seen), None)
    if shown is None and one.name not in ours:
        return None
    manifest, tag = shown or ({}, "")
    annotations = mapping(dig(manifest, "metadata", "annotations"))
    return Installed(
        name=one.name,
        version=_chart_version(one, manifest) or tag,
        release=text(annotations, RELEASE),
        namespace=text(annotations, SPACE),
        ours=one.name in ours,
    )


def _objects(one: Definition, seen: Seen) -> Iterator[tuple[Manifest, str]]:
    """Yield what shows a component: workloads with the tags of their images, other objects without."""
    for ending in one.shown_by.images:
        yield from ((manifest, tag) for manifest, repository, tag in seen.images() if _ends(repository, ending))
    for what in one.shown_by.objects:
        yield from ((manifest, "") for manifest in seen.shown(what))
    if any(group in seen.groups for group in one.shown_by.definitions):
        yield {}, ""


def _ends(repository: str, ending: str) -> bool:
    """Tell whether a repository ends so: with whole parts of its path."""
    return f"/{repository}".endswith(f"/{ending.removeprefix('/')}")


def _chart_version(one: Definition, manifest: Manifest) -> str:
    """Return the version of the chart that a workload is from, as charts put it on what they make."""
    label = text(manifest, "metadata", "labels", CHART)
    charts = {chart.name for version in one.known for chart in version.charts}
    return next(
        (label.removeprefix(f"{name}-") for name in charts if re.match(rf"{re.escape(name)}-v?[0-9]", label)), ""
    )


def frameworks(found: Mapping[str, Installed], teams: Sequence[Plain], notes: Notes) -> list[str]:
    """Return the operators of jobs that are there: gen's policies for teams then know their jobs."""
    there = [name for name in get_args(Framework) if name in found]
    if there and not teams:
        notes.found(("frameworks",), f"{', '.join(there)}: there, and no team that has jobs; name them with the teams")
        return []
    return there


def components(cluster: Cluster, found: Mapping[str, Installed], seen: Seen, notes: Notes) -> Plain:
    """Return the section for a cluster whose other sections are settled: what somebody else installed stays his."""
    without = absent(cluster)
    _unasked([one for name, one in found.items() if name in without], without, notes)
    settings: Plain = {}
    for name in found.keys() - without.keys():
        if _made_from_others(name) and not found[name].ours:
            notes.found((AT,), f"{_spoken(found[name])} is there: the bootstrap of a file puts gen's own in its place")
        elif not found[name].ours:
            settings[name] = {"managed": False}
            notes.found((AT, name), _way_to(found[name]))
    if seen.blind:
        notes.unknown((AT,), "what is installed: you may not list Deployments, DaemonSets and StatefulSets")
    elif missing := sorted(name for name in CATALOGUE.keys() - found.keys() - without.keys()):
        notes.found((AT,), f"not there, and gen would install: {', '.join(missing)}; `managed: false` leaves one out")
    return dict(sorted(settings.items()))


def _unasked(found: Iterable[Installed], without: Mapping[str, str], notes: Notes) -> None:
    """Note what is there and not asked for by the file, those with one reason together."""
    ours: dict[str, list[str]] = {}
    for one in found:
        if one.ours:
            ours.setdefault(without[one.name], []).append(one.name)
        else:
            notes.found((AT,), f"{_spoken(one)} is there, and this file does not ask for one ({without[one.name]})")
    for reason, names in ours.items():
        asked = f"gen installed {', '.join(names)}, and this file does not ask for it yet ({reason})"
        notes.unknown((AT,), f"{asked}: rendered as it is, it takes them out")


def _made_from_others(name: str) -> bool:
    return not (CATALOGUE[name].make or CATALOGUE[name].make_with_jobs)


def _spoken(one: Installed) -> str:
    return f"{one.name} {one.version}".strip()


def _way_to(one: Installed) -> str:
    """Say what is there, and how gen would take it over."""
    known = [version.version for version in CATALOGUE[one.name].known]
    by = f"Helm release {one.release} in {one.namespace}" if one.release else "not installed by Helm"
    has = f"{_spoken(one)}, {by}"
    fits = any(numbers(one.version) and numbers(version) == numbers(one.version) for version in known)
    if not CATALOGUE[one.name].versions:
        return f"{one.name}: objects of somebody's own are there"
    if not fits:
        return f"{has}; gen knows {', '.join(known)}: move it there before gen takes it over"
    adopt = inline({"adopt": {"release": one.release, "namespace": one.namespace}})
    return f"{has}; gen would take it over with {adopt if one.release else 'this line removed'}"

"""Charts whose objects nobody has vendored: their versions and values are what can be compared of them."""

import posixpath
from collections.abc import Collection, Iterator
from typing import Any

from generator.build.difference import field_changes
from generator.layout.overlay import RELEASES, UPSTREAM
from generator.layout.upstream import INPUTS
from generator.model.change import ABSENT, CHART, ObjectChange
from generator.model.fields import dig, mapping, sequence
from generator.review.standing import Standing

VENDORED = f"{UPSTREAM}/{INPUTS}"


def chart_changes(old: Standing, new: Standing) -> list[ObjectChange]:
    """Return what differs in releases of charts, but for those that are vendored on both sides: of these the objects
    tell.
    """
    before, after = old.below(old.overlays), new.below(new.overlays)
    differing = {path for path in {*before, *after} if before.get(path) != after.get(path)}
    touched = {path.split("/")[0] for path in differing if path.split("/")[1:2] in ([RELEASES], [UPSTREAM])}
    return [
        change
        for component in sorted(touched)
        if not _vendored_on(component, before, after)
        for change in _changes(old, new, component)
    ]


def _vendored_on(component: str, *sides: Collection[str]) -> bool:
    """Tell whether a component is vendored on every side that has it."""
    having = [side for side in sides if f"{component}/kustomization.yaml" in side]
    return all(f"{component}/{VENDORED}" in side for side in having)


def _changes(old: Standing, new: Standing, component: str) -> Iterator[ObjectChange]:
    before, after = _releases(old, component), _releases(new, component)
    for name in sorted({*before, *after}):
        one, other = before.get(name), after.get(name)
        fields = tuple(field_changes(one or ABSENT, other or ABSENT))
        if fields:
            yield ObjectChange(
                on="added" if one is None else "removed" if other is None else "changed",
                kind=CHART,
                namespace=str((other or one or {}).get("namespace", "")),
                name=name,
                application=component,
                old=one or {},
                new=other or {},
                fields=fields,
                file=f"{(new if other else old).overlays}/{component}",
            )


def _releases(standing: Standing, component: str) -> dict[str, dict[str, Any]]:
    """Return each release by its name, from what Kustomize reads or from what was vendored."""
    releases = sequence(standing.application(component, VENDORED).get("releases"))
    vendored = [_release(one.get("chart"), one, one.get("values")) for one in map(mapping, releases)]
    charts = sequence(standing.application(component, f"{RELEASES}/kustomization.yaml").get("helmCharts"))
    found = [_release(one, one, _values(standing, component, one)) for one in map(mapping, charts)]
    return {one.pop("release"): one for one in (*vendored, *found)}


def _release(chart: Any, release: dict[str, Any], values: Any) -> dict[str, Any]:
    return {
        "release": str(release.get("releaseName") or release.get("name")),
        "chart": dig(chart, "name"),
        "repository": dig(chart, "repo") or dig(chart, "repository"),
        "version": str(dig(chart, "version")),
        "namespace": release.get("namespace"),
        "values": mapping(values),
    }


def _values(standing: Standing, component: str, chart: dict[str, Any]) -> Any:
    file = chart.get("valuesFile")
    own = standing.application(component, posixpath.join(RELEASES, str(file))) if file else {}
    return {**own, **mapping(chart.get("valuesInline"))}

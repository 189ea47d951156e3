"""Charts and manifests to objects, by the pinned Helm, twice: a chart that comes out differently is refused."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import structs

from generator.build.go_yaml import UnreadableError
from generator.components.component import Manifest, Release
from generator.errors import CommandError, UsageError
from generator.layout.emit import emit
from generator.layout.upstream import Inputs
from generator.model.served import api_list, minor_of
from generator.process import run
from generator.upstream.documents import documents
from generator.upstream.findings import RefusedError
from generator.upstream.helm import helm, hermetic, words
from generator.upstream.idle_values import idle_values
from generator.upstream.split import Part, called, split


def of_chart(chart: Path, release: Release, inputs: Inputs, given: Manifest) -> Part:
    """Return what a chart makes of a release; the cluster file has `given` some of its values. Raises RefusedError."""
    origin = f"chart {release.chart.name} {release.chart.version}"
    first, second = _template(chart, release, inputs, origin), _template(chart, release, inputs, origin)
    part = _split(first, origin, release)
    unequal = _unequal(part, _split(second, origin, release)) if first != second else []
    if unequal:
        raise RefusedError(
            f"{origin}: differs each time ({', '.join(unequal)}): random values or the time in templates",
            "give what it makes up as values, or have its Secret declared and dropped",
        )

    def same(values: Manifest) -> bool:
        try:
            text = _template(chart, structs.replace(release, values=values), inputs, origin)
        except RefusedError:  # the chart asks for it
            return False
        return not _unequal(part, _split(text, origin, release))

    idle = idle_values(chart, release.values, given, same)
    told = (f"{origin} has no value {'.'.join(steps)}: it does nothing" for steps in idle)
    return structs.replace(part, idle=idle, notes=(*part.notes, *told))


def _template(chart: Path, release: Release, inputs: Inputs, origin: str) -> str:
    """Return everything that a chart makes of a release: CRDs, hooks and tests too."""
    with hermetic() as env:
        values = Path(env["HOME"], "values.yaml")
        values.write_text(emit(release.values), encoding="utf-8")
        apis = sorted({*api_list(minor_of(inputs.kubernetes)), *inputs.apis})
        argv = [helm(), "template", release.name, str(chart), "--namespace", release.namespace]
        argv += ["--values", str(values), "--kube-version", inputs.kubernetes, "--include-crds"]
        argv += ["--api-versions", ",".join(apis)]
        try:
            return run(argv, env=env)
        except UsageError as error:
            what = f"helm template {release.name} {release.chart.name} --version {release.chart.version}"
            said = words(error.output, env["HOME"]) if isinstance(error, CommandError) else "it did not end"
            fix = "Helm's words name the template; change the component's `values`, or take another version"
            raise RefusedError(f"{origin}: `{what}` failed: {said}", fix) from None


def of_manifest(file: Path, url: str, inputs: Inputs) -> Part:
    """Return the objects of an upstream manifest. Raises RefusedError."""
    decided = inputs.secrets or {}
    secrets = decided | {f"{inputs.namespace}/{name}": decision for name, decision in decided.items()}
    return _split(file.read_bytes().decode(errors="replace"), f"manifest {url}", None, secrets)


def _split(text: str, origin: str, release: Release | None, secrets: Mapping[str, str] | None = None) -> Part:
    try:
        return split(documents(text), origin, release, secrets)
    except UnreadableError as error:
        raise RefusedError(f"{origin}: cannot be read as YAML: {error}", "report it to its publisher") from None


def _unequal(first: Part, second: Part) -> list[str]:
    """Name the objects that differ, those that are only in one of the two as well. A Secret that is dropped or emptied
    is the same both times, whatever was in it.
    """
    one, other = _named(first), _named(second)
    return sorted(name for name in {*one, *other} if one.get(name) != other.get(name))


def _named(part: Part) -> dict[str, object]:
    return {called(item.manifest): item.manifest for item in (*part.items, *part.definitions)}

"""Charts and manifests of programs that a twin runs, where the repository has not vendored them: they lie beside the
programs.
"""

import shutil
from pathlib import Path

from generator.build.cache import remembered
from generator.build.kustomize import program as kustomize
from generator.build.manifests import documents
from generator.components.component import Manifest
from generator.layout.emit import emit
from generator.model.fields import sequence
from generator.process import run
from generator.rehearsal.twin.running import program

BESIDE = {"kueue": "kueue", "volcano": "vc-scheduler"}
"""Components, by the program beside which `tools/real.py` keeps the chart."""
ARGO_CD = {"/manifests/install.yaml": "install.yaml", "/manifests/ha/install.yaml": "ha-install.yaml"}
"""Manifests of Argo CD by the end of their address, as they lie beside its program."""


def inflate(copy: Path, cluster: str, *, argocd: bool = False) -> list[str]:
    """Inflate, in the laid out folder `copy`, charts that are at hand and not vendored, and with `argocd` the manifest
    of Argo CD; return what there is to say of each. Raises UsageError.
    """
    overlays = copy / "overlays" / cluster
    notes = [note for name in BESIDE for note in _inflate(overlays / name / "releases", name)]
    return [*notes, *(_install(overlays / "argo-cd" / "releases") if argocd else ())]


def _install(releases: Path) -> list[str]:
    file = releases / "kustomization.yaml"
    (content,) = documents(file.read_bytes()) if file.is_file() else [{}]
    addresses = [str(one) for one in sequence(content.get("resources"))]
    found = {one: name for one in addresses for end, name in ARGO_CD.items() if one.endswith(end)}
    beside = Path(program("argocd")).resolve().parent
    if not found or not all((beside / name).is_file() for name in found.values()):
        return []
    for name in found.values():
        shutil.copyfile(beside / name, releases / name)
    file.write_text(emit(content | {"resources": [found.get(one, one) for one in addresses]}))
    return [f"argo-cd: not vendored; its manifest came from {beside.name} (wanted is {', '.join(found)})"]


def _inflate(releases: Path, component: str) -> list[str]:
    file = releases / "kustomization.yaml"
    (content,) = documents(file.read_bytes()) if file.is_file() else [{}]
    chart = Path(program(BESIDE[component])).resolve().parent / "chart"
    if not content.get("helmCharts") or not chart.is_dir():
        return []
    built = remembered(_inputs(releases, chart), lambda: _built(releases, content, chart), list[Manifest])
    (releases / "inflated.yaml").write_text("---\n".join(map(emit, built)))
    rest = {key: value for key, value in content.items() if key not in {"helmCharts", "patches"}}
    file.write_text(emit(rest | {"resources": [*sequence(rest.get("resources")), "inflated.yaml"]}))
    version = content["helmCharts"][0]["version"]
    return [f"{component}: not vendored; its chart came from {chart.parent.name} (wanted is {version})"]


def _inputs(releases: Path, chart: Path) -> list[bytes]:
    files = [file for folder in (releases, chart) for file in sorted(folder.rglob("*")) if file.is_file()]
    return [f"inflated {chart}".encode(), *(part for file in files for part in (file.name.encode(), file.read_bytes()))]


def _built(releases: Path, content: Manifest, chart: Path) -> list[Manifest]:
    """Build with the chart where Kustomize looks before it asks the network."""
    for one in content["helmCharts"]:
        shutil.copytree(chart, releases / "charts" / f"{one['name']}-{one['version']}" / one["name"])
    words = [*kustomize(), "--enable-helm", f"--helm-command={program('helm')}", str(releases)]
    return documents(run(words))

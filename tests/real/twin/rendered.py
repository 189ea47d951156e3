"""What Argo CD would apply: a rendered repository's overlays, with charts that lie in the cache instead of the network.

Nothing else is put in the way of Kustomize and Helm, so that a chart that does not take its values fails here.
"""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from apiserver import programs, sources

from tools import need_kustomize

Object = dict[str, Any]
CHARTS = {"kueue": "kueue", "volcano": "vc-scheduler"}
"""Charts, by the program beside which `tools/real.py` keeps them."""
SOURCES = {
    "cert-manager": "cert-manager",
    "jobset": "jobset",
    "kubeflow-trainer": "trainer",
    "node-feature-discovery": "node-feature-discovery",
}
"""Charts, by the source of `tools/sources.py`."""


class Rendered:
    """Components of a cluster in a copy of a rendered repository. All are built at once, beside what else is done."""

    def __init__(self, repository: Path, cluster: str, folder: Path, components: tuple[str, ...]) -> None:
        for name in ("base", "workflows", f"overlays/{cluster}"):
            if (repository / name).exists():  # a cluster without operations has no workflows
                shutil.copytree(repository / name, folder / name)
        self.builds = {name: Build(folder / "overlays" / cluster / name) for name in components}

    def objects(self, component: str) -> list[Object]:
        """Return what a component consists of."""
        return self.builds[component].objects()

    def stop(self) -> None:
        """End what still runs."""
        for one in self.builds.values():
            one.process.kill()
            one.process.wait()


class Build:
    """Kustomize at work on a folder."""

    def __init__(self, overlay: Path) -> None:
        place(overlay / "releases")
        (helm,) = programs("helm")
        command = [*need_kustomize(), "--enable-helm", f"--helm-command={helm}", str(overlay)]
        self.out, self.err = overlay / "objects.out", overlay / "errors.out"
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err)

    def objects(self) -> list[Object]:
        """Return what was built, once it is; the test fails with Kustomize's words where it could not be."""
        assert self.process.wait(300) == 0, self.err.read_text()
        return [one for one in yaml.load_all(self.out.read_bytes(), yaml.CSafeLoader) if one]


def place(releases: Path) -> None:
    """Put charts and manifests where Kustomize looks before it asks the network."""
    file = releases / "kustomization.yaml"
    if not file.exists():
        return
    said = yaml.load(file.read_bytes(), yaml.CSafeLoader)
    for chart in said.get("helmCharts", []):
        target = releases / "charts" / f"{chart['name']}-{chart['version']}" / chart["name"]
        shutil.copytree(_chart(chart["name"]), target, dirs_exist_ok=True)
        _alone(target / "Chart.yaml")
    for number, address in enumerate(said["resources"]):
        if address.startswith("https://"):
            shutil.copy(_manifest(releases.parent.name, address), releases / f"{number}.yaml")
            said["resources"][number] = f"{number}.yaml"
    file.write_text(yaml.safe_dump(said))


def _chart(name: str) -> Path:
    if name in SOURCES:
        return sources(SOURCES[name])
    (program,) = programs(CHARTS[name])
    folder = Path(program).resolve().parent / "chart"
    if not folder.exists():
        pytest.fail(f"no chart beside {program}: run `python tools/real.py {CHARTS[name]}`")
    return folder


def _alone(about: Path) -> None:
    """Leave out the charts below a chart, which gen turns off and no module holds: Helm would miss them."""
    said = yaml.load(about.read_bytes(), yaml.CSafeLoader)
    if said.pop("dependencies", None):
        about.write_text(yaml.safe_dump(said))


def _manifest(component: str, address: str) -> Path:
    """Return the file that an address leads to, by the longest of its ends that the component's source has."""
    parts = address.split("/")
    ends = (sources(component).joinpath(*parts[start:]) for start in range(3, len(parts)))
    return next(one for one in ends if one.is_file())

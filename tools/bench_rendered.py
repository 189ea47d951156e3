"""What the bench measures of checks of built objects: both reference clusters vendored, and a folder of plain ones."""
# ruff: noqa: INP001 - lies beside the script

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import yaml
from kustomize import command as kustomize
from measuring import GEN, ROOT, SOURCE, Row, Sample, Times, median, repository, run, timed
from real import BIN

OBJECTS = 500
NATIVE = ("v1", "apps/v1", "batch/v1", "networking.k8s.io/v1", "policy/v1", "rbac.authorization.k8s.io/v1")
"""API versions of Kubernetes' own, of which both programs have the schemas."""
FOUND = (0, 1)
"""Statuses of a check that was made: it may find something."""


def rendered(folder: Path, runs: int, anew: Sample) -> Iterator[Row]:
    """Both reference clusters, all vendored, with what was built before remembered and forgotten."""
    words, told = "of ml50 and a30-bench, all vendored", [GEN, "check", "--rendered"]
    cache = folder / "cache"
    env = {**os.environ, "XDG_CACHE_HOME": str(cache), "GEN_HELM": str(BIN / "helm"), "GEN_KUSTOMIZE": _kustomize()}
    place = folder / "all"
    if why := _vendored(place, env):
        yield Row(f"`gen check --rendered` {words}", instead=f"not measured: {why}")
        return
    few = max(1, runs // 3)
    cold = median(told, place, runs=few, before=lambda: shutil.rmtree(cache, ignore_errors=True), env=env, fine=FOUND)
    yield timed(f"`gen check --rendered` {words}, cold", cold, _times(36, anew, "8 s"))
    warm = median(told, place, runs=runs, env=env, fine=FOUND)
    yield timed(f"`gen check --rendered` {words}, warm", warm, _times(7, anew, "1.6 s"))
    images = median([GEN, "images", "--check"], place, runs=runs, env=env, fine=FOUND)
    yield timed(f"`gen images --check` {words}, warm", images, _times(4, anew, "0.9 s"))


def _times(most: float, anew: Sample, fast: str) -> Times:
    return Times(most, anew, "an unchanged render of one", fast)


def _kustomize() -> str:
    return " ".join((kustomize() or ["kustomize"])[:1])


def _vendored(place: Path, env: dict[str, str]) -> str:
    """Make a repository of both clusters with all that the tests' shop sells vendored; return why not, if it cannot."""
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/real")]
    import pytest  # noqa: PLC0415 - as the shop
    from chartshop import serving  # noqa: PLC0415 - what tests have, for this only
    from wholeshop import whole_shop  # noqa: PLC0415 - as above

    with ExitStack() as stack:
        try:
            shop = whole_shop()
        except (pytest.skip.Exception, pytest.fail.Exception) as error:
            return str(error)
        stack.enter_context(serving(shop))
        repository(place, {name: _sold(name, shop.url) for name in ("ml50", "a30-bench")})
        for verb in ("render", "vendor"):
            run([GEN, verb], place, env)
    return ""


def _sold(name: str, url: str) -> str:
    """Return a reference cluster whose charts and manifests come from the shop."""
    file: dict[str, Any] = yaml.safe_load((ROOT / f"clusters/{name}/cluster.yaml").read_bytes())
    file["spec"]["site"] |= {"charts": url, "manifests": f"{url}/m"}
    file["spec"]["repository"]["url"] = "https://git.example.org/clusters.git"
    return yaml.safe_dump(file, sort_keys=False)


def folders(folder: Path, runs: int) -> Iterator[Row]:
    """Judge a folder of plain objects, as kubeconform does with as many workers as gen may use."""
    place = _objects(folder)
    own = median([GEN, "check", "--rendered", place.name], folder, runs=runs, fine=FOUND)
    work = f"`gen check --rendered PATH` over {OBJECTS} objects"
    if not (BIN / "kubeconform").exists():
        yield timed(work, own)
        yield Row("`kubeconform -n 2` over them", instead="not measured: run `python tools/real.py kubeconform`")
        return
    other = median([*_kubeconform(folder / "schemas"), place.name], folder, runs=runs, fine=FOUND)
    yield timed(work, own, Times(2, other, "kubeconform"))
    yield timed("`kubeconform -n 2` over them", other)


def _kubeconform(place: Path) -> list[str]:
    """Return the command: strict, with the schemas that gen has, of each kind in a file of its own: it reads no others.
    Raises SystemExit where it does not find them, and would have nothing to do.
    """
    import kubernetes_validate  # noqa: PLC0415 - of the extra `rendered`

    given = Path(kubernetes_validate.__file__).with_name("kubernetes-json-schema") / "v1.35.0-local-strict"
    definitions: dict[str, Any] = json.loads((given / "_definitions.json").read_bytes())["$defs"]
    place.mkdir()
    for file in given.glob("*-v1.json"):
        (place / file.name).write_text(_alone(json.loads(file.read_bytes()), definitions))
    where = f"{place}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"
    command = [str(BIN / "kubeconform"), "-n", "2", "-strict", "-summary", "-schema-location", where]
    told = subprocess.run([*command, "objects"], cwd=place.parent, capture_output=True, text=True, check=False).stdout
    if f"Valid: {OBJECTS}," not in told:
        sys.exit(f"kubeconform does not find all {OBJECTS} objects right: {told[-300:]}")
    return command


def _alone(schema: dict[str, Any], definitions: dict[str, Any]) -> str:
    """Return a schema with all that it refers to."""
    used: dict[str, Any] = {}
    open_ = [schema]
    while open_:
        for name in set(re.findall(r'#/\$defs/([^"]+)"', json.dumps(open_.pop()))) - {*used}:
            used[name] = definitions[name]
            open_.append(definitions[name])
    own = {key: value for key, value in schema.items() if key != "$id"}
    return json.dumps({**own, "$defs": used}).replace("/api/_definitions.json#", "#")


def _objects(folder: Path) -> Path:
    """Write objects of Kubernetes' own kinds as ml50 has them, each several times under other names."""
    source = repository(folder / "objects-of", {"ml50": SOURCE})
    run([GEN, "render"], source)
    files = sorted((source / "overlays").rglob("*.yaml")) + sorted((source / "base").rglob("*.yaml"))
    made = [yaml.load(file.read_bytes(), yaml.CSafeLoader) for file in files]
    native = [one for one in made if one.get("apiVersion") in NATIVE]
    place = folder / "objects"
    place.mkdir()
    for number, one in enumerate(islice(cycle(native), OBJECTS)):
        named = {**one, "metadata": {**one["metadata"], "name": f"{one['metadata']['name']}-{number}"}}
        (place / f"{number}.yaml").write_text(yaml.dump(named, Dumper=yaml.CSafeDumper, sort_keys=False))
    return place

"""`gen bootstrap` to its end: Argo CD itself installs the rest, and another bootstrap finds all as it is in Git."""

import contextlib
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import yaml

if TYPE_CHECKING:
    from bootstrapped import Bare

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin

Object = dict[str, Any]
PATIENCE = 600.0
DEFINITIONS = "**/customresourcedefinition-*.yaml"


class Watched(NamedTuple):
    """A cluster that Argo CD has installed, and what `gen bootstrap --apply` said and ended with."""

    bare: "Bare"
    said: str
    code: int


def prepare(bare: "Bare") -> None:
    """Leave out what nobody serves here, and have syncs tried again soon."""
    from argocd.fixtures import ANY_API, patch

    overlay, applications = bare.tree / "overlays/small/kueue", bare.file.parent / "argocd"
    patch(overlay, {"target": {"kind": "APIService"}, "patch": yaml.safe_dump({"$patch": "delete", **ANY_API})})
    backoff = {"duration": "2s", "factor": 1, "maxDuration": "2s"}
    often = [{"op": "replace", "path": "/spec/syncPolicy/retry/backoff", "value": backoff}]
    patch(applications, {"target": {"kind": "Application"}, "patch": yaml.safe_dump(often)})


def define(bare: "Bare") -> None:
    """Have all definitions before Argo CD runs: it reads every kind anew for each that comes."""
    from argocd.kinds import definitions, wanted

    theirs = [yaml.safe_load(file.read_bytes()) for file in bare.tree.glob(DEFINITIONS)]
    kinds = wanted([bare.tree / "overlays/small", bare.tree / "base"])
    for one in [*theirs, *definitions(kinds)]:
        if bare.api.get(bare.api.path(one, named=True)) is None:
            path = f"{bare.api.path(one, named=True)}?fieldManager=argocd-controller&force=true"
            assert bare.api.request("PATCH", path, one)[0] in {200, 201}


@pytest.fixture(scope="module")
def watched() -> Iterator[Watched]:
    from argocd.fixtures import STARTS_FROM
    from argocd.programs import argo_cd
    from bootstrapped import bare
    from twin.kueue import kueue

    with bare(prepare) as made, contextlib.ExitStack() as stack:
        begun = made.bootstrap("--apply", "--no-wait")
        assert begun.returncode == 0, begun.stdout + begun.stderr
        define(made)
        stack.enter_context(argo_cd(made.api))
        with made.started("--apply") as process:
            end, running = time.monotonic() + PATIENCE, False
            while process.poll() is None and time.monotonic() < end:
                if not running and all(map(made.api.get, STARTS_FROM)):
                    stack.enter_context(kueue(made.api.real))
                    running = True
                time.sleep(0.5)
            process.terminate()
            out, err = process.communicate()
        yield Watched(made, out + err, process.returncode)


def test_the_waves_are_watched_to_their_end(watched: Watched) -> None:
    from argocd.argo import sync

    assert watched.code == 0, watched.said
    found = {one["metadata"]["name"]: sync(one) for one in watched.bare.api.items(APPLICATIONS)}
    assert set(found.values()) == {"Synced"}
    assert {"root", "argo-cd", "kueue", "volcano", "tenants"} <= found.keys()


APPLICATIONS = "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications"


def test_each_wave_is_told_when_it_is_there(watched: Watched) -> None:
    lines = [line for line in watched.said.splitlines() if line.endswith("synced and healthy")]
    assert lines[-1].split()[-4:] == ["root:", "synced", "and", "healthy"] or "root:" in watched.said
    for name in ("namespaces", "argo-cd", "kueue", "queues", "tenants"):
        assert any(f", {name}: synced and healthy" in line for line in lines), watched.said


def test_after_argo_cd_took_over_nothing_is_left_to_do(watched: Watched) -> None:
    """Its annotations on each object count for nothing, and are not taken away."""
    told = watched.bare.bootstrap()
    assert told.returncode == 0, told.stdout
    again = watched.bare.bootstrap("--apply")
    assert again.returncode == 0, again.stdout + again.stderr
    assert "applied" not in again.stdout
    annotations = watched.bare.api.get("/api/v1/namespaces/vision")["metadata"]["annotations"]
    assert annotations["argocd.argoproj.io/tracking-id"].startswith("namespaces:")

"""`gen bootstrap` to its end: Argo CD itself installs the rest, and another bootstrap finds all as it is in Git."""

import contextlib
import time
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import pytest
import yaml

if TYPE_CHECKING:
    from bootstrapped import Bare

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin

PATIENCE = 600.0
QUEUES = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"
APPLICATIONS = "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications"
WAITED_FOR = ("wave 0, namespaces", "wave 1, queues", "wave 2, tenants")
"""Those that others wait for, and who waits for them. Nobody waits for the last, not even root."""
MADE = "2026-01-01T00:00:00Z"


class Watched(NamedTuple):
    """A cluster that Argo CD has installed, and what `gen bootstrap --apply` said and ended with."""

    bare: "Bare"
    said: str
    code: int


def prepare(bare: "Bare") -> None:
    """Have syncs tried again soon."""
    from argocd.fixtures import patch

    backoff = {"duration": "2s", "factor": 1, "maxDuration": "2s"}
    often = [{"op": "replace", "path": "/spec/syncPolicy/retry/backoff", "value": backoff}]
    patch(bare.file.parent / "argocd", {"target": {"kind": "Application"}, "patch": yaml.safe_dump(often)})


def define(bare: "Bare") -> None:
    """Have the definitions of what somebody else installs here."""
    from argocd.kinds import definitions, wanted

    for one in definitions(wanted([bare.tree / "overlays/small", bare.tree / "base"])):
        if bare.api.get(bare.api.path(one, named=True)) is None:
            bare.api.apply(one)
            bare.api.wait(one["metadata"]["name"], partial(bare.api.established, one))


def admit(bare: "Bare") -> None:
    """Say of each queue what Kueue would."""
    ready = {"type": "Active", "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": MADE}
    status, found = bare.api.request("GET", QUEUES)  # a definition that just came is busy for a while
    for one in found["items"] if status == 200 else ():
        if not one.get("status"):
            path, change = f"{QUEUES}/{one['metadata']['name']}/status", {"status": {"conditions": [ready]}}
            assert bare.api.request("PATCH", path, change, patch="merge-patch+json")[0] == 200


@pytest.fixture(scope="module")
def watched() -> Iterator[Watched]:
    from argocd.programs import argo_cd
    from bootstrapped import bare

    with bare(prepare, without=("kueue", "volcano")) as made, contextlib.ExitStack() as stack:
        begun = made.bootstrap("--apply", "--no-wait")
        assert begun.returncode == 0, begun.stdout + begun.stderr
        define(made)
        stack.enter_context(argo_cd(made.api))
        with made.started("--apply") as process:
            end = time.monotonic() + PATIENCE
            while process.poll() is None and time.monotonic() < end:
                admit(made)
                time.sleep(0.5)
            process.terminate()
            out, err = process.communicate()
        yield Watched(made, out + err, process.returncode)


def test_the_waves_are_watched_to_their_end(watched: Watched) -> None:
    from argocd.argo import sync

    assert watched.code == 0, watched.said
    found = {one["metadata"]["name"]: sync(one) for one in watched.bare.api.items(APPLICATIONS)}
    assert set(found.values()) == {"Synced"}
    assert {"root", "namespaces", "argo-cd", "queues", "tenants"} <= found.keys()


def test_each_wave_is_told_when_it_is_there(watched: Watched) -> None:
    there = [line.split("  ")[-1].strip() for line in watched.said.splitlines() if line.endswith("synced and healthy")]
    waited_for = [line for line in there if line.split(": ")[0] in WAITED_FOR]
    assert [line.split(": ")[0] for line in waited_for] == list(WAITED_FOR), watched.said
    assert "root: synced and healthy" in there


def test_after_argo_cd_took_over_nothing_is_left_to_do(watched: Watched) -> None:
    """Its annotations on each object count for nothing, and are not taken away."""
    told = watched.bare.bootstrap()
    assert told.returncode == 0, told.stdout
    again = watched.bare.bootstrap("--apply")
    assert again.returncode == 0, again.stdout + again.stderr
    assert "applied" not in again.stdout
    annotations = watched.bare.api.get("/api/v1/namespaces/vision")["metadata"]["annotations"]
    assert annotations["argocd.argoproj.io/tracking-id"].startswith("namespaces:")

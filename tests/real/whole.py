"""A cluster from bare nodes to where Argo CD has installed all of it: `gen render`, `gen vendor`,
`gen bootstrap --apply`, then Argo CD's own programs.
"""

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeAlias

import yaml
from argocd.argo import APPLICATIONS, described, sync, wave
from argocd.fixtures import Installation, patch
from argocd.programs import argo_cd
from bootstrapped import Bare, bare
from chartshop import Shop
from reference import ROOT
from sitestore import entry, install, operator
from standins import Acting, StandIns
from twin.plane import Plane
from wholeshop import OPERATORS, operators_definitions

from generator.components import compose
from generator.live.running import ARGO_CD

Object = dict[str, Any]
Also: TypeAlias = Callable[[Plane, contextlib.ExitStack], Acting]
PATIENCE = 1500.0
"""Seconds for a whole installation, which takes some six minutes on two cores that others use as well."""
RESYNC = 600
"""Seconds between comparisons that nothing asks for: with so many Applications they would never end."""
AT_ONCE = 6
"""Applications that are compared at once where a test asks for it."""
REFRESH = "argocd.argoproj.io/refresh"
HARD, AGAIN = ({"metadata": {"annotations": {REFRESH: how}}} for how in ("hard", "normal"))
TOO_SLOW = ("request did not complete within requested timeout", "Client.Timeout exceeded while awaiting headers")


class Whole:
    """A cluster that Argo CD installs, and what was seen of it since."""

    def __init__(self, bare: Bare, standins: StandIns) -> None:
        self.bare, self.standins = bare, standins
        self.seen: set[str] = set()
        self.too_early: list[str] = []
        self.said, self.code = "", -1

    def install(self) -> None:
        """Let `gen bootstrap --apply` watch the waves to their end."""
        with self.bare.started("--apply") as process:
            end = time.monotonic() + PATIENCE
            while not self._heard(process):
                self.look()
                if time.monotonic() > end:
                    process.terminate()
        self.code = process.returncode

    def _heard(self, process: "subprocess.Popen[str]") -> bool:
        """Tell whether a program has ended; until then its words are taken, so that it never waits for that."""
        try:
            self.said = "".join(process.communicate(timeout=0.1))
        except subprocess.TimeoutExpired:
            return False
        return True

    def look(self) -> dict[str, Object]:
        """Take down which Applications come before those are well that they wait for; return all."""
        self.standins.round()
        found = self.applications()
        for name in [name for name, one in found.items() if _timed_out(one) and not _asked(one)]:
            self._ask(name, AGAIN)
        for name in found.keys() - self.seen - {"root"}:
            self.too_early += [f"{name} before {other}" for other in Installation.unwell(found, wave(found[name]))]
            self.seen.add(name)
        time.sleep(0.5)
        return found

    def applications(self) -> dict[str, Object]:
        """Return all Applications by name."""
        return {one["metadata"]["name"]: one for one in self.bare.api.items(APPLICATIONS)}

    def refresh(self) -> None:
        """Let Argo CD build and compare everything anew, and wait until it has: a few at a time, as the API server ends
        each dry run of a definition after 34 seconds (its `requestTimeoutUpperBound`). Root comes at the end: it
        compares the Applications themselves, which a refresh changes for a moment.
        """
        others = sorted(self.applications().keys() - {"root"})
        for names in (*(others[at : at + AT_ONCE] for at in range(0, len(others), AT_ONCE)), ["root"]):
            for name in names:
                self._ask(name, HARD)
            self.until(lambda found: not any(_asked(one) or _timed_out(one) for one in found.values()))

    def _ask(self, name: str, how: Object) -> None:
        status, _ = self.bare.api.request("PATCH", f"{APPLICATIONS}/{name}", how, patch="merge-patch+json")
        assert status == 200

    def until(self, check: Callable[[dict[str, Object]], bool]) -> None:
        """Wait until something holds of all Applications; raises AssertionError with their state."""
        end = time.monotonic() + PATIENCE
        while not check(self.look()):
            assert time.monotonic() < end, self.told()

    def unsynced(self) -> list[str]:
        """Return the Applications that are not as Git has them."""
        return [f"{name}: {described(one)}" for name, one in self.applications().items() if sync(one) != "Synced"]

    def told(self) -> str:
        """Return the state of all Applications in words."""
        return "\n".join(f"{name}: {described(one)}" for name, one in self.applications().items())


def _timed_out(application: Object) -> bool:
    """Tell whether the API server was too busy for a comparison: people ask for another then, and so does Argo CD, but
    after `RESYNC` alone.
    """
    told = [one.get("message", "") for one in application.get("status", {}).get("conditions", ())]
    return any(words in message for message in told for words in TOO_SLOW)


def _asked(application: Object) -> bool:
    return REFRESH in application["metadata"].get("annotations", {})


def of_reference(cluster: str) -> Object:
    """Return the values of a reference cluster's file."""
    file = ROOT / "clusters" / cluster / "cluster.yaml"
    return dict(yaml.load(file.read_bytes(), yaml.CSafeLoader))


@contextlib.contextmanager
def whole(spec: Object, sold: Shop, also: Also | None = None) -> Iterator[Whole]:
    """Have a cluster of this file with Argo CD at work on it, what it asks for from a shop, and who else acts there."""
    spec["spec"].setdefault("components", {})
    # Nobody is here to sync tiers by hand, and no window opens: they come in the order of their waves, as others do.
    spec["spec"].setdefault("gitops", {}).update(ordered=[], windows=[])
    with bare(often, spec=spec, sold=sold) as made, contextlib.ExitStack() as stack:
        give(made)
        begun = made.bootstrap("--apply", "--no-wait")
        assert begun.returncode == 0, begun.stdout + begun.stderr
        define(made)
        keep_secrets(made, stack)
        stack.enter_context(argo_cd(made.api, RESYNC))
        standins = StandIns(made.api, stack)
        if also:
            standins.others.append(also(made.api, stack))
        yield Whole(made, standins)


def often(bare: Bare) -> None:
    """Have syncs tried again soon."""
    backoff = {"duration": "2s", "factor": 1, "maxDuration": "2s"}
    change = [{"op": "replace", "path": "/spec/syncPolicy/retry/backoff", "value": backoff}]
    patch(bare.file.parent / "argocd", {"target": {"kind": "Application"}, "patch": yaml.safe_dump(change)})


def give(bare: Bare) -> None:
    """Put a value of each Secret that a person gives where `gen bootstrap` reads it."""
    for component in compose(bare.cluster()):
        for secret in component.secrets:
            for key in filter(secret.by_person, secret.keys):
                bare.given(f"{secret.namespace}/{secret.name}/{key}", f"the {key} of {secret.name}\n")


def keep_secrets(bare: Bare, stack: contextlib.ExitStack) -> None:
    """Have the site's store of Secrets hold what the cluster reads, as its page says, and run the operator; if any."""
    cluster = bare.cluster()
    if store := cluster.site.secrets:
        wanted = [one for each in compose(cluster) for one in each.secrets if one.entry]
        # Of two with one entry, a copy may hold fewer keys.
        entries = {one.entry: entry(one) for one in sorted(wanted, key=lambda one: one.copy_of is None)}
        install(bare.api, store.store, entries.values())
        stack.enter_context(operator(bare.folder, Path(bare.kubeconfig)))


def define(bare: Bare) -> None:
    """Have the definitions that operators make before Argo CD starts: here nobody makes them. All others come from
    `gen bootstrap`.
    """
    wanted = [one for component in OPERATORS.keys() & set(bare.components) for one in operators_definitions(component)]
    for one in wanted:
        path = f"{bare.api.path(one, named=True)}?fieldManager={ARGO_CD}&force=true"
        assert bare.api.request("PATCH", path, one)[0] in {200, 201}, one["metadata"]["name"]
    for one in wanted:
        bare.api.wait(one["metadata"]["name"], partial(bare.api.established, one))
    # Argo CD reads it first; where that takes it too long, as on a busy machine, it comes back after `RESYNC` alone.
    bare.api.wait("the fields of all kinds", lambda: bare.api.request("GET", "/openapi/v2")[0] == HTTPStatus.OK)

"""One at a time: who holds the lease, who is told, and who takes over."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from livecluster import LiveCluster, living

from generator.errors import UsageError
from generator.live import api
from generator.live import lease as module
from generator.live.lease import BOOTSTRAP, SYNC, Lease, Work, held
from generator.live.running import RunningCluster


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LASTS", 1.5)
    monkeypatch.setattr(module, "RENEWED", 0.1)


def until(what: Callable[[], object]) -> None:
    """Wait for what another thread does, on a busy machine too."""
    end = time.monotonic() + 30
    while not what():
        assert time.monotonic() < end
        time.sleep(0.05)


def is_lost(lease: Lease) -> bool:
    with suppress(UsageError):
        lease.confirm()
        return False
    return True


def holder(live: LiveCluster) -> str:
    return str(live.get("Lease", BOOTSTRAP.name).get("spec", {}).get("holderIdentity", ""))


def test_it_is_there_renewed_and_given_back(tmp_path: Path) -> None:
    with living(tmp_path) as (live, running):
        with held(running, BOOTSTRAP, print) as lease:
            first = live.get("Lease", BOOTSTRAP.name)["spec"]["renewTime"]
            assert holder(live) == lease.holder
            until(lambda: live.get("Lease", BOOTSTRAP.name)["spec"]["renewTime"] > first)
            lease.confirm()
        assert not live.get("Lease", BOOTSTRAP.name)


def test_it_is_given_back_after_a_failure(tmp_path: Path) -> None:
    with living(tmp_path) as (live, running):
        with pytest.raises(UsageError), held(running, BOOTSTRAP, print):
            raise UsageError("x")
        assert not live.get("Lease", BOOTSTRAP.name)


@pytest.mark.parametrize("work", [BOOTSTRAP, SYNC], ids=lambda work: work.verb)
def test_the_second_one_is_told(tmp_path: Path, work: Work) -> None:
    told: list[str] = []
    argo_cd = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "argocd"}}
    with living(tmp_path, argo_cd) as (_, running), held(running, work, print) as first:
        with (
            pytest.raises(UsageError, match=f"another `{work.verb}` is at work here") as refused,
            held(running, work, told.append),
        ):
            pass
        assert first.holder in str(refused.value)
        assert first.holder in told[0]
        assert first.holder == (running.get(work.path) or {})["spec"]["holderIdentity"]


def dead(running: RunningCluster) -> None:
    running.create(BOOTSTRAP.leases, module._manifest(BOOTSTRAP, "bob@host 1"))


def test_a_dead_one_is_taken_over(tmp_path: Path) -> None:
    with living(tmp_path) as (live, running):
        dead(running)
        begun = time.monotonic()
        with held(running, BOOTSTRAP, print) as lease:
            assert holder(live) == lease.holder
        assert time.monotonic() - begun > 1.5


def test_of_two_who_wait_for_a_dead_one_one_gets_it(tmp_path: Path) -> None:
    got: list[str] = []

    def wait(running: RunningCluster) -> None:
        try:
            with held(running, BOOTSTRAP, lambda _: None):
                got.append("held")
                time.sleep(3)
        except UsageError as error:
            got.append(str(error))

    with living(tmp_path) as (_, running):
        dead(running)
        threads = [threading.Thread(target=wait, args=(running,)) for _ in range(2)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    refused, taken = sorted(got)
    assert taken == "held"
    assert "another `gen bootstrap`" in refused


def test_who_lost_it_stops_and_leaves_it_to_the_other(tmp_path: Path) -> None:
    with living(tmp_path) as (live, running):
        with held(running, BOOTSTRAP, print) as lease:
            running.merge(BOOTSTRAP.path, {"spec": {"holderIdentity": "eve@host 1"}})
            until(lambda: is_lost(lease))
            with pytest.raises(UsageError, match="another one took over: eve@host"):
                lease.confirm()
        assert holder(live) == "eve@host 1"


def test_who_cannot_renew_it_stops(tmp_path: Path) -> None:
    with living(tmp_path) as (live, running), held(running, BOOTSTRAP, print) as lease:
        live.refuses["PATCH .*leases.*"] = (500, "InternalError", "etcd is away")
        until(lambda: is_lost(lease))
        with pytest.raises(UsageError, match="could not be renewed"):
            lease.confirm()


def test_a_server_that_was_away_kept_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "STEP", 0.0)
    with living(tmp_path) as (live, running), held(running, BOOTSTRAP, print) as lease:
        live.refuses[".*"] = (503, "ServiceUnavailable", "starting")
        time.sleep(2.2)
        with pytest.raises(api.AwayError):
            lease.confirm()
        live.refuses.clear()
        lease.confirm()
        assert holder(live) == lease.holder


def test_who_took_it_while_we_were_cut_off_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RENEWED", 60.0)
    with living(tmp_path) as (_, running), held(running, BOOTSTRAP, print) as lease:
        running.merge(BOOTSTRAP.path, {"spec": {"holderIdentity": "eve@host 1"}})
        lease.confirm()
        time.sleep(1.6)
        with pytest.raises(UsageError, match="another one took over: eve@host"):
            lease.confirm()

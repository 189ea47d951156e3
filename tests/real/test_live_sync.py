"""`gen sync` and `gen rollback` as somebody calls them, on a cluster of Argo CD's own making.

Tests share one cluster, whose queues and tenants only people sync, and go on from each other in the order of the file.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import yaml
from reference import ROOT

if TYPE_CHECKING:
    from argocd.argo import Argo
    from argocd.fixtures import Installation

pytest_plugins = ["apiserver", "argocd.fixtures"]
pytestmark = pytest.mark.twin

Object = dict[str, Any]
CONFIG = "/api/v1/namespaces/{}/configmaps/{}"
LONG = 600.0


class Done(NamedTuple):
    """What gen ended with."""

    code: int
    out: str
    err: str


class Operator:
    """Somebody with a clone of the repository and a kubeconfig."""

    def __init__(self, installation: "Installation") -> None:
        self.argo = installation.argo
        self.repository = installation.argo.repository
        self.kubeconfig = installation.argo.api.address.kubeconfig("admin")

    def begin(self, *words: str, folder: Path | None = None) -> "subprocess.Popen[str]":
        env = {**os.environ, "PYTHONPATH": str(ROOT), "KUBECONFIG": str(self.kubeconfig)}
        command = [sys.executable, "-P", "-m", "generator", "-C", str(folder or self.repository.published), *words]
        return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def gen(self, *words: str, folder: Path | None = None) -> Done:
        return ended(self.begin(*words, folder=folder))

    def push(self, message: str = "published") -> str:
        """Render and publish; nobody tells Argo CD of it."""
        self.repository.render()
        return self.repository.publish(message)

    def at(self, name: str) -> str:
        """Return the commit that an Application was last brought to by an operation."""
        state = self.argo.application(name)["status"]["operationState"]
        assert state["phase"] == "Succeeded", state
        return str(state["syncResult"]["revision"])

    def changed(self, change: Any) -> contextlib.AbstractContextManager[None]:
        return changed(self.repository, change)


def ended(process: "subprocess.Popen[str]") -> Done:
    out, err = process.communicate(timeout=LONG)
    return Done(process.returncode, out, err)


@contextlib.contextmanager
def changed(repository: Any, change: Any) -> Iterator[None]:
    """Have another cluster file as long as the block."""
    before = repository.spec
    spec = repository.spec
    change(spec["spec"])
    repository.write(spec)
    try:
        yield
    finally:
        repository.write(before)


@pytest.fixture(scope="module")
def installed() -> Iterator[tuple["Installation", Done]]:
    """A cluster that is brought up by `gen sync`, since nobody else syncs its queues and tenants."""
    from argocd.argo import PATIENCE
    from argocd.fixtures import SMALL, installing

    text = yaml.load(SMALL.read_text(), yaml.CSafeLoader)
    by_hand = {name: {"sync": "manual"} for name in ("queues", "tenants")}
    text["spec"]["components"] |= {**by_hand, "issuers": {"managed": False}}
    with installing("small", yaml.safe_dump(text), UNREADABLE=20) as installation:
        repository = installation.argo.repository
        git(repository.published, "remote", "add", "origin", repository.url)
        process = Operator(installation).begin("sync", "--timeout", "10")
        said: list[Done] = []
        thread = threading.Thread(target=lambda: said.append(ended(process)))
        thread.start()
        installation.argo.until("gen sync ends", lambda: installation.look() and said, 2 * PATIENCE)
        yield installation, said[0]


@pytest.fixture
def operator(installed: tuple["Installation", Done]) -> Operator:
    return Operator(installed[0])


@pytest.fixture
def argo(operator: Operator) -> "Argo":
    return operator.argo


def order(done: Done) -> list[str]:
    """Return the Applications in the order in which they arrived."""
    return [line.split()[3] for line in done.err.splitlines() if line.rstrip().endswith(" done")]


def test_a_cluster_comes_up_in_the_order_of_its_waves_to_one_commit(installed: tuple["Installation", Done]) -> None:
    from argocd.fixtures import gates

    installation, done = installed
    operator = Operator(installation)
    assert done.code == 0, done.err
    assert installation.too_early == []
    arrived = [name for name in order(done) if name != "root"]
    assert {*arrived} == installation.expected
    waited_for = [name for name in arrived if gates(installation.argo.application(name))]
    assert waited_for == ["namespaces", "kueue", "queues"]
    commit = operator.repository.head
    assert done.out == f"small: {len(arrived) + 1} Applications at {commit}\n"
    assert {name: operator.at(name) for name in ("queues", "tenants", "root")} == dict.fromkeys(
        ("queues", "tenants", "root"), commit
    )


def config(namespace: str, name: str = "extra", **data: str) -> Object:
    """Return an object that does nothing."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data}


def unserved(namespace: str) -> Object:
    """Return an object of a kind that nobody serves."""
    return {"apiVersion": "example.org/v1", "kind": "Unserved", "metadata": {"name": "x", "namespace": namespace}}


def test_a_change_is_foretold_and_nothing_moves_then_it_moves_to_the_very_commit(operator: Operator) -> None:
    before = operator.repository.head
    with operator.argo.beside("tenants", config("vision", a="b")):
        commit = operator.push()
        told = operator.gen("sync", "--dry-run")
        time.sleep(5)
        assert operator.at("tenants") == before
        assert told.code == 0, told.err
        assert f"wave  3  tenants                  {before[:9]} -> {commit[:9]}  only by a sync" in told.out
        assert "ConfigMap vision/extra added" in told.out
        done = operator.gen("sync", "tenants", "--output", "json")
        assert done.code == 0, done.err
        (row,) = json.loads(done.out)["applications"]
        assert row == {"name": "tenants", "wave": 3, "from": before, "at": commit, "done": True, "reason": None}
        assert operator.at("tenants") == commit
        assert operator.at("queues") == before
    commit = operator.push()
    assert operator.gen("sync").code == 0
    assert not operator.argo.api.get(CONFIG.format("vision", "extra"))


def test_a_bad_commit_stops_at_its_wave_and_a_fix_in_git_proceeds(operator: Operator) -> None:
    before = operator.at("tenants")
    with operator.argo.beside("queues", unserved("vision")), operator.argo.beside("tenants", config("vision")):
        bad = operator.push()
        first = operator.begin("sync", "--timeout", "5")
        time.sleep(4)
        second = operator.gen("sync")
        done = ended(first)
    assert second.code == 2
    assert "another `gen sync` is at work here" in second.err
    assert bad[:9] in second.err
    assert done.code == 1, done.err
    assert "gen: queues: failed: " in done.err
    assert "Unserved" in done.err
    assert operator.at("tenants") == before
    assert not operator.argo.api.get(CONFIG.format("vision", "extra"))
    with operator.argo.beside("tenants", config("vision")):
        mended = operator.push()
        fixed = operator.gen("sync")
        assert fixed.code == 0, fixed.err
    assert operator.at("tenants") == operator.at("queues") == mended
    assert operator.argo.api.get(CONFIG.format("vision", "extra"))
    operator.push()
    assert operator.gen("sync").code == 0


def test_a_commit_that_is_not_pushed_or_older_than_what_syncs_by_itself_is_refused(operator: Operator) -> None:
    published = operator.repository.published
    old = git(published, "rev-parse", "HEAD^")
    git(published, "commit", "--quiet", "--allow-empty", "--message=mine")
    unpushed = operator.gen("sync", "--revision", "HEAD")
    git(published, "reset", "--quiet", "--hard", "HEAD^")
    assert unpushed.code == 2
    assert "is not on the branch main as Argo CD sees it" in unpushed.err
    assert "push it first" in unpushed.err
    whole = operator.gen("sync", "--revision", old)
    assert whole.code == 2
    assert "syncs by itself to the newest commit" in whole.err
    one = operator.gen("sync", "tenants", "--revision", old)
    assert one.code == 0, one.err
    assert operator.at("tenants") == old


def git(folder: Path, *words: str) -> str:
    author = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    done = subprocess.run(["git", *author, *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_an_interrupted_sync_is_gone_on_with(operator: Operator) -> None:
    with operator.argo.beside("queues", unserved("vision")):
        operator.push()
        process = operator.begin("sync")
        operator.argo.until("queues are synced", lambda: operator.argo.application("queues").get("operation"))
        time.sleep(3)
        process.send_signal(signal.SIGTERM)
        done = ended(process)
    assert done.code == 128 + signal.SIGTERM
    assert "gen: interrupted" in done.err
    assert "Argo CD goes on with queues by itself" in done.err
    operator.push()
    again = operator.gen("sync")
    assert again.code == 0, again.err


def test_a_component_goes_only_when_a_commit_approves_it_and_what_is_protected_stays(operator: Operator) -> None:
    api = operator.argo.api
    with operator.changed(without_volcano):
        operator.push("Take Volcano away")
        stopped = operator.gen("sync")
        assert stopped.code == 3, stopped.err
        (trailer,) = [line.strip() for line in stopped.err.splitlines() if line.startswith("  Gen-Allow: ")]
        assert trailer == "Gen-Allow: GEN-CHG-326:small/Application/argocd/volcano WHY"
        time.sleep(5)
        assert "volcano" in operator.argo.applications()
        commit = operator.push(f"Say so\n\n{trailer.removesuffix('WHY')}nobody submits Volcano jobs any more")
        done = operator.gen("sync")
        assert done.code == 0, done.err
        assert "nobody submits Volcano jobs any more" in done.err
        assert "volcano" not in operator.argo.applications()
        assert operator.at("root") == commit
        assert api.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/jobs.batch.volcano.sh")
        assert api.get("/api/v1/namespaces/volcano-system")
    operator.push()
    back = operator.gen("sync")
    assert back.code == 0, back.err
    assert "volcano" in operator.argo.applications()


def without_volcano(spec: Object) -> None:
    spec["components"]["volcano"] = {"managed": False}


def test_a_sync_of_root_that_cannot_end_is_ended(operator: Operator) -> None:
    from argocd.argo import phase

    argo = operator.argo
    with operator.changed(without_volcano):
        operator.push()
        argo.refresh("root")
        argo.until("root waits", lambda: "pruning confirmation" in phase(argo.application("root"))[1])
    commit = operator.push()
    time.sleep(5)
    assert phase(argo.application("root"))[0] == "Running"
    done = operator.gen("sync")
    assert done.code == 0, done.err
    assert operator.at("root") == commit
    assert "held by an older operation" in done.err
    assert "volcano" in argo.applications()


def test_a_window_is_kept_and_passed_only_where_it_lets_people(operator: Operator) -> None:
    argo = operator.argo
    shut = {"kind": "deny", "schedule": "* * * * *", "duration": "1h", "applications": ["queues"], "manualSync": True}
    closed = {"op": "add", "path": "/spec/syncWindows", "value": [shut]}
    with argo.patched("AppProject", "scheduling", closed):
        operator.push()
        assert operator.gen("sync").code == 0, "nothing of it moves"
        with argo.beside("queues", config("kueue-system")):
            commit = operator.push()
            blocked = operator.gen("sync", "queues")
            assert blocked.code == 1, blocked.err
            assert "gen: queues: the window deny `* * * * *` UTC for 1h of project scheduling is open" in blocked.err
            assert "--now syncs all the same" in blocked.err
            assert not argo.application("queues").get("operation")
            passed = operator.gen("sync", "queues", "--now")
            assert passed.code == 0, passed.err
            assert operator.at("queues") == commit
    operator.push()
    assert operator.gen("sync", "--now").code == 0


def test_a_rollback_restores_what_was(operator: Operator) -> None:
    """People work in a clone, of which the test publishes what Argo CD can build here."""
    tree, bindings = operator.repository.tree, "/apis/rbac.authorization.k8s.io/v1/namespaces/vision/rolebindings"

    def members() -> set[str]:
        found = operator.argo.api.items(bindings)
        return {subject["name"] for one in found for subject in one.get("subjects", [])}

    operator.repository.render()
    for words in (("user.name", "test"), ("user.email", "test@example.org")):
        git(tree, "config", *words)
    git(tree, "add", "--all", "--force")
    git(tree, "commit", "--quiet", "--message=all")
    file = operator.repository.file
    before = members()
    file.write_text(file.read_text().replace("group: vision", "group: nobody"))
    assert operator.gen("commit", "--branch", "main", folder=tree).code == 0
    operator.repository.publish()
    assert operator.gen("sync").code == 0
    assert members() != before
    done = operator.gen("rollback", "--last", folder=tree)
    assert done.code == 0, done.err
    assert "RoleBinding" in done.out
    operator.repository.publish()
    assert operator.gen("sync").code == 0
    assert members() == before


def test_a_control_plane_that_is_restarted_ends_no_sync(operator: Operator) -> None:
    """The last one, as the API server and the etcd that it starts end with it. They are away for longer than a Lease
    lasts.
    """
    from restarting import restarted

    argo = operator.argo
    with argo.beside("queues", config("kueue-system")), argo.beside("tenants", config("vision")):
        commit = operator.push()
        process = operator.begin("sync")
        argo.until("queues are synced", lambda: argo.application("queues").get("operation"))
        address, ready = argo.api.address, argo.api.real.cluster.ready
        with restarted(address.folder, address.port, ready, away=30.0, etcd=True):
            done = ended(process)
            assert done.code == 0, done.err
            assert "looking again until it answers" in done.err
            assert "answers again, after" in done.err
            assert "Traceback" not in done.err
            for name in ("queues", "tenants"):
                assert operator.at(name) == commit
                history = argo.application(name)["status"]["history"]
                assert [one["revision"] for one in history].count(commit) == 1
            assert not argo.api.get("/apis/coordination.k8s.io/v1/namespaces/argocd/leases/gen-sync")

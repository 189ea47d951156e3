"""`gen secret rotate` of certificates that programs make for their webhooks. Kueue and the operators of jobs run as
they are rendered; what is played is kubelet: a Deployment whose template changes has its program begin anew, with the
Secret as it is then.
"""

import contextlib
import shutil
import ssl
import tempfile
import threading
from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from reference import ROOT
from rotationsite import KilledError, Site
from test_minio_drives import eventually

from generator.components.component import Turn
from generator.day2.rotation import syncs
from generator.day2.rotation.trust import UNCALLED
from generator.live.api import of_kubeconfig
from generator.live.running import RunningCluster
from generator.model.cluster import Cluster

if TYPE_CHECKING:
    from twin.fixtures import Twin

pytest_plugins = ["apiserver", "twin.fixtures"]
pytestmark = pytest.mark.twin


class Called(NamedTuple):
    """A program with webhooks: its Secret, its Deployment and its Service, and where it finds its certificate."""

    secret: str
    deployment: str
    service: str
    mounted: str

    @property
    def namespace(self) -> str:
        return self.secret.partition("/")[0]


PROGRAMS = {
    "kueue": Called(
        "kueue-system/kueue-webhook-server-cert",
        "kueue-controller-manager",
        "kueue-webhook-service",
        "kueue/certificates",
    ),
    "jobset": Called(
        "jobset-system/jobset-webhook-server-cert",
        "jobset-controller",
        "jobset-webhook-service",
        "jobset-controller/k8s-webhook-server",
    ),
    "trainer": Called(
        "kubeflow-system/kubeflow-trainer-webhook-cert",
        "kubeflow-trainer-controller-manager",
        "kubeflow-trainer-controller-manager",
        "kubeflow-trainer-controller-manager/k8s-webhook-server",
    ),
    "training-operator": Called(
        "training-operator/training-operator-webhook-cert",
        "training-operator",
        "training-operator",
        "training-operator/k8s-webhook-server",
    ),
}


class Kubelet:
    """Begins a program anew once its Deployment is restarted; `refused` is what the API server said just before."""

    def __init__(self, twin: "Twin", running: RunningCluster, name: str) -> None:
        self.twin, self.running, self.one = twin, running, PROGRAMS[name]
        self.stack, self.starter = contextlib.ExitStack(), self._starter(name)
        self.refused = ""

    def _starter(self, name: str) -> Callable[[], contextlib.AbstractContextManager[None]]:
        from twin.kueue import kueue
        from twin.operators import OPERATORS, operator

        if name == "kueue":
            return lambda: kueue(self.twin.api.real)
        return lambda: operator(self.twin.api.real, OPERATORS[name])

    def start(self) -> None:
        self.stack.enter_context(self.starter())

    def stop(self) -> None:
        self.stack.close()

    def template(self) -> object:
        place = f"/apis/apps/v1/namespaces/{self.one.namespace}/deployments/{self.one.deployment}"
        return (self.running.get(place) or {})["spec"]["template"]["metadata"].get("annotations")

    @contextlib.contextmanager
    def watching(self, turn: Turn) -> Iterator[None]:
        """Watch as long as the block: a program that is begun anew ends with it."""
        ended, before = threading.Event(), self.template()

        def watch() -> None:
            seen = before
            while not ended.wait(0.2):
                if (now := self.template()) != seen:
                    seen, asks = now, turn.asks
                    assert asks
                    self.refused = self.running.tried(*asks)
                    self._anew()

        thread = threading.Thread(target=watch)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _anew(self) -> None:
        self.stop()
        shutil.rmtree(self.twin.api.address.folder / self.one.mounted)
        self.start()

    def served(self) -> str:
        service = self.running.get(f"/api/v1/namespaces/{self.one.namespace}/services/{self.one.service}") or {}
        return ssl.get_server_certificate((service["spec"]["clusterIP"], 443)).strip()


@pytest.fixture(scope="module")
def twin() -> "Iterator[Twin]":
    """Nodes and what is rendered of the programs; each test runs its own."""
    from twin.fixtures import FIRST, OTHERS, Twin
    from twin.nodes import nodes
    from twin.operators import OPERATORS
    from twin.plane import plane
    from twin.rendered import Rendered

    operators = [name for name in PROGRAMS if name != "kueue"]
    with tempfile.TemporaryDirectory(prefix="twin-") as folder, contextlib.ExitStack() as stack:
        rendered = Rendered(ROOT, "ml50", Path(folder) / "rendered", (*FIRST, *operators))
        stack.callback(rendered.stop)
        made = Twin(stack.enter_context(plane(Path(folder))), rendered, nodes(ROOT, "ml50"))
        for one in made.machines:
            assert made.api.create(one, dry=False) == (201, "")
        made.api.install(OTHERS["cilium"])
        for name in FIRST:
            made.install(name)
        for name in operators:
            made.install(name, OPERATORS[name].namespace)
        yield made


@pytest.fixture
def running(twin: "Twin", monkeypatch: pytest.MonkeyPatch) -> RunningCluster:
    from generator.rehearsal.twin.plane import ADMIN

    monkeypatch.setattr(syncs, "POLL", 0.2)
    return RunningCluster(of_kubeconfig(twin.api.address.kubeconfig(ADMIN), None))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_api_server_calls_a_webhook_by_its_new_certificate(
    name: str, twin: "Twin", running: RunningCluster, ml50: Cluster
) -> None:
    site, kubelet = Site(running, ml50), Kubelet(twin, running, name)
    (secret,) = site.declare(kubelet.one.secret)
    assert secret.turn
    assert secret.turn.asks
    kubelet.start()
    try:
        former = site.values(secret.full_name)
        assert former["tls.crt"].strip() == kubelet.served()
        assert UNCALLED not in running.tried(*secret.turn.asks)
        with kubelet.watching(secret.turn):
            for killed in (1, 3):
                with contextlib.suppress(KilledError):
                    site.rotating(secret.full_name, killed_at=killed)[0].run()
            site.rotating(secret.full_name)[0].run()
            held = site.values(secret.full_name)
            assert not set(held.values()) & set(former.values())
            assert held["tls.crt"].strip() == kubelet.served()
            assert UNCALLED in kubelet.refused, "the control: with the former certificate nobody is called"
            assert UNCALLED not in running.tried(*secret.turn.asks)
    finally:
        kubelet.stop()


NAMESPACE = "/api/v1/namespaces/token"
ACCOUNT, SECRET = f"{NAMESPACE}/serviceaccounts/reader", f"{NAMESPACE}/secrets/reader-token"


def made(running: RunningCluster) -> str:
    """Make the account and its Secret as Git has them, and return the token that comes."""
    running.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "token"}})
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "reader"}}
    running.create(f"{NAMESPACE}/serviceaccounts", account)
    metadata = {"name": "reader-token", "annotations": {"kubernetes.io/service-account.name": "reader"}}
    secret = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token", "metadata": metadata}
    running.create(f"{NAMESPACE}/secrets", secret)
    eventually("there is a token", lambda: "token" in held(running))
    return held(running)["token"]


def held(running: RunningCluster) -> dict[str, str]:
    return dict((running.get(SECRET) or {}).get("data", {}))


def counts(running: RunningCluster, token: str) -> bool:
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "metadata": {}}
    spec = {"token": b64decode(token).decode()}
    asked = running.create("/apis/authentication.k8s.io/v1/tokenreviews", review | {"spec": spec}) or {}
    return bool(asked["status"].get("authenticated"))


def test_of_the_same_account_a_secret_gets_the_same_token(running: RunningCluster) -> None:
    """Why the account is deleted, and not the Secret alone: what Kubernetes' own controllers do."""
    first = made(running)
    assert counts(running, first)
    running.delete(SECRET)
    assert made(running) == first
    assert counts(running, first)
    running.delete(ACCOUNT)
    eventually("the Secret goes with its account", lambda: not held(running))
    other = made(running)
    assert other != first
    eventually("the former one does not count", lambda: not counts(running, first))
    assert counts(running, other)

"""What dashboards and alerts ask of Kueue and Volcano, held to what real ones tell while jobs come and give way."""

import ssl
import urllib.request
from typing import TYPE_CHECKING

import pytest
from boardsamples import EXPORTERS
from heldnames import lacking
from test_alerts_fire import kueue as asked_by_alerts

from generator.live.apiserver import free_ports
from generator.rehearsal.twin.kueue import CONFIG, NAMESPACE
from generator.spec.pyyaml import yaml

if TYPE_CHECKING:
    from collections.abc import Callable

    from twin.fixtures import Twin
    from twin.team import Member

    Members = Callable[[str], Member]

pytest_plugins = ["apiserver", "twin.fixtures"]
pytestmark = pytest.mark.twin

READER = "metrics-reader"
UNVERIFIED = ssl._create_unverified_context()
"""Kueue signs for itself."""


def test_kueue_tells_what_is_asked(twin: "Twin", member: "Members") -> None:
    (port,) = free_ports(1)
    data = twin.api.get(f"/api/v1/namespaces/{NAMESPACE}/configmaps/{CONFIG}")["data"]
    applied = yaml.load(data["controller_manager_config.yaml"], yaml.CSafeLoader)["metrics"]
    token = reader(twin)
    with twin.kueue.changed({"metrics": applied | {"bindAddress": f"127.0.0.1:{port}"}}):
        preempted(member)
        told((f"https://127.0.0.1:{port}/metrics",), token, EXPORTERS["kueue"].text + asked_by_alerts(given_up=1))


def test_volcano_tells_what_is_asked(twin: "Twin", member: "Members") -> None:
    ports = dict(zip(("volcano-scheduler", "volcano-controllers"), free_ports(2), strict=True))
    flags = {name: ("--enable-metrics=true", f"--listen-address=127.0.0.1:{port}") for name, port in ports.items()}
    with twin.volcano.changed("", flags):
        preempted(member)
        told(tuple(f"http://127.0.0.1:{port}/metrics" for port in ports.values()), "", EXPORTERS["volcano"].text)


def preempted(member: "Members") -> None:
    """Have a team's job give way to those of another, and wait."""
    from twin.team import eventually

    vision, language = member("vision"), member("language")
    member("serving").prepare("serve", pods=3)  # else what is evicted goes on in inference
    vision.prepare("own", pods=5)
    vision.prepare("borrowed", pods=2)
    member("recommender").prepare("one", "two", "three", "four", "five")
    language.start("train", 5)
    language.runs("train", 5)
    eventually("others wait", lambda: vision.running() + member("recommender").running() <= 7)


def told(urls: tuple[str, ...], token: str, asked: str) -> None:
    """Wait until all that is asked is told. Fails with what is not."""
    from twin.team import eventually

    left = lacking(asked, "")

    def whole() -> bool:
        nonlocal left
        left = lacking(asked, "".join(answer(url, token) for url in urls))
        return not left

    try:
        eventually("all is told", whole)
    finally:
        assert left == set()


def answer(url: str, token: str) -> str:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    context = UNVERIFIED if url.startswith("https") else None
    with urllib.request.urlopen(request, timeout=10, context=context) as found:
        return str(found.read().decode())


def reader(twin: "Twin") -> str:
    """Return the token of an account that may read metrics, and nothing else, as Prometheus may."""
    rule = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
    subject = {"kind": "ServiceAccount", "name": READER, "namespace": NAMESPACE}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": READER}
    rbac, metadata = {"apiVersion": "rbac.authorization.k8s.io/v1"}, {"metadata": {"name": READER}}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": READER, "namespace": NAMESPACE}}
    twin.api.apply(account)
    twin.api.apply(rbac | metadata | {"kind": "ClusterRole", "rules": [rule]})
    twin.api.apply(rbac | metadata | {"kind": "ClusterRoleBinding", "roleRef": role, "subjects": [subject]})
    path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{READER}/token"
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    return str(twin.api.request("POST", path, request)[1]["status"]["token"])

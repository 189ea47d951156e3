"""What dashboards and alerts ask of Argo CD, held to what its own programs tell of a cluster that they installed."""

import contextlib
import urllib.request
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from boardsamples import EXPORTERS
from heldnames import lacking
from test_alerts_fire import application, synced

if TYPE_CHECKING:
    from argocd.argo import Argo
    from argocd.fixtures import Installation

pytest_plugins = ["apiserver", "argocd.fixtures"]
pytestmark = pytest.mark.twin

NOBODY_S = f"{'0' * 39}1"
"""A commit that there is not."""


@contextlib.contextmanager
def unfetchable(argo: "Argo") -> Iterator[None]:
    """Have an Application of a commit that cannot be fetched, as long as the block: a fetch that failed is counted."""
    from argocd.argo import APPLICATIONS

    like = argo.application("queues")
    spec = {key: value for key, value in like["spec"].items() if key != "syncPolicy"}
    spec["source"] = spec["source"] | {"targetRevision": NOBODY_S}
    metadata = {"name": "unfetchable", "namespace": like["metadata"]["namespace"]}
    argo.api.apply({key: like[key] for key in ("apiVersion", "kind")} | {"metadata": metadata, "spec": spec})
    try:
        yield
    finally:
        argo.api.request("DELETE", f"{APPLICATIONS}/unfetchable")


def test_argo_cd_tells_what_is_asked(small: "Installation") -> None:
    asked = EXPORTERS["argocd"].text + application() + synced("Failed", 1)
    missing = lacking(asked, "")

    def whole() -> bool:
        nonlocal missing
        missing = lacking(asked, "".join(map(answer, small.measured)))
        return not missing

    with unfetchable(small.argo):
        try:
            small.argo.until("all is told", whole)
        finally:
            assert missing == set()


def answer(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as found:
        return str(found.read().decode())

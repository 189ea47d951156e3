"""A real kube-apiserver with its etcd, on loopback, for as long as the tests run.

Use it by `pytest_plugins = ["apiserver"]` and the fixture `api` (import the types only where `TYPE_CHECKING`: pytest
wants to import a plugin first). The programs are looked for below `$XDG_CACHE_HOME` (or
`~/.cache`) `/gen/bin`; without them tests skip, in CI they fail. There are no controllers: nothing runs, no
ServiceAccount is made, nothing is collected.
"""

import base64
import contextlib
import http.client
import json
import os
import ssl
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from generator.live import apiserver
from generator.live.apiserver import tries

SHARED = Path(__file__).parents[3] / "shared" / "upstream"
Identity = tuple[str, tuple[str, ...]]
"""A user's name and groups."""

PATIENCE = 90.0
"""Seconds to wait for a program or a kind; they take two on an idle machine."""
IDLE = 20
"""Seconds after which a connection is not trusted to be open still."""

# Kinds whose plural is not the kind in lower case with an s.
PLURALS = {
    "NetworkPolicy": "networkpolicies",
    "CiliumNetworkPolicy": "ciliumnetworkpolicies",
    "PriorityClass": "priorityclasses",
    "WorkloadPriorityClass": "workloadpriorityclasses",
    "StorageClass": "storageclasses",
    "VolumeSnapshotClass": "volumesnapshotclasses",
    "Ingress": "ingresses",
    "IngressClass": "ingressclasses",
    "RuntimeClass": "runtimeclasses",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "Topology": "topologies",
    "Endpoints": "endpoints",
    "NicClusterPolicy": "nicclusterpolicies",
    "ClusterPolicy": "clusterpolicies",
    "CiliumL2AnnouncementPolicy": "ciliuml2announcementpolicies",
    "BackendTrafficPolicy": "backendtrafficpolicies",
    "EnvoyProxy": "envoyproxies",
    "GatewayClass": "gatewayclasses",
}


def plural(kind: str) -> str:
    """Return a kind's name in addresses."""
    return PLURALS.get(kind, f"{kind.lower()}s")


class ApiServer:
    """A running API server. One speaks to it as its administrator, or as somebody else (`by`)."""

    def __init__(self, port: int, certificate: Path, token: str) -> None:
        self.url = f"https://127.0.0.1:{port}"
        self.certificate = certificate
        self.token = token
        tls = ssl.create_default_context(cafile=str(certificate))
        self.connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=PATIENCE, context=tls)
        self.used = time.monotonic()

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        by: Identity | None = None,
        patch: str = "apply-patch+yaml",
    ) -> tuple[int, Any]:
        """Return the status and what was answered, read as JSON where it is JSON. `patch` is the kind of a PATCH."""
        kind = f"application/{patch}" if method == "PATCH" else "application/json"
        # The server closes what is idle for long: between two test files minutes may pass.
        if time.monotonic() - self.used > IDLE:
            self.connection.close()
        self.used = time.monotonic()
        self.connection.putrequest(method, path)
        data = b"" if body is None else json.dumps(body).encode()
        headers = [("Authorization", f"Bearer {self.token}"), ("Content-Type", kind), ("Content-Length", len(data))]
        if by:
            headers += [("Impersonate-User", by[0]), *(("Impersonate-Group", group) for group in by[1])]
        for name, value in headers:
            self.connection.putheader(name, str(value))
        self.connection.endheaders(data)
        answer = self.connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text.startswith(b"{") else text.decode()

    def kubeconfig(self, file: Path) -> None:
        """Write that of its administrator, whole as kubeadm's own."""
        authority = base64.b64encode(self.certificate.read_bytes()).decode()
        cluster = {"server": self.url, "certificate-authority-data": authority}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "kubernetes", "cluster": cluster}],
            "users": [{"name": "admin", "user": {"token": self.token}}],
            "contexts": [{"name": "admin", "context": {"cluster": "kubernetes", "user": "admin"}}],
            "current-context": "admin",
        }
        file.write_text(yaml.safe_dump(config))

    def path(self, manifest: dict[str, Any], *, named: bool = False) -> str:
        """Return where objects of this kind and namespace live, or the object itself."""
        version, metadata = manifest["apiVersion"], manifest["metadata"]
        parts = ["apis" if "/" in version else "api", version]
        parts += ["namespaces", metadata["namespace"]] if "namespace" in metadata else []
        parts += [plural(manifest["kind"])] + ([metadata["name"]] if named else [])
        return "/" + "/".join(parts)

    def create(self, manifest: dict[str, Any], *, by: Identity | None = None, dry: bool = True) -> tuple[int, str]:
        """Create an object with unknown fields refused; return the status and the server's message. A dry run
        goes through everything but storage.
        """
        query = "?fieldValidation=Strict" + ("&dryRun=All" if dry else "")
        status, answer = self.request("POST", self.path(manifest) + query, manifest, by=by)
        return status, answer.get("message", "") if isinstance(answer, dict) else str(answer)

    def update(self, manifest: dict[str, Any], *, by: Identity | None = None) -> tuple[int, str]:
        """Replace a stored object, as a dry run."""
        path = self.path(manifest, named=True) + "?dryRun=All&fieldValidation=Strict"
        status, answer = self.request("PUT", path, manifest, by=by)
        return status, answer.get("message", "") if isinstance(answer, dict) else str(answer)

    def apply(self, manifest: dict[str, Any]) -> None:
        """Store an object by server-side apply; raises AssertionError with what the server said."""
        path = self.path(manifest, named=True) + "?fieldManager=test&force=true&fieldValidation=Strict"
        status, answer = self.request("PATCH", path, manifest)
        assert status in {200, 201}, (manifest["kind"], manifest["metadata"]["name"], answer)

    def namespace(self, name: str, labels: dict[str, str] | None = None) -> None:
        """Store a namespace: a dry run into one needs it for real."""
        self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels or {}}})

    def install(self, *folders: str) -> None:
        """Store the CRDs in folders below `../shared/upstream` and wait until they are served. Skips the test where
        there is no such folder.
        """
        if not SHARED.exists():
            pytest.skip("../shared is absent")
        self.define(*(file for folder in folders for file in sorted((SHARED / folder).glob("*.yaml"))))

    def define(self, *files: Path) -> None:
        """Store the CRDs in files and wait until they are served."""
        crds = [crd for file in files for crd in yaml.load_all(file.read_bytes(), yaml.CSafeLoader) if crd]
        for crd in crds:
            self.apply(crd)
        for crd in crds:
            self.wait(crd["metadata"]["name"], partial(self.established, crd))

    def established(self, crd: dict[str, Any]) -> bool:
        """Tell whether a stored CRD is served."""
        answer = self.request("GET", self.path(crd, named=True))[1]
        conditions = (answer.get("status") or {}).get("conditions") or []
        return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)

    def wait(self, what: str, check: Callable[[], bool]) -> None:
        """Wait until `check` is true; raises AssertionError that says `what` was waited for."""
        assert any(check() for _ in tries(PATIENCE)), f"{what}: not within {PATIENCE:g} s"


def programs(*names: str) -> list[str]:
    """Return the paths of programs; skips the test where one is absent, and fails it in CI."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gen" / "bin"
    for name in names:
        if not os.access(cache / name, os.X_OK):
            pytest.skip(f"{name} is not in {cache}")
    return [str(cache / name) for name in names]


def sources(name: str) -> Path:
    """Return where a source of `tools/sources.py` lies; skips the test where it was not fetched."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gen" / "sources"
    found = sorted(cache.glob(f"{name}-v*"))
    if not found:
        pytest.skip(f"{name} is not in {cache}: run `python tools/sources.py`")
    return found[-1]


@contextlib.contextmanager
def start(folder: Path, *flags: str) -> Iterator[ApiServer]:
    """Run etcd and kube-apiserver with their data in `folder`; `flags` are added to the API server's."""
    programs("etcd", "kube-apiserver")
    with apiserver.start(folder, *flags) as started:
        running = ApiServer(started.port, started.certificate, started.token)
        with contextlib.closing(running.connection):
            yield running


@pytest.fixture(scope="session")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """Share one API server among all tests: give your objects names and namespaces of your own."""
    with start(tmp_path_factory.mktemp("apiserver")) as running:
        yield running

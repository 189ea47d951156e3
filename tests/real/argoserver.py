"""Argo's real server on a real API server with its kinds, on loopback: no controller, and kubelet is played."""

import base64
import contextlib
import json
import ssl
import subprocess
import time
from collections.abc import Iterator
from http.client import HTTPSConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kubeletplayed import kubelet, node
from minioserver import certificates
from reference import load

from generator.components import compose
from generator.components.argo_workflows import NAMESPACE as ARGO
from generator.components.rook_ceph import NAMESPACE
from generator.live.apiserver import free_ports, program
from generator.rehearsal.twin.running import running

if TYPE_CHECKING:
    from apiserver import ApiServer

Object = dict[str, Any]
KIND = "argoproj.io/v1alpha1"
GROUP = f"/apis/{KIND}/namespaces/{NAMESPACE}"
OPERATOR, READER = "operator", "reader"
RIGHTS: dict[str, list[str]] = {
    OPERATOR: ["get", "list", "watch", "create", "patch", "update"],
    READER: ["get", "list"],
}


class Site:
    """The API server with what is rendered of operations, people's accounts, and Argo's server in front of it."""

    def __init__(self, api: "ApiServer", folder: Path) -> None:
        self.api, self.folder = api, folder
        self.ca = certificates(folder / "certificates") / "CAs/ca.crt"
        (self.port,) = free_ports(1)
        self.url = f"https://127.0.0.1:{self.port}"

    def prepare(self, kubelet_port: int) -> None:
        """Store what is rendered, and who may do what."""
        self.api.install("argo-workflows/v4.0.2/crds")
        for name in (ARGO, NAMESPACE):
            self.api.namespace(name)
        (made,) = [one for one in compose(load("ml50")) if one.name == "workflows"]
        shared = [one for each in made.operations for one in each.templates]
        for one in (*shared, *made.objects):
            if one["kind"] in {"WorkflowTemplate", "CronWorkflow"}:
                self.api.apply(one)
        signed = self.ca.parents[1]
        data = {"tls.crt": (signed / "public.crt").read_text(), "tls.key": (signed / "private.key").read_text()}
        self.api.apply(of("v1", "Secret", "tls", ARGO, type="kubernetes.io/tls", stringData=data))
        self.api.apply(of("v1", "ConfigMap", "workflow-controller-configmap", ARGO, data={}))
        for name, verbs in RIGHTS.items():
            self._account(name, verbs)
        node(self.api, "worker-1", kubelet_port)

    def _account(self, name: str, verbs: list[str]) -> None:
        kinds = ["workflows", "workflowtemplates", "cronworkflows"]
        rules = [{"apiGroups": ["argoproj.io"], "resources": kinds, "verbs": verbs}]
        rules += [{"apiGroups": [""], "resources": ["pods", "pods/log"], "verbs": ["get", "list", "watch"]}]
        subjects = [{"kind": "ServiceAccount", "name": name, "namespace": ARGO}]
        role = {"kind": "Role", "name": name, "apiGroup": "rbac.authorization.k8s.io"}
        version = "rbac.authorization.k8s.io/v1"
        self.api.apply(of("v1", "ServiceAccount", name, ARGO))
        self.api.apply(of(version, "Role", name, NAMESPACE, rules=rules))
        self.api.apply(of(version, "RoleBinding", name, NAMESPACE, roleRef=role, subjects=subjects))

    def token(self, name: str) -> str:
        """Return a token of an account."""
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        code, answer = self.api.request("POST", f"/api/v1/namespaces/{ARGO}/serviceaccounts/{name}/token", asked)
        assert code == 201, answer
        return str(answer["status"]["token"])

    def ended_token(self, name: str) -> str:
        """Return a token of an account that ended an hour ago, signed by the key that signs the good ones."""
        head, body, _ = self.token(name).split(".")
        told, hour = json.loads(base64.urlsafe_b64decode(body + "==")), int(time.time()) - 3600
        told |= {"iat": hour - 600, "nbf": hour - 600, "exp": hour}
        text = f"{head}.{encoded(json.dumps(told).encode())}"
        key = str(self.api.certificate.with_suffix(".key"))
        words = [program("openssl"), "dgst", "-sha256", "-sign", key]
        done = subprocess.run(words, input=text.encode(), capture_output=True, check=True)
        return f"{text}.{encoded(done.stdout)}"

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        """Run Argo's server until the block ends."""
        from apiserver import programs

        (argo,) = programs("argo")
        words = [argo, "server", "--auth-mode=client", f"--port={self.port}", f"--namespace={ARGO}"]
        words += ["--tls-certificate-secret-name=tls"]
        # Where it runs in no cluster, it looks in a kubeconfig for the API server that it gives people's tokens to.
        with running(self.folder / "argo", words, self.answers, KUBECONFIG=str(self._kubeconfig())) as process:
            try:
                yield
            finally:
                process.kill()

    def answers(self) -> bool:
        """Tell whether the server answers at its address; raises OSError where it does not listen."""
        trust = ssl.create_default_context(cafile=str(self.ca))
        with contextlib.closing(HTTPSConnection("127.0.0.1", self.port, timeout=5, context=trust)) as connection:
            connection.request("GET", "/api/v1/version")
            return connection.getresponse().status == 401

    def _kubeconfig(self) -> Path:
        cluster = {"server": self.api.url, "certificate-authority": str(self.api.certificate)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "it", "cluster": cluster}],
            "users": [{"name": "it", "user": {"token": self.api.token}}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
            "current-context": "it",
        }
        file = self.folder / "kubeconfig"
        file.write_text(json.dumps(config))
        return file

    def run(self, name: str) -> Object:
        """Return a run as it is stored."""
        code, found = self.api.request("GET", f"{GROUP}/workflows/{name}")
        assert code == 200, found
        return dict(found)

    def play(self, name: str, **status: object) -> None:
        """Say of a run what only the controller says."""
        body = {"status": {"startedAt": "2026-01-01T00:00:00Z", **status}}
        code, answer = self.api.request("PATCH", f"{GROUP}/workflows/{name}", body, patch="merge-patch+json")
        assert code == 200, answer


def encoded(data: bytes) -> str:
    """Return bytes as a token holds them."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def of(version: str, kind: str, name: str, space: str, **fields: object) -> Object:
    """Return an object."""
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": space}, **fields}


@contextlib.contextmanager
def prepared(api: "ApiServer", folder: Path) -> Iterator[Site]:
    """Yield a site whose server does not run yet."""
    from apiserver import programs

    programs("argo")
    site = Site(api, folder)
    with kubelet(api.certificate) as port:
        site.prepare(port)
        yield site

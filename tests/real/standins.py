"""What stands in for controllers that are only KWOK's pods: it writes what they would, and answers for their webhooks.

It writes each thing once, by another field manager than Argo CD's, as the programs do whose place it takes.
"""

import contextlib
import json
import ssl
import subprocess
import threading
import time
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

from twin.plane import Plane

from generator.components.exposure.kinds import KINDS
from generator.rehearsal.standin import StandIn
from generator.rehearsal.twin.twin import Twin

Object = dict[str, Any]
MADE = "2026-01-01T00:00:00Z"
READY = {"conditions": [{"type": "Ready", "status": "True", "reason": "Up", "message": "", "lastTransitionTime": MADE}]}
PHASE = {"phase": "Ready"}
ADDRESS = {"loadBalancer": {"ingress": [{"ip": "192.0.2.80"}]}}
CEPH, CERTIFICATES, TIGERA = "/apis/ceph.rook.io/v1", "/apis/cert-manager.io/v1", "/apis/operator.tigera.io/v1"
GATEWAYS = "/apis/gateway.networking.k8s.io/v1"
GATEWAY_STATUSES = {one.kind: one.status for one in KINDS}
STATUSES: dict[str, Object] = {
    f"{CEPH}/cephclusters": {"state": "Created", "phase": "Ready", "ceph": {"health": "HEALTH_OK"}},
    f"{CEPH}/cephblockpools": PHASE,
    f"{CEPH}/cephfilesystems": PHASE,
    f"{CEPH}/cephfilesystemsubvolumegroups": PHASE,
    f"{CEPH}/cephobjectstores": PHASE,
    f"{CEPH}/cephobjectstoreusers": PHASE,
    f"{CEPH}/cephnfses": PHASE,
    "/apis/objectbucket.io/v1alpha1/objectbucketclaims": {"phase": "Bound"},
    "/apis/mellanox.com/v1alpha1/nicclusterpolicies": {"state": "ready"},
    f"{CERTIFICATES}/certificates": READY,
    f"{CERTIFICATES}/clusterissuers": READY,
    f"{CERTIFICATES}/issuers": READY,
    f"{TIGERA}/installations": READY,
    f"{TIGERA}/apiservers": READY,
    f"{GATEWAYS}/gatewayclasses": GATEWAY_STATUSES["GatewayClass"],
    f"{GATEWAYS}/gateways": GATEWAY_STATUSES["Gateway"],
    f"{GATEWAYS}/httproutes": GATEWAY_STATUSES["HTTPRoute"],
    "/apis/networking.k8s.io/v1/ingresses": ADDRESS,
    "/api/v1/services": ADDRESS,
}
"""What a controller says of its objects once all is well, by where they are listed."""

WORKFLOWS = "/apis/argoproj.io/v1alpha1"
CRON_WORKFLOWS = f"{WORKFLOWS}/cronworkflows"
HOOKS = "/apis/admissionregistration.k8s.io/v1"
CONFIGURATIONS = (f"{HOOKS}/mutatingwebhookconfigurations", f"{HOOKS}/validatingwebhookconfigurations")
APIS = "/apis/apiregistration.k8s.io/v1/apiservices"
KUEUE = ("kueue-system", "kueue-webhook-service")
"""The Service that a program of this machine is."""


class Acting(Protocol):
    """Who acts on a cluster when it is asked."""

    def round(self) -> None:
        """Do what is to be done now."""


class StandIns:
    """Acts once each time it is asked; starts Kueue as soon as kubelet could. All Jobs end. `others` act after it."""

    def __init__(self, api: Plane, stack: contextlib.ExitStack) -> None:
        self.api, self.stack, self.twin = api, stack, Twin(api.real)
        self.pods = StandIn(api.real.cluster, frozenset())
        self.others: list[Acting] = []
        self.told: set[str] = set()
        self.answering: dict[tuple[str, str], str] = {}
        stack.callback(self.twin.stop_all)

    def round(self) -> None:
        """Do what is to be done now."""
        self.twin.start("kueue")
        self.pods.round()
        for kind, status in STATUSES.items():
            for one in self._items(kind):
                self._tell(kind, one, status)
        for one in self._items(CRON_WORKFLOWS):
            self._run(one)
        for kind in CONFIGURATIONS:
            for one in self._items(kind):
                self._answer_webhooks(kind, one)
        for one in self._items(APIS):
            self._answer_api(one)
        for each in self.others:
            each.round()

    def _items(self, kind: str) -> list[Object]:
        status, answer = self.api.request("GET", kind)
        return list(answer["items"]) if status == 200 else []

    def _tell(self, kind: str, one: Object, status: Object) -> None:
        """Write an object's status; into the object itself where its kind has no such part."""
        meta = one["metadata"]
        plain = kind.endswith("/services") and one["spec"].get("type") != "LoadBalancer"
        if plain or meta["uid"] in self.told:
            return
        group, _, plural = kind.rpartition("/")
        path = f"{group}/namespaces/{meta['namespace']}/{plural}" if "namespace" in meta else kind
        path += f"/{meta['name']}"
        if self._merge(f"{path}/status", {"status": status}) == 404:
            assert self._merge(path, {"status": status}) == 200
        self.told.add(meta["uid"])

    def _run(self, one: Object) -> None:
        """Have a good run of what is scheduled: without one a backup is not well."""
        meta, spec = one["metadata"], one["spec"]
        if meta["uid"] not in self.told:
            labels = spec.get("workflowMetadata", {}).get("labels", {})
            run = {"name": f"{meta['name']}-1", "namespace": meta["namespace"], "labels": labels}
            kind = {"apiVersion": one["apiVersion"], "kind": "Workflow", "metadata": run}
            path = f"{WORKFLOWS}/namespaces/{meta['namespace']}/workflows"
            status = {"phase": "Succeeded", "nodes": _looked_at(spec["workflowSpec"])}
            body = {**kind, "spec": spec["workflowSpec"], "status": status}
            assert self.api.request("POST", path, body)[0] == 201
            self.told.add(meta["uid"])

    def _merge(self, path: str, change: Object) -> int:
        return self.api.request("PATCH", f"{path}?fieldManager=stand-in", change, patch="merge-patch+json")[0]

    def _answer_webhooks(self, kind: str, one: Object) -> None:
        """Give each webhook the certificate of who answers, as cert-manager and operators do."""
        wanted = [self._with_bundle(each) for each in one.get("webhooks", [])]
        if wanted != one.get("webhooks", []):
            self._merge(f"{kind}/{one['metadata']['name']}", {"webhooks": wanted})

    def _with_bundle(self, webhook: Object) -> Object:
        bundle = self._bundle(webhook["clientConfig"].get("service"))
        return {**webhook, "clientConfig": {**webhook["clientConfig"], "caBundle": bundle}} if bundle else webhook

    def _answer_api(self, one: Object) -> None:
        bundle = self._bundle(one["spec"].get("service"))
        if bundle and not one["spec"].get("insecureSkipTLSVerify") and one["spec"].get("caBundle") != bundle:
            self._merge(f"{APIS}/{one['metadata']['name']}", {"spec": {"caBundle": bundle}})

    def _bundle(self, service: Object | None) -> str:
        """Return the certificate of who answers for a Service, who is started with the first that asks."""
        where = (service or {}).get("namespace", ""), (service or {}).get("name", "")
        if service is None or where == KUEUE:
            return ""
        found = self.api.get(f"/api/v1/namespaces/{where[0]}/services/{where[1]}")
        if where not in self.answering and found:
            host, port = found["spec"]["clusterIP"], service.get("port", 443)
            self.answering[where] = self.stack.enter_context(self._listening(*where, host, port))
        return self.answering.get(where, "")

    @contextlib.contextmanager
    def _listening(self, namespace: str, name: str, host: str, port: int) -> Iterator[str]:
        key, certificate = (self.api.address.folder / f"{namespace}-{name}.{end}" for end in ("key", "crt"))
        subject = ["-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}.{namespace}.svc", "-days", "2"]
        new = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        files = ["-keyout", str(key), "-out", str(certificate)]
        subprocess.run([*new, *subject, *files], check=True, capture_output=True)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate, key)
        with _Quiet((host, port), _Answering) as server:
            server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            try:
                yield b64encode(certificate.read_bytes()).decode()
            finally:
                server.shutdown()


def _looked_at(workflow: Object) -> Object:
    """Return the steps of a run that upload what control-plane nodes have taken, each with a good drill of today."""
    arguments = workflow.get("arguments", {}).get("parameters", [])
    nodes: list[str] = next((json.loads(one["value"]) for one in arguments if one["name"] == "nodes"), [])
    now = str(int(time.time()))
    told = {"taken": now, "worked": now, "good": "1"}
    outputs = {"parameters": [{"name": name, "value": value} for name, value in told.items()]}
    return {
        node: {
            "id": node,
            "name": node,
            "type": "Pod",
            "inputs": {"parameters": [{"name": "node", "value": node}]},
            "outputs": outputs,
        }
        for node in nodes
    }


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of connections that the API server breaks."""


class _Answering(BaseHTTPRequestHandler):
    """Allows whatever a webhook is asked, and is an API without resources."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = {"uid": review["request"]["uid"], "allowed": True}
        self._send({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": answer})

    def do_GET(self) -> None:
        parts = self.path.partition("?")[0].strip("/").split("/")
        version = "/".join(parts[1:3])
        self._send({"apiVersion": "v1", "kind": "APIResourceList", "groupVersion": version, "resources": []})

    def _send(self, answer: Object) -> None:
        content = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass

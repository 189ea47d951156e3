"""The API of custom metrics, as prometheus-adapter serves it, with values that a test says.

It stands where the adapter's Service leads: the API server itself speaks to it, and the autoscaler through that. At the
same place it tells what pods use, as metrics-server does.
"""

import contextlib
import json
import re
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from generator.components.prometheus_adapter import API_SERVICE, GROUP, METRICS, NAMESPACE
from twin.plane import Plane

Object = dict[str, Any]
NAME = "prometheus-adapter"
VERSION = f"{GROUP}/v1beta1"
USED, USED_SERVICE = "metrics.k8s.io/v1beta1", "v1beta1.metrics.k8s.io"
ASKED_USE = re.compile(rf"/apis/{USED}/namespaces/(?P<space>[^/]+)/pods")
ASKED = re.compile(rf"/apis/{VERSION}/namespaces/(?P<space>[^/]+)/pods/\*/(?P<metric>[^/]+)")


class Fed:
    """What the metrics are: the same for each pod that runs. `asked` counts how often an autoscaler asked for one. Each
    container uses `cpu`, and nothing is known of it while that is empty.
    """

    def __init__(self, api: Plane) -> None:
        self.api, self.values, self.asked, self.cpu = api, dict[str, str](), dict[str, int](), ""

    def list_of(self, space: str, metric: str, selector: str) -> Object | None:
        """Return the values of a metric of the pods that are selected, None where it is not served."""
        if metric not in {one.name for one in METRICS}:
            return None
        self.asked[metric] = self.asked.get(metric, 0) + 1
        running = self._running(space, selector) if metric in self.values else []
        items = [self._value(space, one["metadata"]["name"], metric) for one in running]
        return {"kind": "MetricValueList", "apiVersion": VERSION, "metadata": {}, "items": items}

    def used(self, space: str, selector: str) -> Object:
        """Return what the pods that are selected use."""
        items = [self._used(one) for one in self._running(space, selector)] if self.cpu else []
        return {"kind": "PodMetricsList", "apiVersion": USED, "metadata": {}, "items": items}

    def _running(self, space: str, selector: str) -> list[Object]:
        found = self.api.real.cluster.get(f"/api/v1/namespaces/{space}/pods?labelSelector={selector}") or {}
        return [one for one in found.get("items", []) if one["status"].get("phase") == "Running"]

    def _used(self, pod: Object) -> Object:
        use = {"cpu": self.cpu, "memory": "1Gi"}
        metadata = {key: pod["metadata"][key] for key in ("name", "namespace", "labels")}
        containers = [{"name": one["name"], "usage": use} for one in pod["spec"]["containers"]]
        return {"metadata": metadata, "timestamp": _now(), "window": "15s", "containers": containers}

    def _value(self, space: str, pod: str, metric: str) -> Object:
        return {
            "describedObject": {"kind": "Pod", "namespace": space, "name": pod, "apiVersion": "/v1"},
            "metricName": metric,
            "timestamp": _now(),
            "value": self.values[metric],
            "selector": None,
        }

    def answer(self, path: str) -> Object | None:
        """Return what the API answers, None for what it does not have."""
        parts = urlsplit(path)
        if parts.path == f"/apis/{VERSION}":
            resource = {"singularName": "", "namespaced": True, "kind": "MetricValueList", "verbs": ["get"]}
            resources = [resource | {"name": f"pods/{one.name}"} for one in METRICS]
            return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": VERSION, "resources": resources}
        if parts.path == f"/apis/{USED}":
            pods = {
                "name": "pods",
                "singularName": "",
                "namespaced": True,
                "kind": "PodMetrics",
                "verbs": ["get", "list"],
            }
            return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": USED, "resources": [pods]}
        selector = quote(parse_qs(parts.query).get("labelSelector", [""])[0], safe="")
        if use := ASKED_USE.fullmatch(parts.path):
            return self.used(use["space"], selector)
        asked = ASKED.fullmatch(unquote(parts.path))
        return self.list_of(asked["space"], asked["metric"], selector) if asked else None


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@contextlib.contextmanager
def fed(api: Plane) -> Iterator[Fed]:
    """Serve metrics to the twin's autoscalers."""
    made = Fed(api)
    for one in (namespace(), service()):
        api.apply(one)
    host = api.get(f"/api/v1/namespaces/{NAMESPACE}/services/{NAME}")["spec"]["clusterIP"]
    server = ThreadingHTTPServer((host, 443), handler(made))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(api.address.certificate, api.address.key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for one in (endpoints(), api_service(API_SERVICE), api_service(USED_SERVICE)):
        api.apply(one)
    try:
        api.wait("metrics are served", lambda: available(api, API_SERVICE) and available(api, USED_SERVICE))
        yield made
    finally:
        for name in (API_SERVICE, USED_SERVICE):
            api.request("DELETE", f"/apis/apiregistration.k8s.io/v1/apiservices/{name}")
        server.shutdown()
        server.server_close()


def handler(made: Fed) -> type[BaseHTTPRequestHandler]:
    """Return what answers requests."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            answer = made.answer(self.path)
            body = json.dumps(answer or {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404})
            self.send_response(200 if answer else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Handler


def namespace() -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}


def service() -> Object:
    spec = {"ports": [{"name": "https", "port": 443, "protocol": "TCP"}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": NAME, "namespace": NAMESPACE}, "spec": spec}


def endpoints() -> Object:
    """An API server asks whether there is a pod behind the Service before it asks the Service itself. Any address
    does: it goes by the Service's.
    """
    metadata = {"name": NAME, "namespace": NAMESPACE, "labels": {"kubernetes.io/service-name": NAME}}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": metadata,
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.244.0.2"], "conditions": {"ready": True}}],
        "ports": [{"name": "https", "port": 443, "protocol": "TCP"}],
    }


def api_service(name: str) -> Object:
    version, _, group = name.partition(".")
    spec = {
        "group": group,
        "version": version,
        "service": {"name": NAME, "namespace": NAMESPACE},
        "insecureSkipTLSVerify": True,
        "groupPriorityMinimum": 100,
        "versionPriority": 100,
    }
    kind = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService"}
    return kind | {"metadata": {"name": name}, "spec": spec}


def available(api: Plane, name: str) -> bool:
    """Tell whether the API server has reached it."""
    found = api.get(f"/apis/apiregistration.k8s.io/v1/apiservices/{name}") or {}
    conditions = found.get("status", {}).get("conditions") or []
    return any(one["type"] == "Available" and one["status"] == "True" for one in conditions)

"""A site whose teams are reached from outside, for a real controller of Gateways: what is rendered, what teams write,
and what a team writes to be reached by what is not its own.

The admission policy of routes comes after those that it would refuse: what the Gateway itself keeps to is seen alone.
"""

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from generator.components import JOBS
from generator.components.cilium import ROUTING, ROUTING_CRDS
from generator.components.component import Component
from generator.components.exposure import exposure
from generator.components.exposure.layout import GATEWAY, NAMESPACE
from generator.components.tenants import tenants
from generator.model.cluster import Cluster

if TYPE_CHECKING:
    from apiserver import ApiServer

Object = dict[str, Any]
HOST, GRPC, OTHERS = (f"{one}.apps.serving.example.org" for one in ("search", "asr.search", "assistant"))
WITHOUT = "speech"
"""A team without hosts."""
PARENT = {"name": GATEWAY, "namespace": NAMESPACE}


def route(name: str, space: str, kind: str = "HTTPRoute", port: int = 8000, **said: Any) -> Object:
    """Return a route; `said` is what is otherwise than in that of team search."""
    spec = {"parentRefs": [PARENT], "hostnames": [HOST], "rules": [{"backendRefs": [{"name": "asr", "port": port}]}]}
    return {
        "apiVersion": f"{ROUTING}/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": space},
        "spec": {key: value for key, value in (spec | said).items() if value},
    }


GOOD = (
    route("asr", "search"),
    route("asr", "search", "GRPCRoute", 8001, hostnames=[GRPC]),
    route("asr", "assistant", hostnames=[OTHERS]),
)
REFUSED = (
    route("another-team", "assistant"),
    route("another-team-by-its-listener", "assistant", parentRefs=[PARENT | {"sectionName": HOST}]),
    route("the-redirection", "assistant", hostnames=[OTHERS], parentRefs=[PARENT | {"sectionName": "http"}]),
    route("all-hosts", WITHOUT, hostnames=[]),
)
"""Routes that no listener takes."""
STOLEN = route(
    "leads-to-another-team",
    "search",
    rules=[
        {
            "matches": [{"path": {"type": "PathPrefix", "value": "/stolen"}}],
            "backendRefs": [{"name": "asr", "namespace": "assistant", "port": 8000}],
        }
    ],
)
"""A route that a listener takes, and that leads to a Service of another team."""


def prepare(api: "ApiServer", cluster: Cluster, folder: Path, *parts: Component) -> None:
    """Store what is rendered, as waves have it: `parts` are those of who serves the Gateway. Then what teams write."""
    from apiserver import sources

    api.define(*(sources("gateway-api") / address.rpartition("/")[2] for address in ROUTING_CRDS))
    made, teams = exposure(cluster), tenants(cluster, JOBS)
    for space in (space for part in (*parts, teams, made) for space in part.namespaces):
        api.namespace(space.name, space.labels)
    for secret in made.secrets:
        api.apply(certificate(NAMESPACE, secret.name, folder, secret.name))
    later = [one for one in made.objects if one["apiVersion"].startswith("admissionregistration.")]
    first = [one for one in made.objects if one not in later and one["kind"] != "Certificate"]
    served = [service(space) for space in ("search", "assistant", WITHOUT)]
    for manifest in (*first, *served, *GOOD, *REFUSED, STOLEN, *later):
        api.apply(manifest)


def service(space: str) -> Object:
    """Return what answers in a team's namespace."""
    spec = {"selector": {"app": "asr"}, "ports": [{"name": f"p{port}", "port": port} for port in (8000, 8001)]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "asr", "namespace": space}, "spec": spec}


def certificate(space: str, name: str, folder: Path, host: str) -> Object:
    """Return what cert-manager makes for a host."""
    key, shown = folder / "tls.key", folder / "tls.crt"
    new = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    more = ["-subj", f"/CN={host}", "-addext", f"subjectAltName=DNS:{host}", "-keyout", str(key), "-out", str(shown)]
    subprocess.run([*new, *more], check=True, capture_output=True)
    data = {"ca.crt": shown.read_text(), "tls.crt": shown.read_text(), "tls.key": key.read_text()}
    metadata = {"name": name, "namespace": space}
    return {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": metadata, "stringData": data}


def kubeconfig(api: "ApiServer", folder: Path, space: str, name: str) -> Path:
    """Write a kubeconfig of an account."""
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    status, answer = api.request("POST", f"/api/v1/namespaces/{space}/serviceaccounts/{name}/token", asked)
    assert status == 201, answer
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "it", "cluster": {"server": api.url, "certificate-authority": str(api.certificate)}}],
        "users": [{"name": "it", "user": {"token": answer["status"]["token"]}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "current-context": "it",
    }
    file = folder / "kubeconfig"
    file.write_text(json.dumps(config))
    return file


def got(api: "ApiServer", manifest: Object) -> Object:
    """Return an object as it is stored."""
    status, found = api.request("GET", api.path(manifest, named=True))
    assert status == 200, found
    return dict(found)


def told(api: "ApiServer", manifest: Object) -> dict[str, tuple[str, str]]:
    """Return the conditions of a route: whether each holds, and why."""
    parents = got(api, manifest).get("status", {}).get("parents", [])
    return {one["type"]: (one["status"], one["reason"]) for part in parents for one in part["conditions"]}


def gateway(cluster: Cluster) -> Object:
    """Return the Gateway as it is rendered."""
    (found,) = (one for one in exposure(cluster).objects if one["kind"] == "Gateway")
    return found


def holding(status: Object) -> dict[str, str]:
    """Return which conditions of a status hold."""
    return {one["type"]: one["status"] for one in status.get("conditions", [])}


def listeners(api: "ApiServer", cluster: Cluster) -> dict[str, Object]:
    """Return what is told of each listener."""
    return {one["name"]: one for one in got(api, gateway(cluster))["status"].get("listeners", [])}


def hosts(cluster: Cluster) -> set[str]:
    """Return the hosts of all teams."""
    return {host for team in cluster.teams for host in team.hosts}

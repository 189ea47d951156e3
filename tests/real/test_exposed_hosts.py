"""What the API server says to routes of a team, and to those who try to be reached by what is not theirs.

What is tried here is what is stored, and what is never. What the Gateway itself keeps to, without this rule, is tried
with the controller that serves it (`test_gateway_cilium.py`).
"""

from typing import TYPE_CHECKING, Any

import pytest
from reference import load

from generator.components import JOBS
from generator.components.cilium import ROUTING_CRDS
from generator.components.common import OIDC_PREFIX
from generator.components.exposure import exposure
from generator.components.tenants import tenants
from generator.workloads import workload
from generator.workloads.wanted import Serving, Wanted

if TYPE_CHECKING:
    from apiserver import ApiServer, Identity

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.real

Object = dict[str, Any]
TEAM, OTHER, WITHOUT = "search", "assistant", "speech"
HOST, FOREIGN = "search.apps.serving.example.org", "assistant.apps.serving.example.org"
GATEWAY = {"name": "teams", "namespace": "exposure"}
SERVICE = {"name": "asr", "port": 8000}
ADMIN = ("bob", ("platform", "system:authenticated"))


def member(team: str = TEAM) -> "Identity":
    return "oidc:alice", (OIDC_PREFIX + team, "system:authenticated")


@pytest.fixture(scope="module")
def site(api: "ApiServer") -> "ApiServer":
    """The namespaces of teams and the Gateway, as gen makes them."""
    from apiserver import sources

    cluster, folder = load("gpu-serving"), sources("gateway-api")
    api.define(*(folder / address.rpartition("/")[2] for address in ROUTING_CRDS))
    api.install("cilium/1.20.0/crds", "kueue/v0.18.3/crds", "cert-manager/v1.21.1/crds", "rook/v1.20.6/crds")
    made = (tenants(cluster, JOBS), exposure(cluster))
    for namespace in (space for one in made for space in one.namespaces):
        security = {"pod-security.kubernetes.io/enforce": namespace.security or "privileged"}
        api.namespace(namespace.name, namespace.labels | security)
    for manifest in (item for one in made for item in (*one.base, *one.objects)):
        api.apply(manifest)
    api.apply(bind("exposure-admin", "platform"))
    api.wait("the rule holds", lambda: api.create(route(hostnames=[FOREIGN]), by=ADMIN)[0] == 422)
    api.wait("and knows the Gateway", lambda: api.create(route(), by=member())[0] == 201)
    return api


def bind(name: str, group: str) -> Object:
    api_group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{api_group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"test-{name}"},
        "roleRef": {"apiGroup": api_group, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": api_group, "kind": "Group", "name": group}],
    }


def route(kind: str = "HTTPRoute", namespace: str = TEAM, **spec: Any) -> Object:
    """Return a team's route to its Service; `spec` is what is otherwise."""
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": "asr", "namespace": namespace},
        "spec": {"parentRefs": [GATEWAY], "hostnames": [HOST], "rules": [{"backendRefs": [SERVICE]}]} | spec,
    }


def rules(*references: Object, **more: Any) -> list[Object]:
    return [{"backendRefs": list(references)} | more]


def mirror(**more: str) -> list[Object]:
    return [{"type": "RequestMirror", "requestMirror": {"backendRef": SERVICE | more}}]


def written() -> Object:
    """Return the route that gen writes for a Triton of the team."""
    serving = Serving(models="pvc://models", least=1, most=1, host=HOST)
    wanted = Wanted(name="asr", team=TEAM, pool="l4", gpus=1, image="example.org/triton:26.07", serving=serving)
    (route,) = (one for one in workload(load("gpu-serving"), "triton", wanted).manifests if one["kind"] == "HTTPRoute")
    return route


REDIRECT = [{"type": "RequestRedirect", "requestRedirect": {"hostname": "elsewhere.example.org"}}]
OPEN = {
    "a host of its own": route(),
    "another one, below it": route(hostnames=["asr.search.apps.serving.example.org"]),
    "gRPC": route("GRPCRoute", rules=rules(SERVICE | {"port": 8001})),
    "its own namespace, said": route(rules=rules(SERVICE | {"namespace": TEAM})),
    "one listener": route(parentRefs=[GATEWAY | {"sectionName": HOST}]),
    "a copy to a Service of its own": route(rules=rules(SERVICE, filters=mirror())),
    "Triton's, as gen writes it": written(),
    "no Service yet": route(rules=[{"filters": REDIRECT}]),
}


@pytest.mark.parametrize("name", OPEN)
def test_a_team_says_what_answers_by_its_hosts(site: "ApiServer", name: str) -> None:
    assert site.create(OPEN[name], by=member()) == (201, "")


PARENT, NAMES, SERVICES = "name the Gateway teams", "name hosts of this team", "Services of this namespace alone"
CLOSED = {
    "another team's host": (route(hostnames=[FOREIGN]), NAMES),
    "another team's host beside its own": (route(hostnames=[HOST, FOREIGN]), NAMES),
    "another team's host by gRPC": (route("GRPCRoute", hostnames=[FOREIGN]), NAMES),
    "all hosts": (route(hostnames=[]), NAMES),
    "all hosts of the domain": (route(hostnames=["*.apps.serving.example.org"]), NAMES),
    "all hosts below its own": (route(hostnames=["*.search.apps.serving.example.org"]), NAMES),
    "a host below its own that nobody gave it": (route(hostnames=["x.search.apps.serving.example.org"]), NAMES),
    "Argo CD's host": (route(hostnames=["argocd.serving.example.org"]), NAMES),
    "a host of nobody": (route(hostnames=["www.example.com"]), NAMES),
    "another team's Service": (route(rules=rules(SERVICE | {"namespace": OTHER})), SERVICES),
    "the API server": (route(rules=rules({"name": "kubernetes", "namespace": "default", "port": 443})), SERVICES),
    "another team's Service behind its own": (
        route(rules=[*rules(SERVICE), *rules(SERVICE | {"namespace": OTHER})]),
        SERVICES,
    ),
    "a copy to another team": (route(rules=rules(SERVICE, filters=mirror(namespace=OTHER))), SERVICES),
    "a copy of one Service's part to another team": (
        route(rules=rules(SERVICE | {"filters": mirror(namespace=OTHER)})),
        SERVICES,
    ),
    "a copy of gRPC to another team": (
        route("GRPCRoute", rules=rules(SERVICE, filters=mirror(namespace=OTHER))),
        SERVICES,
    ),
    "a Gateway of another namespace": (route(parentRefs=[GATEWAY | {"namespace": "kube-system"}]), PARENT),
    "another Gateway beside the teams'": (route(parentRefs=[GATEWAY | {"name": "platform"}]), PARENT),
    "a Gateway of its own": (route(parentRefs=[{"name": "teams"}]), PARENT),
    "another Gateway beside it": (route(parentRefs=[GATEWAY, {"name": "own"}]), PARENT),
    "a Service as parent": (route(parentRefs=[{"kind": "Service", "group": "", "name": "asr", "port": 80}]), PARENT),
    "another team's Service as parent": (
        route(parentRefs=[{"kind": "Service", "group": "", "name": "asr", "namespace": OTHER, "port": 80}]),
        PARENT,
    ),
    "no parent": (route(parentRefs=[]), PARENT),
}


@pytest.mark.parametrize("who", [member(), ADMIN], ids=["member", "administrator"])
@pytest.mark.parametrize("name", CLOSED)
def test_nothing_leads_to_or_from_what_is_not_the_team_s(site: "ApiServer", name: str, who: "Identity") -> None:
    manifest, told = CLOSED[name]
    status, message = site.create(manifest, by=who)
    assert (status, "gen-routes" in message, told in message) == (422, True, True), message


def test_a_route_cannot_be_turned_later(site: "ApiServer") -> None:
    site.apply(route())
    try:
        stored = site.request("GET", site.path(route(), named=True))[1]
        for host, status, told in (("asr.search.apps.serving.example.org", 200, ""), (FOREIGN, 422, NAMES)):
            answer = site.update(stored | {"spec": stored["spec"] | {"hostnames": [host]}}, by=member())
            assert (answer[0], told in answer[1]) == (status, True), answer
    finally:
        site.request("DELETE", site.path(route(), named=True))


def test_what_leaves_the_gateway_is_no_longer_the_team_s(site: "ApiServer") -> None:
    """The rule reads the Gateway: a host that its administrator takes away is refused from then on."""
    cluster = load("gpu-serving")
    gateway = next(one for one in exposure(cluster).objects if one["kind"] == "Gateway")
    fewer = [one for one in gateway["spec"]["listeners"] if one["name"] != HOST]
    site.apply(gateway | {"spec": gateway["spec"] | {"listeners": fewer}})
    try:
        site.wait("the host is refused", lambda: site.create(route(), by=member())[0] == 422)
    finally:
        site.apply(gateway)
        site.wait("the host is back", lambda: site.create(route(), by=member())[0] == 201)


ROUTES = "/apis/gateway.networking.k8s.io/v1/namespaces"
RIGHTS = [
    ("POST", f"{ROUTES}/{TEAM}/gateways", "take an address of its own"),
    ("POST", f"{ROUTES}/{TEAM}/referencegrants", "let others in"),
    ("POST", f"{ROUTES}/{TEAM}/backendtlspolicies", "say whom the Gateway trusts"),
    ("POST", f"{ROUTES}/{TEAM}/tlsroutes", "pass TLS by the Gateway"),
    ("PATCH", f"{ROUTES}/exposure/gateways/teams", "have more hosts"),
    ("POST", f"{ROUTES}/exposure/httproutes", "write into the Gateway's namespace"),
    ("POST", f"{ROUTES}/{OTHER}/httproutes", "write into another team's namespace"),
    ("PATCH", f"{ROUTES}/{TEAM}/httproutes/asr/status", "say that a route is accepted"),
    ("GET", "/api/v1/namespaces/exposure/secrets", "read the keys of certificates"),
    ("POST", f"/apis/cert-manager.io/v1/namespaces/{TEAM}/certificates", "have a certificate signed"),
    ("POST", f"/apis/networking.k8s.io/v1/namespaces/{TEAM}/ingresses", "pass by the Gateway"),
    ("POST", f"/apis/cilium.io/v2/namespaces/{TEAM}/ciliumenvoyconfigs", "tell Envoy by itself"),
    ("POST", f"/apis/discovery.k8s.io/v1/namespaces/{TEAM}/endpointslices", "lead its Service elsewhere"),
    ("POST", f"/api/v1/namespaces/{TEAM}/endpoints", "lead its Service elsewhere, the old way"),
    ("PATCH", f"/api/v1/namespaces/{TEAM}", "belong to another team"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "to"), RIGHTS, ids=[to for _, _, to in RIGHTS])
def test_members_have_no_right_to(site: "ApiServer", method: str, path: str, to: str) -> None:
    status, answer = site.request(method, path, {} if method in {"POST", "PATCH"} else None, by=member())
    assert status == 403, (to, answer)


def test_a_team_without_hosts_makes_no_routes(site: "ApiServer") -> None:
    assert site.create(route(namespace=WITHOUT), by=member(WITHOUT))[0] == 403
    status, message = site.create(route(namespace=WITHOUT), by=ADMIN)
    assert (status, NAMES in message) == (422, True), message


def test_viewers_see_routes_and_change_none(site: "ApiServer") -> None:
    path, viewer = f"{ROUTES}/{TEAM}/httproutes", member("sre")
    assert site.request("GET", path, by=viewer)[0] == 200
    assert site.create(route(), by=viewer)[0] == 403


@pytest.mark.parametrize(("kind", "counted"), [("NodePort", "nodeports"), ("LoadBalancer", "loadbalancers")])
def test_a_service_is_no_way_past_the_gateway(site: "ApiServer", kind: str, counted: str) -> None:
    spec = {"type": kind, "selector": {"app": "asr"}, "ports": [{"port": 8000}]}
    made = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "asr", "namespace": TEAM}, "spec": spec}
    count(site, TEAM)
    site.wait(
        "a Service within the cluster is taken",
        lambda: site.create(made | {"spec": spec | {"type": "ClusterIP"}}, by=member())[0] == 201,
    )
    status, message = site.create(made, by=member())
    assert (status, f"exceeded quota: team, requested: services.{counted}=1" in message) == (403, True), message


def test_the_quota_bounds_routes(site: "ApiServer") -> None:
    count(site, TEAM, **{"count/httproutes.gateway.networking.k8s.io": "100"})
    site.wait("no more routes are taken", lambda: site.create(route(), by=member())[0] == 403)
    status, message = site.create(route(), by=member())
    assert (status, "count/httproutes.gateway.networking.k8s.io=1" in message) == (403, True), message
    count(site, TEAM)
    site.wait("routes are taken again", lambda: site.create(route(), by=member())[0] == 201)


def count(site: "ApiServer", team: str, **used: str) -> None:
    """Say what a quota has in use, as its controller does: it does not run here."""
    path = f"/api/v1/namespaces/{team}/resourcequotas/team"
    hard = site.request("GET", path)[1]["spec"]["hard"]
    status = {"hard": hard, "used": dict.fromkeys(hard, "0") | used}
    answer = site.request("PATCH", f"{path}/status", {"status": status}, patch="merge-patch+json")
    assert answer[0] == 200, answer

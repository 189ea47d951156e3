"""Envoy Gateway acts on the Gateway and the routes as they are rendered for Calico, with the settings and the rights
that are rendered. Calico's controllers, which give the address out, and nodes are played; Envoys do not run here.
"""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from gatewaysite import (
    GOOD,
    GRPC,
    HOST,
    OTHERS,
    REFUSED,
    STOLEN,
    WITHOUT,
    certificate,
    gateway,
    got,
    holding,
    hosts,
    kubeconfig,
    listeners,
    prepare,
    route,
    told,
)
from msgspec import structs
from reference import load

from generator.components import JOBS
from generator.components.envoy_gateway import HMAC, envoy_gateway
from generator.components.envoy_gateway.layout import GROUP, NAME, NAMESPACE, PORTS, PROXIES, VERSIONS
from generator.components.envoy_gateway.proxies import answers
from generator.components.envoy_gateway.rights import READER
from generator.components.tenants import tenants
from generator.model.fields import dig
from generator.rehearsal.twin.running import listens, running

if TYPE_CHECKING:
    from apiserver import ApiServer

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.gateway

Object = dict[str, Any]
SERVING = load("gpu-serving")
CLUSTER = structs.replace(SERVING, networks=structs.replace(SERVING.networks, cni="calico"))
WATCHED = [one for one in REFUSED if one["metadata"]["namespace"] != WITHOUT]
OWN = f"/api/v1/namespaces/{NAMESPACE}"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator["ApiServer"]:
    from apiserver import sources, start

    folder, made = tmp_path_factory.mktemp("gateway"), envoy_gateway(CLUSTER)
    with start(folder) as api:
        own = [one.rpartition("/")[2] for one in VERSIONS.of(CLUSTER).manifests if f"/{GROUP}_" in one]
        api.define(*(sources("envoy-gateway") / one for one in own))
        prepare(api, CLUSTER, folder, made)
        for manifest in (*made.base, *made.objects):
            if not manifest["apiVersion"].startswith("cert-manager."):
                api.apply(manifest)
        for manifest in tenants(CLUSTER, JOBS).objects:
            if manifest["metadata"]["name"] == READER:
                api.apply(manifest)
        for secret in made.secrets:
            if secret.source == "in-cluster":
                api.apply(certificate(NAMESPACE, secret.name, folder, f"{NAME}.{NAMESPACE}"))
        key = {"metadata": {"name": HMAC, "namespace": NAMESPACE}, "stringData": {"hmac-secret": "0" * 32}}
        api.apply({"apiVersion": "v1", "kind": "Secret"} | key)
        with controller(api, folder):
            api.wait("routes are judged", lambda: all(told(api, one) for one in (*GOOD, *WATCHED, STOLEN)))
            yield api


@contextlib.contextmanager
def controller(api: "ApiServer", folder: Path) -> Iterator[None]:
    """Run it by its own account, with the settings that are rendered, and its certificates beside it."""
    from apiserver import programs

    (program,) = programs(NAME)
    (config,) = (one["data"] for one in envoy_gateway(CLUSTER).objects if one["kind"] == "ConfigMap")
    for name, text in config.items():
        (folder / name).write_text(text)
    work = folder / NAME
    (work / "certs").mkdir(parents=True)
    for name, text in certificate(NAMESPACE, NAME, folder, "localhost")["stringData"].items():
        (work / "certs" / name).write_text(text)
    env = {"ENVOY_GATEWAY_NAMESPACE": NAMESPACE, "KUBECONFIG": str(kubeconfig(api, folder, NAMESPACE, NAME))}
    command = [program, "server", f"--config-path={folder / 'envoy-gateway.yaml'}"]
    with running(work, command, lambda: listens(8081), **env):
        yield


def envoys(site: "ApiServer", group: str, plural: str) -> Object:
    """Return the one object of a kind that is made for the Gateway's Envoys."""
    selector = ",".join(f"{key}={value}" for key, value in PROXIES.items()).replace("/", "%2F").replace("=", "%3D")
    path = f"/{group}/namespaces/{NAMESPACE}/{plural}?labelSelector={selector}"
    site.wait(f"{plural} are made", lambda: bool(site.request("GET", path)[1]["items"]))
    (found,) = site.request("GET", path)[1]["items"]
    return dict(found)


def test_envoys_are_made_as_the_file_and_the_namespace_want_them(site: "ApiServer") -> None:
    made = envoys(site, "apis/apps/v1", "deployments")
    pod = made["spec"]["template"]
    assert PROXIES.items() <= pod["metadata"]["labels"].items()
    assert made["spec"]["replicas"] == 2
    assert pod["spec"]["priorityClassName"] == "system-cluster-critical"
    images = {one["image"] for one in pod["spec"]["containers"]}
    assert images == {*VERSIONS.of(CLUSTER).images.values()}
    # As its controller would: the namespace is `restricted`, and refuses what is not.
    bare = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "envoy", "namespace": NAMESPACE}}
    assert site.create(bare | {"spec": pod["spec"]}) == (201, "")


def test_the_gateway_has_the_address_that_calico_gives_its_service(site: "ApiServer") -> None:
    made, declared = envoys(site, "api/v1", "services"), CLUSTER.networks.exposure
    assert declared
    asked = json.loads(made["metadata"]["annotations"]["projectcalico.org/loadBalancerIPs"])
    assert asked == [str(declared.address)]
    assert (made["spec"]["type"], made["spec"].get("externalIPs")) == ("LoadBalancer", None)
    assert {one["port"]: one["targetPort"] for one in made["spec"]["ports"]} == dict(zip((80, 443), PORTS, strict=True))
    play(site, f"{OWN}/services/{made['metadata']['name']}", {"loadBalancer": {"ingress": [{"ip": asked[0]}]}})
    deployment = envoys(site, "apis/apps/v1", "deployments")["metadata"]["name"]
    ready = dict.fromkeys(("replicas", "readyReplicas", "availableReplicas", "updatedReplicas"), 2)
    play(site, f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{deployment}", ready)
    site.wait("it is served", lambda: holding(got(site, gateway(CLUSTER))["status"]).get("Programmed") == "True")
    assert [one["value"] for one in got(site, gateway(CLUSTER))["status"]["addresses"]] == asked


def test_answers_of_all_routes_may_take_as_long_as_the_policy_says(site: "ApiServer") -> None:
    site.wait("it is judged", lambda: bool(got(site, answers()).get("status")))
    (of_gateway,) = got(site, answers())["status"]["ancestors"]
    assert of_gateway["ancestorRef"]["name"] == gateway(CLUSTER)["metadata"]["name"]
    assert holding(of_gateway)["Accepted"] == "True"


def play(site: "ApiServer", path: str, status: Object) -> None:
    """Say of an object what a controller would that does not run here."""
    answer = site.request("PATCH", f"{path}/status", {"status": status}, patch="merge-patch+json")
    assert answer[0] == 200, answer


def test_each_listener_has_its_certificate_and_the_routes_of_its_team(site: "ApiServer") -> None:
    found = listeners(site, CLUSTER)
    assert {*found} == hosts(CLUSTER) | {"http"}
    assert {holding(one)["ResolvedRefs"] for one in found.values()} == {"True"}
    attached = {name: one["attachedRoutes"] for name, one in found.items() if one["attachedRoutes"]}
    assert attached == {"http": 1, HOST: 2, GRPC: 1, OTHERS: 1}


@pytest.mark.parametrize("manifest", GOOD, ids=lambda one: f"{one['kind']}-{one['metadata']['namespace']}")
def test_routes_of_teams_are_taken(site: "ApiServer", manifest: Object) -> None:
    # No pod answers: of nodes and pods nothing runs here.
    assert told(site, manifest) == {
        "Accepted": ("True", "Accepted"),
        "ResolvedRefs": ("True", "ResolvedRefs"),
        "BackendsAvailable": ("False", "EndpointsNotFound"),
    }


@pytest.mark.parametrize("manifest", WATCHED, ids=lambda one: one["metadata"]["name"])
def test_no_listener_takes(site: "ApiServer", manifest: Object) -> None:
    assert told(site, manifest)["Accepted"][0] == "False"


def test_it_does_not_even_read_routes_of_teams_without_hosts(site: "ApiServer") -> None:
    (foreign,) = (one for one in REFUSED if one not in WATCHED)
    assert told(site, foreign) == {}
    account = f"system:serviceaccount:{NAMESPACE}:{NAME}"
    for path in ("/api/v1/secrets", f"/api/v1/namespaces/{WITHOUT}/secrets"):
        assert site.request("GET", path, by=(account, ("system:authenticated",)))[0] == 403


def test_it_leads_to_no_service_of_another_team(site: "ApiServer") -> None:
    assert told(site, STOLEN)["ResolvedRefs"] == ("False", "RefNotPermitted")


def test_it_follows_no_name_to_where_only_it_may_go(site: "ApiServer") -> None:
    """Its Envoys reach all teams with hosts: a Service that is a name for another team's would lead there."""
    spec = {"type": "ExternalName", "externalName": "asr.assistant.svc.cluster.local", "ports": [{"port": 8000}]}
    named = {"metadata": {"name": "by-name", "namespace": "search"}, "spec": spec}
    site.apply({"apiVersion": "v1", "kind": "Service", **named})
    rules = [{"matches": [{"path": {"value": "/by-name"}}], "backendRefs": [{"name": "by-name", "port": 8000}]}]
    led = route("by-name", "search", rules=rules)
    site.apply(led)
    site.wait("it is judged", lambda: bool(told(site, led)))
    assert told(site, led)["ResolvedRefs"] == ("False", "UnsupportedValue")


def test_its_rights_are_enough(site: "ApiServer") -> None:
    """What it may not do its log says, again and again."""
    log = next(Path(str(site.certificate)).parents[1].glob(f"{NAME}/env.log")).read_text()
    assert [line for line in log.splitlines() if "forbidden" in line] == []
    assert dig(got(site, gateway(CLUSTER)), "status", "listeners")

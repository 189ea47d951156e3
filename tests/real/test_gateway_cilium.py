"""Cilium's own operator acts on the Gateway, the address and the routes as they are rendered, with the settings and the
rights of its chart. Its agents need a kernel of their own and do not run here: the last that is seen is what it tells
their Envoys.
"""

import contextlib
import json
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from gatewaysite import (
    GOOD,
    GRPC,
    HOST,
    OTHERS,
    REFUSED,
    STOLEN,
    gateway,
    got,
    holding,
    hosts,
    kubeconfig,
    listeners,
    prepare,
    told,
)
from reference import load

from generator.components.cilium import SECRETS_NAMESPACE, cilium
from generator.components.exposure.layout import GATEWAY, NAMESPACE
from generator.components.load_balancer import load_balancer
from generator.live.apiserver import free_ports
from generator.rehearsal.twin.running import listens, running

if TYPE_CHECKING:
    from apiserver import ApiServer

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.gateway

Object = dict[str, Any]
CLUSTER = load("gpu-serving")
PROGRAM = "cilium-operator"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator["ApiServer"]:
    from apiserver import start

    folder = tmp_path_factory.mktemp("gateway")
    with start(folder) as api:
        charted = inflated(folder)
        api.namespace(NAMESPACE)
        prepare(api, CLUSTER, folder, cilium(CLUSTER))
        for manifest in charted:
            if manifest["kind"] in {"ServiceAccount", "GatewayClass"} or "rbac." in manifest["apiVersion"]:
                api.apply(manifest)
        with operator(api, folder, charted):
            for manifest in load_balancer(CLUSTER).objects:
                api.wait(f"{manifest['kind']} is known", partial(known, api, manifest))
                api.apply(manifest)
            api.wait("routes are judged", lambda: all(told(api, one) for one in (*GOOD, *REFUSED, STOLEN)))
            yield api


def inflated(folder: Path) -> list[Object]:
    """Return what Cilium's chart makes of gen's values."""
    from apiserver import programs, sources

    (helm,), (release,) = programs("helm"), cilium(CLUSTER).releases
    (folder / "values.yaml").write_text(yaml.safe_dump(release.values))
    given = ["--kube-version", CLUSTER.kubernetes.version, "--values", str(folder / "values.yaml")]
    command = [helm, "template", release.name, str(sources("cilium")), "--namespace", release.namespace, *given]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [one for one in yaml.load_all(done.stdout, yaml.CSafeLoader) if one]


@contextlib.contextmanager
def operator(api: "ApiServer", folder: Path, charted: list[Object]) -> Iterator[None]:
    """Run the operator by its own account, with the settings that the chart gives it."""
    from apiserver import programs

    (program,) = programs(PROGRAM)
    settings = folder / "settings"
    settings.mkdir()
    (config,) = (one["data"] for one in charted if one["metadata"]["name"] == "cilium-config")
    for key, value in config.items():
        (settings / key).write_text(value)
    health, metrics, gops = free_ports(3)
    own = {"operator-api-serve-addr": health, "operator-prometheus-serve-addr": metrics}
    account = kubeconfig(api, folder, "kube-system", PROGRAM)
    command = [program, f"--config-dir={settings}", f"--k8s-kubeconfig-path={account}", f"--gops-port={gops}"]
    command += [f"--{key}=127.0.0.1:{port}" for key, port in own.items()]
    with running(folder / PROGRAM, command, lambda: listens(health), CILIUM_K8S_NAMESPACE="kube-system"):
        yield


def known(api: "ApiServer", manifest: Object) -> bool:
    return bool(api.request("GET", api.path(manifest))[0] == 200)


def test_the_gateway_is_served_at_the_address_of_the_file(site: "ApiServer") -> None:
    site.wait("it is served", lambda: holding(got(site, gateway(CLUSTER))["status"]).get("Programmed") == "True")
    found, declared = got(site, gateway(CLUSTER))["status"], CLUSTER.networks.exposure
    assert declared
    assert holding(found)["Accepted"] == "True"
    assert [one["value"] for one in found["addresses"]] == [str(declared.address)]


def test_each_listener_has_its_certificate_and_the_routes_of_its_team(site: "ApiServer") -> None:
    found = listeners(site, CLUSTER)
    assert {*found} == hosts(CLUSTER) | {"http"}
    assert {holding(one)["ResolvedRefs"] for one in found.values()} == {"True"}
    # The route that leads to another team is one of its own team's listener still.
    attached = {name: one["attachedRoutes"] for name, one in found.items() if one["attachedRoutes"]}
    assert attached == {"http": 1, HOST: 2, GRPC: 1, OTHERS: 1}


@pytest.mark.parametrize("manifest", GOOD, ids=lambda one: f"{one['kind']}-{one['metadata']['namespace']}")
def test_routes_of_teams_are_taken(site: "ApiServer", manifest: Object) -> None:
    assert told(site, manifest) == {"Accepted": ("True", "Accepted"), "ResolvedRefs": ("True", "ResolvedRefs")}


@pytest.mark.parametrize("manifest", REFUSED, ids=lambda one: one["metadata"]["name"])
def test_no_listener_takes(site: "ApiServer", manifest: Object) -> None:
    assert told(site, manifest)["Accepted"][0] == "False"


def test_it_leads_to_no_service_of_another_team(site: "ApiServer") -> None:
    assert told(site, STOLEN)["ResolvedRefs"] == ("False", "RefNotPermitted")


def test_envoys_are_told_of_these_services_and_certificates_alone(site: "ApiServer") -> None:
    path = f"/apis/cilium.io/v2/namespaces/{NAMESPACE}/ciliumenvoyconfigs/cilium-gateway-{GATEWAY}"
    status, found = site.request("GET", path)
    assert status == 200, found
    behind = {(one["namespace"], one["name"]): sorted(one["number"]) for one in found["spec"]["backendServices"]}
    assert behind == {("search", "asr"): ["8000", "8001"], ("assistant", "asr"): ["8000"]}
    copied, given = (certificates(site, space) for space in (SECRETS_NAMESPACE, NAMESPACE))
    assert {*given} == hosts(CLUSTER)
    assert sorted(copied.values()) == sorted(given.values())
    text = json.dumps(found["spec"]["resources"])
    assert all(f'"{SECRETS_NAMESPACE}/{name}"' in text for name in copied)


def certificates(site: "ApiServer", namespace: str) -> dict[str, str]:
    """Return the certificates of a namespace, by the names of their Secrets."""
    found = site.request("GET", f"/api/v1/namespaces/{namespace}/secrets")[1]["items"]
    return {one["metadata"]["name"]: one["data"]["tls.crt"] for one in found}

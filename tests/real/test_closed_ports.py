"""The ports that policies of controllers open, against what their charts and manifests make: a webhook that no policy
lets API servers call would refuse every job.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from reference import ROOT
from twin.rendered import Object, Rendered

from generator.model.fields import dig, mapping, sequence

pytestmark = pytest.mark.real

BUILT = {
    "ml50": (
        "cert-manager",
        "jobset",
        "kueue",
        "mpi-operator",
        "node-feature-discovery",
        "trainer",
        "training-operator",
        "volcano",
    ),
    "a30-bench": ("cert-manager", "kueue", "node-feature-discovery", "volcano"),
}
"""Those of Cilium, and of Calico with Prometheus. The charts of prometheus-adapter, KubeRay, NVIDIA's operators and the
provisioner of scratch are in no module.
"""
PODS = "Deployment", "DaemonSet"


@pytest.fixture(scope="module", params=BUILT)
def components(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Object]]:
    rendered = Rendered(ROOT, request.param, tmp_path_factory.mktemp("rendered"), BUILT[request.param])
    return {name: rendered.objects(name) for name in BUILT[request.param]}


def of(objects: list[Object], *kinds: str) -> list[Object]:
    return [one for one in objects if one["kind"] in kinds]


def labels(deployment: Object) -> dict[str, str]:
    return dict(deployment["spec"]["template"]["metadata"]["labels"])


def chosen(selector: Any, deployment: Object) -> bool:
    return mapping(dig(selector, "matchLabels")).items() <= labels(deployment).items()


def called(objects: list[Object]) -> Iterator[tuple[str, int]]:
    """Yield the Services that API servers are told to call, with the port."""
    for one in objects:
        spec = mapping(one.get("spec"))
        ends = [dig(hook, "clientConfig", "service") for hook in sequence(one.get("webhooks"))]
        ends.append(dig(spec, "conversion", "webhook", "clientConfig", "service"))
        ends += [spec.get("service")] if one["kind"] == "APIService" else []
        yield from ((end["name"], end.get("port", 443)) for end in ends if end)


def ports(objects: list[Object], service: Object, wanted: int | str) -> Iterator[tuple[Object, int]]:
    """Yield the pods behind a Service's port, given by number or name, with the port they listen on."""
    (port,) = [one for one in service["spec"]["ports"] if wanted in (one["port"], one.get("name"))]
    target = port.get("targetPort", port["port"])
    for deployment in of(objects, "Deployment"):
        if service["spec"]["selector"].items() <= labels(deployment).items():
            containers = deployment["spec"]["template"]["spec"]["containers"]
            named = {one.get("name"): one["containerPort"] for each in containers for one in each.get("ports", ())}
            yield deployment, named[target] if isinstance(target, str) else target


def allowed(objects: list[Object], deployment: Object, *, scraped: bool) -> set[int]:
    """Return the ports that are open to nodes, or to Prometheus."""
    found: set[int] = set()
    for one in of(objects, "NetworkPolicy"):
        if chosen(one["spec"]["podSelector"], deployment):
            rules = [rule for rule in one["spec"].get("ingress", ()) if ("from" in rule) is scraped]
            found |= {port["port"] for rule in rules for port in rule["ports"]}
    for one in () if scraped else of(objects, "CiliumNetworkPolicy"):
        if chosen(one["spec"]["endpointSelector"], deployment):
            listed = [to for rule in one["spec"].get("ingress", ()) for to in rule["toPorts"]]
            found |= {int(port["port"]) for to in listed for port in to["ports"]}
    return found


def test_what_api_servers_call_is_open_and_nothing_else_is(components: dict[str, list[Object]]) -> None:
    for name, objects in components.items():
        services = {one["metadata"]["name"]: one for one in of(objects, "Service")}
        ends = [end for service, port in called(objects) for end in ports(objects, services[service], port)]
        for deployment in of(objects, "Deployment"):
            wanted = {port for each, port in ends if each is deployment}
            assert allowed(objects, deployment, scraped=False) == wanted, (name, deployment["metadata"]["name"])


def test_what_prometheus_reads_is_open_to_it(components: dict[str, list[Object]]) -> None:
    for name, objects in components.items():
        for monitor in of(objects, "ServiceMonitor"):
            wanted = monitor["spec"]["selector"]["matchLabels"].items()
            (service,) = [one for one in of(objects, "Service") if wanted <= one["metadata"]["labels"].items()]
            for end in monitor["spec"]["endpoints"]:
                for deployment, port in ports(objects, service, end["port"]):
                    assert port in allowed(objects, deployment, scraped=True), (name, deployment["metadata"]["name"])


def test_every_pod_is_shut_and_every_policy_shuts_one(components: dict[str, list[Object]]) -> None:
    for name, objects in components.items():
        deployments = of(objects, *PODS)
        for one in deployments:
            plain = [each for each in of(objects, "NetworkPolicy") if chosen(each["spec"]["podSelector"], one)]
            assert plain, (name, one["metadata"]["name"])
            assert {each["metadata"]["namespace"] for each in plain} == {one["metadata"].get("namespace", name)}
            assert not dig(one, "spec", "template", "spec", "hostNetwork")
        for each in of(objects, "NetworkPolicy"):
            assert any(chosen(each["spec"]["podSelector"], one) for one in deployments), each["metadata"]["name"]


def test_there_is_something_to_call_and_to_read(components: dict[str, list[Object]]) -> None:
    """The other tests hold of nothing as well."""
    objects = [one for found in components.values() for one in found]
    assert {service for service, _ in called(objects)} >= {"cert-manager-webhook", "kueue-webhook-service"}
    assert {"NetworkPolicy", "Deployment"} <= {one["kind"] for one in objects}

"""Whether selectors select something: a Service without pods and a policy for nobody are silent mistakes."""

from collections.abc import Iterator
from typing import TypeAlias

from validation.build import Built, Object, told
from validation.pods import containers, workloads

__all__ = ["CHART_PODS", "holds", "selecting_nothing", "unbacked_ports"]

Labels: TypeAlias = dict[str, str]

NAME = "app.kubernetes.io/name"

CHART_PODS: dict[str, tuple[tuple[str, Labels], ...]] = {
    "argo-cd": (
        ("argocd", {NAME: "argocd-redis-ha"}),
        ("argocd", {NAME: "argocd-redis-ha-haproxy"}),
        ("argocd", {NAME: "argocd-repo-server"}),
        ("argocd", {NAME: "argocd-server"}),
    ),
    "argo-workflows": (("argo", {"app": "workflow-controller"}),),
    "gpu-operator": (("gpu-operator", {"app": "nvidia-dcgm-exporter"}),),
    "kube-prometheus-stack": (("monitoring", {NAME: "prometheus"}),),
    "kube-system": (("kube-system", {"k8s-app": "kube-dns"}),),
    "rook-ceph": (("rook-ceph", {"app": "rook-ceph-rgw"}),),
    "snapshot-controller": (("kube-system", {NAME: "snapshot-controller"}),),
    "volcano": (
        ("volcano-system", {"app": "volcano-scheduler"}),
        ("volcano-system", {"app": "volcano-controller"}),
    ),
}
"""Pods that charts, upstream manifests and operators make: by component, namespace and the labels we select by."""

CHART_SERVICES: dict[str, tuple[tuple[str, Labels, tuple[str, ...]], ...]] = {
    "argo-cd": (("argocd", {"app.kubernetes.io/part-of": "argocd"}, ("metrics",)),),
    "volcano": (
        ("volcano-system", {"app": "volcano-scheduler"}, ("metrics",)),
        ("volcano-system", {"app": "volcano-controller"}, ("metrics",)),
    ),
}
"""Services likewise, with their ports' names."""


def selecting_nothing(built: Built) -> list[str]:
    """Return objects whose selector matches no pod (or Service) in its namespace."""
    there = pods_there(built)
    found = []
    for application, one in built.all():
        for spaces, selector in wanted(one, built):
            candidates = there if one["kind"] != "ServiceMonitor" else services_there(built)
            if not any(space in spaces and matches(selector, labels) for space, labels in candidates):
                found.append(f"{told(application, one)}: nothing matches {selector} in {', '.join(sorted(spaces))}")
    return found


def wanted(manifest: Object, built: Built) -> Iterator[tuple[set[str], Object]]:
    """Yield where an object selects, and by what. A selector without labels means all, and needs nothing."""
    spec, own = manifest.get("spec", {}), manifest["metadata"].get("namespace", "")
    kind = manifest["kind"]
    if kind == "Service" and spec.get("selector"):
        yield {own}, {"matchLabels": spec["selector"]}
    if kind in {"PodDisruptionBudget", "Deployment", "StatefulSet", "DaemonSet"}:
        yield {own}, spec["selector"]
    if kind == "NetworkPolicy":
        yield from policy(manifest, built)
    if kind in {"ServiceMonitor", "PodMonitor"}:
        spaces = spec.get("namespaceSelector", {})
        names = all_namespaces(built) if spaces.get("any") else set(spaces.get("matchNames", (own,)))
        yield names, spec["selector"]


def policy(manifest: Object, built: Built) -> Iterator[tuple[set[str], Object]]:
    """Yield the pods that a NetworkPolicy is for and those it names as others."""
    spec, own = manifest["spec"], manifest["metadata"]["namespace"]
    if spec["podSelector"]:
        yield {own}, spec["podSelector"]
    rules = [*spec.get("ingress", ()), *spec.get("egress", ())]
    for peer in (peer for rule in rules for peer in (*rule.get("from", ()), *rule.get("to", ()))):
        spaces = namespaces(peer["namespaceSelector"], built) if "namespaceSelector" in peer else {own}
        if peer.get("podSelector"):
            yield spaces, peer["podSelector"]


def namespaces(selector: Object, built: Built) -> set[str]:
    """Return the names of the namespaces that a selector matches."""
    labels = {
        one["metadata"]["name"]: {**one["metadata"].get("labels", {}), **name_label(one["metadata"]["name"])}
        for _, one in built.of("Namespace")
    }
    labels |= {name: name_label(name) for name in ("kube-system", "default")}
    return {name for name, found in labels.items() if matches(selector, found)}


def name_label(name: str) -> Labels:
    return {"kubernetes.io/metadata.name": name}


def all_namespaces(built: Built) -> set[str]:
    return namespaces({}, built)


def pods_there(built: Built) -> list[tuple[str, Labels]]:
    own = [(pod["metadata"]["namespace"], pod["metadata"].get("labels", {})) for _, _, pod in workloads(built)]
    present = {*built.objects, "kube-system"}
    return own + [one for component, made in CHART_PODS.items() if component in present for one in made]


def services_there(built: Built) -> list[tuple[str, Labels]]:
    own = [(one["metadata"]["namespace"], one["metadata"].get("labels", {})) for _, one in built.of("Service")]
    made = [one for component, found in CHART_SERVICES.items() if component in built.objects for one in found]
    return own + [(space, labels) for space, labels, _ in made]


def matches(selector: Object, labels: Labels) -> bool:
    """Tell whether a label selector matches."""
    exact = all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())
    return exact and all(holds(rule, labels) for rule in selector.get("matchExpressions", ()))


def holds(rule: Object, labels: Labels) -> bool:
    """Tell whether one expression of a selector holds."""
    found, operator = labels.get(rule["key"]), str(rule["operator"])
    if operator in {"In", "NotIn"}:
        return bool(found in rule["values"]) == (operator == "In")
    return (found is not None) == (operator == "Exists")


def unbacked_ports(built: Built) -> list[str]:
    """Return ports that lead nowhere: of Services to containers, of Ingresses, monitors and probes to names."""
    found = []
    for application, one in built.all():
        found += [f"{told(application, one)}: {problem}" for problem in port_problems(one, built)]
    for application, maker, pod in workloads(built):
        found += [f"{told(application, maker)}: {problem}" for problem in pod_port_problems(pod)]
    return found


def port_problems(manifest: Object, built: Built) -> Iterator[str]:
    if manifest["kind"] == "Service":
        yield from service_problems(manifest, built)
    elif manifest["kind"] == "Ingress":
        yield from ingress_problems(manifest, built)
    elif manifest["kind"] == "ServiceMonitor":
        yield from monitor_problems(manifest, built)


def service_problems(manifest: Object, built: Built) -> Iterator[str]:
    """Services of our own pods lead to ports that their containers declare."""
    space, selector = manifest["metadata"]["namespace"], {"matchLabels": manifest["spec"].get("selector", {})}
    backing = [
        pod
        for _, _, pod in workloads(built)
        if pod["metadata"]["namespace"] == space and matches(selector, pod["metadata"].get("labels", {}))
    ]
    for port in manifest["spec"]["ports"] if backing and manifest["spec"].get("selector") else ():
        target = port.get("targetPort", port["port"])
        for pod in backing:
            if not any(target in {open_.get("name"), open_["containerPort"]} for open_ in ports(pod)):
                yield f"port {port['port']} leads to {target}, which {pod['metadata']['name']} does not open"


def ports(pod: Object) -> list[Object]:
    return [port for container in containers(pod) for port in container.get("ports", ())]


def ingress_problems(manifest: Object, built: Built) -> Iterator[str]:
    services = {(one["metadata"]["namespace"], one["metadata"]["name"]): one for _, one in built.of("Service")}
    for rule in manifest["spec"].get("rules", ()):
        for path in rule["http"]["paths"]:
            backend = path["backend"]["service"]
            service = services.get((manifest["metadata"]["namespace"], backend["name"]))
            known = [(port.get("name"), port["port"]) for port in service["spec"]["ports"]] if service else []
            wanted_port = backend["port"].get("name") or backend["port"].get("number")
            if service and not any(wanted_port in pair for pair in known):
                yield f"{backend['name']} has no port {wanted_port}"


def monitor_problems(manifest: Object, built: Built) -> Iterator[str]:
    selector, own = manifest["spec"]["selector"], manifest["metadata"]["namespace"]
    spaces = manifest["spec"].get("namespaceSelector", {}).get("matchNames", (own,))
    named = {
        port.get("name", "")
        for _, one in built.of("Service")
        if one["metadata"]["namespace"] in spaces and matches(selector, one["metadata"].get("labels", {}))
        for port in one["spec"]["ports"]
    }
    for component, found in CHART_SERVICES.items():
        for space, labels, names in found:
            if component in built.objects and space in spaces and matches(selector, labels):
                named |= set(names)
    for endpoint in manifest["spec"]["endpoints"]:
        if endpoint.get("port") not in named:
            yield f"no Service it selects has a port named {endpoint.get('port')}"


def pod_port_problems(pod: Object) -> Iterator[str]:
    """Probes name ports of their own container."""
    for container in containers(pod):
        names = {port.get("name") for port in container.get("ports", ())}
        for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
            for way in ("httpGet", "tcpSocket", "grpc"):
                port = container.get(probe, {}).get(way, {}).get("port")
                if isinstance(port, str) and port not in names:
                    yield f"{probe} of {container['name']} asks for port {port}, which it does not name"

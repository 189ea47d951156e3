"""Rules about selectors and ports: a Service without pods and a policy for nobody are silent mistakes."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from generator.build.kinds import Kinds
from generator.build.objects import Built, Object
from generator.build.pods import Pod, containers, pods
from generator.model.fields import dig, mapping, sequence, spots
from generator.model.finding import Finding
from generator.model.rule import rule
from generator.rules.mentions import BACKENDS
from generator.rules.providers import UnseenObjects
from generator.rules.selections import Labels, Selection, matches, pods_there, selections, services_there
from generator.spec.near import instead, letters_apart, near


@rule("GEN-SEL-001", "selectors match something")
def selecting(built: Built) -> Iterator[Finding]:
    """A Service that selects no pods answers nobody, a disruption budget for no pods protects nothing, and a network
    policy for no pods leaves open what it was to close; none of them is refused. Pods that charts make which are not
    vendored are not judged but counted; so are those of teams, and a folder without pods, or with custom objects beside
    them, of which an operator may make some. In a folder whose files nothing puts together only a Service is told that
    is in one file with pods, or has the name of what makes some, or almost selects some.

    Wrong:
        kind: Service
        spec: {selector: {app: minoi}}
    Right:
        kind: Service
        spec: {selector: {app: minio}}
    """
    for one, selection, found in judged(built):
        if not found:
            what = "Service" if selection.services else "pod"
            labels = ", ".join(
                f"{key}={value}" for key, value in mapping(selection.selector.get("matchLabels")).items()
            )
            where = f"in {', '.join(sorted(selection.spaces))}" if selection.spaces else "anywhere"
            message = f"no {what} {where} has {labels or 'what it selects by'}"
            yield one.finding(message, *selection.at, fix="correct the labels, or remove the object")


@rule("GEN-SEL-002", "a workload selects its own pods")
def own_pods(built: Built) -> Iterator[Finding]:
    """The API server refuses a Deployment, StatefulSet, DaemonSet or ReplicaSet whose selector does not match the
    labels of its own template.

    Wrong:
        kind: Deployment
        spec:
          selector: {matchLabels: {app: a}}
          template: {metadata: {labels: {app: b}}}
    Right:
        kind: Deployment
        spec:
          selector: {matchLabels: {app: a}}
          template: {metadata: {labels: {app: a}}}
    """
    for one in built.of("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"):
        labels = mapping(dig(one.spec, "template", "metadata", "labels"))
        selector = mapping(one.spec.get("selector"))
        if one.group == "apps" and selector and not matches(selector, labels):
            fix = "write the same labels in spec.selector and spec.template.metadata.labels"
            yield one.finding("its selector does not match the labels of its own pods", "spec", "selector", fix=fix)


@rule("GEN-SEL-003", "Services lead to ports that are open")
def service_ports(built: Built) -> Iterator[Finding]:
    """A named port that no container has gets no endpoints; a number that no container declares is most often a
    mistake. Pods that declare no ports at all, and those on the host network, are not judged by numbers; nor is a
    folder of no cluster, for a program may open what nobody declares.

    Wrong:
        ports: [{port: 80, targetPort: htpp}]
    Right:
        ports: [{port: 80, targetPort: http}]
    """
    there = list(pods(built))
    for one in built.of("Service"):
        selector = {"matchLabels": mapping(one.spec.get("selector"))}
        backing = [pod for pod in there if pod.namespace == one.namespace and matches(selector, pod.labels)]
        for at, port in spots(one.manifest, "spec.ports.*"):
            wanted = dig(port, "targetPort") or dig(port, "port")
            if any(unknowable(pod, wanted, built) for pod in backing):
                continue
            if selector["matchLabels"] and backing and not any(opens(pod, wanted) for pod in backing):
                message = (
                    f"port {dig(port, 'port')} leads to {wanted}, which {backing[0].maker.full_name} does not open"
                )
                yield one.finding(message, *at, fix=named_near(backing, wanted))


@rule("GEN-SEL-004", "Ingresses lead to ports that their Services have")
def ingress_ports(built: Built) -> Iterator[Finding]:
    """An Ingress whose port the Service does not have answers 503, and nothing refuses it.

    Wrong:
        backend: {service: {name: minio, port: {number: 9001}}}
    Right:
        backend: {service: {name: minio, port: {number: 9000}}}
    """
    services = {(one.namespace, one.name): one for one in built.of("Service")}
    for one in built.of("Ingress"):
        for at, backend in (spot for way in BACKENDS for spot in spots(one.manifest, way)):
            name, port = dig(backend, "service", "name"), mapping(dig(backend, "service", "port"))
            service = services.get((one.namespace, name)) if isinstance(name, str) else None
            wanted = port.get("name") or port.get("number")
            known = sequence(service.spec.get("ports")) if service else []
            if service and not any(wanted in (dig(each, "name"), dig(each, "port")) for each in known):
                told = ", ".join(str(dig(each, "name") or dig(each, "port")) for each in known) or "none"
                message = f"Service {name} has no port {wanted}"
                yield one.finding(message, *at, "service", "port", fix=f"its ports are {told}")


@rule("GEN-SEL-005", "monitors ask for ports that Services have")
def monitor_ports(built: Built) -> Iterator[Finding]:
    """A ServiceMonitor for a port that no Service it selects has collects nothing, and its graphs stay empty.

    Wrong:
        endpoints: [{port: metrcis}]
    Right:
        endpoints: [{port: metrics}]
    """
    for one, selection, found in judged(built):
        names = {dig(port, "name") for each in found for port in each if isinstance(dig(port, "name"), str)}
        for at, wanted in spots(one.manifest, "spec.endpoints.*.port"):
            elsewhere = built.cluster is None and one.namespace in operated(built)
            if selection.services and found and not elsewhere and isinstance(wanted, str) and wanted not in names:
                fix = instead(wanted, names, f"their ports are {', '.join(sorted(names)) or 'without names'}")
                yield one.finding(f"no Service it selects has a port named {wanted}", *at, fix=fix)


@rule("GEN-SEL-006", "probes ask for ports of their container")
def probe_ports(built: Built) -> Iterator[Finding]:
    """A probe of a port that its container does not name fails for ever, and the container starts again and again.

    Wrong:
        ports: [{name: http, containerPort: 80}]
        livenessProbe: {httpGet: {port: htpp}}
    Right:
        ports: [{name: http, containerPort: 80}]
        livenessProbe: {httpGet: {port: http}}
    """
    for pod in pods(built):
        for at, container in containers(pod):
            names = {name for port in sequence(container.get("ports")) if isinstance(name := dig(port, "name"), str)}
            for way in PROBED:
                port = dig(container, *way, "port")
                if isinstance(port, str) and not port.isdecimal() and port not in names:
                    fix = instead(port, names, "name the port in `ports`")
                    message = f"{way[0]} asks for port {port}, which the container does not name"
                    yield pod.finding(message, *at, *way, "port", fix=fix)


_OBSERVING = {"PodMonitor", "PrometheusRule", "ServiceMonitor"}
"""Custom kinds of which nobody makes pods."""

PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
PROBED = [(probe, way) for probe in PROBES for way in ("httpGet", "tcpSocket")]


def judged(built: Built) -> Iterator[tuple[Object, Selection, list[Any]]]:
    """Yield each selection that can be judged, with what it matches: labels of pods, ports of Services."""
    for one, selection, found, proven in all_selections(built):
        if proven or found:
            yield one, selection, found


def unproven(built: Built) -> int:
    """Return how many selectors match nothing that is seen, and may match what is not."""
    return sum(not (found or proven) for _, _, found, proven in all_selections(built))


def all_selections(built: Built) -> Iterator[tuple[Object, Selection, list[Any], bool]]:
    """Yield each selection, what it matches, and whether it would be seen."""
    there, offered = pods_there(built), services_there(built)
    unseen, inhabited = UnseenObjects.of(built), {space for space, _ in there} - operated(built)
    # What teams run in their namespaces is nothing that Git names.
    teams = {team.name for team in built.cluster.teams} if built.cluster else set()
    for one in built.objects:
        for selection in selections(one, built):
            among: list[tuple[str, Labels, Any]] = (
                offered if selection.services else [(space, labels, labels) for space, labels in there]
            )
            found = [
                content
                for space, labels, content in among
                if (selection.spaces is None or space in selection.spaces) and matches(selection.selector, labels)
            ]
            proven = seen(one, selection.spaces, unseen, inhabited) and not (selection.spaces or set()) & teams
            if unseen.everything and proven and not found:
                proven = together(one, selection, built)
            yield one, selection, found, proven


@lru_cache(maxsize=2)
def operated(built: Built) -> set[str]:
    """Return the namespaces in a folder of no cluster that have custom objects, of which operators may make pods and
    Services.
    """
    known = Kinds.of(built)
    custom = (one for one in built.objects if not known.ours(one.group) and one.kind not in _OBSERVING)
    return {one.namespace or "default" for one in custom}


def seen(one: Object, spaces: frozenset[str] | None, unseen: UnseenObjects, inhabited: set[str]) -> bool:
    """Tell whether all of these namespaces is seen. In a folder only a Service or budget beside pods is judged."""
    if unseen.everything:
        return one.kind in {"Service", "PodDisruptionBudget"} and one.namespace in {
            space or "default" for space in inhabited
        }
    return not unseen.spaces if spaces is None else not (spaces & unseen.spaces)


def together(one: Object, selection: Selection, built: Built) -> bool:
    """Tell whether an object of a folder is meant for pods that are in it: those that are applied with it, those of its
    name, or those that have nearly the labels that it selects by. Others may be installed by something else.
    """
    return any(
        one.variant == pod.maker.variant or one.name == pod.maker.name or _almost(selection.selector, pod.labels)
        for pod in pods(built)
        if pod.namespace == one.namespace
    )


def _almost(selector: Labels, labels: Labels) -> bool:
    """Tell whether a label has a value that is selected by another key, or one a letter or two away."""
    wanted = {str(key): str(value) for key, value in mapping(selector.get("matchLabels")).items()}
    return any(
        (value in labels.values() and labels.get(key) != value)
        or (key in labels and 0 < letters_apart(value, str(labels[key])) <= min(2, len(value) // 3))
        for key, value in wanted.items()
    )


def unknowable(pod: Pod, wanted: object, built: Built) -> bool:
    """Tell whether nobody can say that a pod does not open a port: a kustomization may add containers to a base."""
    return pod.maker.unfinished or (built.cluster is None and isinstance(wanted, int))


def opens(pod: Pod, wanted: object) -> bool:
    """Tell whether a pod opens a port, by name or number."""
    declared = [port for _, container in containers(pod) for port in sequence(container.get("ports"))]
    if isinstance(wanted, int) and (not declared or pod.spec.get("hostNetwork") is True):
        return True
    return any(wanted in (dig(port, "name"), dig(port, "containerPort")) for port in declared)


def named_near(backing: list[Pod], wanted: object) -> str:
    """Say which port may be meant."""
    declared = [port for pod in backing for _, one in containers(pod) for port in sequence(one.get("ports"))]
    meant = near(str(wanted), (name for port in declared if isinstance(name := dig(port, "name"), str)))
    return f"write targetPort: {meant}" if meant else "correct the port, or declare it in the container's `ports`"

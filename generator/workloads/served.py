"""A service of a team, whatever serves: what leads to its replicas, keeps them up, and makes more of them."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from generator.components.cilium import ROUTING
from generator.components.component import Manifest
from generator.components.exposure.layout import GATEWAY, NAMESPACE
from generator.components.queues import nominal
from generator.errors import UsageError
from generator.workloads.place import Place
from generator.workloads.pods import labels

DRAIN = 10
"""Seconds until nobody sends requests to a pod that ends any more."""
PERIOD = 10
"""Seconds between two looks whether a replica has started."""


class Served(Struct, frozen=True, kw_only=True):
    """A service by its name: `app` is what serves, `ports` those of its pods by their names, one of them `http`. There
    are from `least` to `most` replicas; `host` is the team's by which it is reached from outside, None where it is not,
    and `paths` is what is reached there, as routes match it: all where it is empty.
    """

    place: Place
    name: str
    app: str
    ports: Mapping[str, int]
    least: int
    most: int
    host: str | None = None
    paths: tuple[Manifest, ...] = ()

    @property
    def names(self) -> dict[str, str]:
        """The labels by which everything of it finds its pods."""
        return {"app.kubernetes.io/name": self.app, "app.kubernetes.io/instance": self.name}

    @property
    def scaled(self) -> bool:
        """Whether an autoscaler says how many replicas there are."""
        return self.least < self.most

    def metadata(self, **more: object) -> Manifest:
        """Return the metadata of each of its objects, which all have its name."""
        return {"name": self.name, "namespace": self.place.team.name, **more}


def served(one: Served, pod: Manifest, metric: Manifest, marks: Mapping[str, str] | None = None) -> list[Manifest]:
    """Return a service of these pods and what it needs, in the order in which they are made: an autoscaler by the
    metric where there is a range. `marks` are more labels of its pods. Raises UsageError for a host of others.
    """
    made = [service(one), budget(one), deployment(one, pod, marks or {})]
    if one.scaled:
        made.append(autoscaler(one, metric))
    if one.host:
        made.append(route(one, one.host))
    return made


def side_by_side(place: Place) -> Iterator[str]:
    """Yield what whoever starts several replicas should know."""
    if place.copies > 1:
        yield "replicas may share a node, which Kueue chooses: all of one node's are away together when it fails"


def service(one: Served) -> Manifest:
    """Return what leads to the replicas that are ready. A client of gRPC keeps to one of them for as long as its
    connection lasts.
    """
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": one.metadata(labels=one.names),
        "spec": {
            "selector": one.names,
            "ports": [{"name": name, "port": port, "targetPort": name} for name, port in one.ports.items()],
        },
    }


def route(one: Served, host: str) -> Manifest:
    """Return what leads a host of the team to it, by HTTP. Raises UsageError for a host that is not the team's."""
    team = one.place.team
    matches = {"matches": [{"path": path} for path in one.paths]} if one.paths else {}
    if host not in team.hosts:
        there = f"it has {', '.join(team.hosts)}" if team.hosts else "it has none"
        raise UsageError(f"--host {host} is not a host of team {team.name} in the cluster file: {there}")
    return {
        "apiVersion": f"{ROUTING}/v1",
        "kind": "HTTPRoute",
        "metadata": one.metadata(labels=one.names),
        "spec": {
            "parentRefs": [{"name": GATEWAY, "namespace": NAMESPACE}],
            "hostnames": [host],
            "rules": [{**matches, "backendRefs": [{"name": one.name, "port": one.ports["http"]}]}],
        },
    }


def budget(one: Served) -> Manifest:
    """Let a drain take one replica at a time, and those that do not run at any time."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": one.metadata(),
        "spec": {
            "maxUnavailable": 1,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {"matchLabels": one.names},
        },
    }


def deployment(one: Served, pod: Manifest, marks: Mapping[str, str]) -> Manifest:
    """Return the Deployment. An autoscaler's number of replicas is not said: whoever applies the manifest again would
    set it back.
    """
    place = one.place
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": one.metadata(labels=labels(place) | one.names),
        "spec": {
            **({} if one.scaled else {"replicas": one.most}),
            "selector": {"matchLabels": one.names},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling(place)},
            "progressDeadlineSeconds": place.cluster.scheduling.start_minutes * 60,
            "template": {"metadata": {"labels": {**one.names, **marks}}, "spec": pod},
        },
    }


def rolling(place: Place) -> Manifest:
    """Put a new replica beside the old ones where the team owns room for one more than the most; else it would wait for
    a quota that the old ones hold, and one of those goes first. What it borrows may be away for as long as its owners
    want it.
    """
    room, pods = nominal(place.cluster, place.team, place.pool), place.copies + 1
    asked = [(place.milli_cpu, room.milli_cpu), (place.memory, room.memory)]
    asked += [(place.each, room.devices.get(place.device, 0))] if place.device else []
    beside = all(pods * each <= there for each, there in asked)
    return {"maxSurge": 1, "maxUnavailable": 0} if beside else {"maxSurge": 0, "maxUnavailable": 1}


def starting(place: Place, look: Mapping[str, Any]) -> Manifest:
    """Return the probe that gives models as long to load and warm up as Kueue gives a job to start; it would stop it
    then.
    """
    tries = place.cluster.scheduling.start_minutes * 60 // PERIOD
    return {**look, "periodSeconds": PERIOD, "failureThreshold": tries}


def autoscaler(one: Served, metric: Manifest) -> Manifest:
    """Follow a metric. It doubles quickly and shrinks slowly: a replica that went takes minutes to come back. Replicas
    that load count as idle, so that they are not asked for twice.
    """
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": one.metadata(),
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": one.name},
            "minReplicas": one.least,
            "maxReplicas": one.most,
            "metrics": [metric],
            "behavior": {
                "scaleUp": {
                    "stabilizationWindowSeconds": 30,
                    "policies": [{"type": "Percent", "value": 100, "periodSeconds": 60}],
                },
                "scaleDown": {
                    "stabilizationWindowSeconds": 600,
                    "policies": [{"type": "Pods", "value": 1, "periodSeconds": 120}],
                },
            },
        },
    }

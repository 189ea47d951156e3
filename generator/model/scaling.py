"""Machines that are made when they are asked for: bounds of a pool, and who makes them."""

from typing import Annotated, Literal

from msgspec import Meta

from generator.model.base import Name, Section

LONGEST_MINUTES = 1440
Minutes = Annotated[int, Meta(ge=1, le=LONGEST_MINUTES)]
MOST_MACHINES = 5000
"""Kubernetes is made for so many nodes (its page on large clusters)."""


class Scaling(Section, frozen=True, kw_only=True):
    """Machines that Cluster API makes for a pool beside those of `nodes`: `minimum` of them are always there, and there
    are never more than `maximum`. `machineDeployment` is the one that is scaled; without it, it is named as the pool.
    """

    minimum: Annotated[int, Meta(ge=0, le=MOST_MACHINES)] = 0
    maximum: Annotated[int, Meta(ge=1, le=MOST_MACHINES)]
    machine_deployment: Name | None = None


class Autoscaler(Section, frozen=True, kw_only=True):
    """Who makes machines: Cluster API, which lies in this cluster (`here`) or in another one that a Secret leads to
    (`kubeconfig`). `namespace` and `cluster` are those of its object Cluster; without `cluster`, it is named as this
    one. A machine that runs nothing for `idleMinutes` goes; one that has not joined after `joinMinutes` is given up.
    """

    management: Literal["here", "kubeconfig"]
    namespace: Name = "default"
    cluster: Name | None = None
    idle_minutes: Minutes = 30
    join_minutes: Minutes = 45

"""What stands in a running cluster and Git no longer names."""

from collections.abc import Collection, Iterator, Mapping

from msgspec import Struct

from generator.components import catalogue
from generator.components.common import TRACKING
from generator.components.component import Manifest
from generator.live.drift.standing import Identity
from generator.model.cluster import Cluster
from generator.model.compared import options
from generator.model.fields import dig

KUBERNETES = {"default", "kube-node-lease", "kube-public", "kube-system"}


class Leftover(Struct, frozen=True, kw_only=True):
    """An object that an Application once held. `kept` tells that Argo CD leaves it on purpose, because it holds data or
    identity; `leaving` that it is being deleted.
    """

    identity: Identity
    component: str
    kept: bool
    leaving: bool


def leftovers(
    standing: Mapping[Identity, Manifest], wanted: Collection[Identity], unseen: Collection[str]
) -> Iterator[Leftover]:
    """Yield what Argo CD tracks and the wanted objects do not hold, but for components whose objects nobody here sees.
    An operator may copy the annotation of what it reads to what it makes: such an id names another object.
    """
    for identity in sorted(standing.keys() - set(wanted)):
        one = standing[identity]
        component, _, tracked = str(dig(one, "metadata", "annotations", TRACKING) or "").partition(":")
        group, kind, _, name = identity
        if not tracked.startswith(f"{group}/{kind}:") or not tracked.endswith(f"/{name}") or component in unseen:
            continue
        yield Leftover(
            identity=identity,
            component=component,
            kept="Prune=false" in options(one),
            leaving=bool(dig(one, "metadata", "deletionTimestamp")),
        )


def strangers(standing: Mapping[Identity, Manifest], wanted: Collection[Identity], cluster: Cluster) -> list[str]:
    """Return the namespaces that neither Git nor a component of the catalogue names."""
    there = {name for group, kind, _, name in standing if (group, kind) == ("", "Namespace")}
    ours = {name for group, kind, _, name in wanted if (group, kind) == ("", "Namespace")}
    of_components = {name for one in catalogue(cluster).values() for name in (*one.namespaces, *one.reach)}
    tracked = {
        name
        for (group, kind, _, name), one in standing.items()
        if (group, kind) == ("", "Namespace") and dig(one, "metadata", "annotations", TRACKING)
    }
    teams = {team.name for team in cluster.teams}
    return sorted(there - ours - of_components - tracked - teams - KUBERNETES)

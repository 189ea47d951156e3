"""Rules about routes of teams: what the API server refuses there, told before it is applied."""

from collections.abc import Iterator

from generator.build.objects import Built, Object
from generator.components.cilium import ROUTES, ROUTING
from generator.components.exposure.kinds import BACKENDS
from generator.components.exposure.layout import GATEWAY, NAMESPACE
from generator.model.fields import dig, existing, sequence, spots
from generator.model.finding import Finding, Path
from generator.model.rule import rule
from generator.model.teams import Team


@rule("GEN-ROUTE-001", "a team is reached by its own hosts")
def by_own_hosts(built: Built) -> Iterator[Finding]:
    """The cluster file gives hosts to teams (`hosts`). The API server refuses a route with another one, or with none,
    which would be for all of them.

    Wrong:
        # hosts: [vision.apps.ml.example.org]
        spec: {hostnames: [models.apps.ml.example.org], ...}
    Right:
        # hosts: [vision.apps.ml.example.org]
        spec: {hostnames: [vision.apps.ml.example.org], ...}
    """
    for one, team in _routes(built):
        named = sequence(one.spec.get("hostnames"))
        there = f"team {team.name} has {', '.join(team.hosts)}" if team.hosts else "give the team `hosts`"
        if not named:
            message = f"it names no host, and is refused in the namespace of team {team.name}"
            yield one.finding(message, *existing(one.manifest, ("spec", "hostnames")), fix=there)
        for index, host in enumerate(named):
            if host not in team.hosts:
                message = f"the host {host} is not one of team {team.name}'s: the API server refuses the route"
                yield one.finding(message, "spec", "hostnames", index, fix=there)


@rule("GEN-ROUTE-002", "routes of a team are for the Gateway of teams")
def by_the_gateway(built: Built) -> Iterator[Finding]:
    """One Gateway serves the hosts of all teams. A route that names another parent, or none, leads nowhere, and the API
    server refuses it.

    Wrong:
        parentRefs: [{name: teams}]
    Right:
        parentRefs: [{name: teams, namespace: exposure}]
    """
    for one, team in _routes(built):
        parents = sequence(one.spec.get("parentRefs"))
        fix = f"parentRefs: [{{name: {GATEWAY}, namespace: {NAMESPACE}}}]"
        if not parents:
            message = f"it names no Gateway, and is refused in the namespace of team {team.name}"
            yield one.finding(message, *existing(one.manifest, ("spec", "parentRefs")), fix=fix)
        for index, parent in enumerate(parents):
            said = (dig(parent, "kind") or "Gateway", dig(parent, "namespace") or one.namespace, dig(parent, "name"))
            if said != ("Gateway", NAMESPACE, GATEWAY):
                message = f"its parent is {said[0]} {said[1]}/{said[2]}: the API server refuses the route"
                yield one.finding(message, "spec", "parentRefs", index, fix=fix)


@rule("GEN-ROUTE-003", "routes of a team lead to its own Services")
def to_own_services(built: Built) -> Iterator[Finding]:
    """A Service of another namespace answers nobody who comes by a route of this one, and the API server refuses it.

    Wrong:
        backendRefs: [{name: asr, namespace: language, port: 8000}]
    Right:
        backendRefs: [{name: asr, port: 8000}]
    """
    for one, _ in _routes(built):
        for at, space in _spaces(one):
            if space not in (None, one.namespace):
                message = f"it leads to namespace {space}: the API server refuses the route"
                yield one.finding(message, *at, fix="name a Service of its own namespace, without `namespace`")


def _spaces(one: Object) -> Iterator[tuple[Path, object]]:
    """Yield the namespaces that the Services of a route are said to be in."""
    for way in BACKENDS:
        yield from spots(one.manifest, f"{way}.namespace")


def _routes(built: Built) -> Iterator[tuple[Object, Team]]:
    """Yield the routes in namespaces of teams, where a cluster has a way in for teams."""
    cluster = built.cluster
    teams = {team.name: team for team in cluster.teams} if cluster and cluster.networks.exposure else {}
    for kind in ROUTES:
        for one in built.of(kind):
            if one.group == ROUTING and one.namespace in teams:
                yield one, teams[one.namespace]

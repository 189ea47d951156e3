"""Tenants: what each team's namespace holds, and the rules that keep its jobs in the queue."""

from collections.abc import Iterator

from generator.components.ceph_cluster.buckets import BOUND, team_claims, team_keys
from generator.components.cilium import ROUTES, ROUTING
from generator.components.component import Component, Manifest, Namespace, Secret
from generator.components.envoy_gateway.rights import reading
from generator.components.jobs import Jobs
from generator.components.kueue import TEAM
from generator.components.minio.user_keys import copied_keys
from generator.components.queues.volumes import claimable
from generator.components.tenants import DEFINITION, OF_CLASS, datasets
from generator.components.tenants.admission import policies
from generator.components.tenants.network import network
from generator.components.tenants.pipelines import WORKFLOWS, account
from generator.components.tenants.pods import ALLOWED
from generator.components.tenants.rbac import bindings, queue_readers, roles
from generator.components.volsync import sources as volume_backups
from generator.model.cluster import Cluster
from generator.model.teams import Team


def install(cluster: Cluster, jobs: Jobs) -> Component:
    """Give each team a namespace with its queue, rights, limits and network."""
    claimed = any(team.buckets for team in cluster.teams)
    backed_up = any(volume_backups.backups_of(cluster, team) for team in cluster.teams)
    needs = ("queues", *(("ceph-cluster",) if claimed else ()), *datasets.needed(cluster))
    return Component(
        name="tenants",
        tier=DEFINITION.tier,
        summary="Namespaces of teams: queue, rights, limits, network, admission",
        version="v1",
        namespaces=tuple(namespace(cluster, team) for team in cluster.teams),
        base=(*roles(jobs), *policies(jobs)),
        objects=(
            *queue_readers(cluster),
            *(item for team in cluster.teams for item in belongings(cluster, team)),
            *datasets.claims(cluster),
            *reading(cluster),
        ),
        needs=tuple(dict.fromkeys((*needs, *(("issuers", "minio", "volsync") if backed_up else ())))),
        secrets=tuple(keys(cluster)),
        ignore=(BOUND,) if claimed else (),
    )


def keys(cluster: Cluster) -> Iterator[Secret]:
    """Yield the keys of the users of MinIO that are a team's, and of its buckets in Ceph."""
    teams = {team.name for team in cluster.teams}
    for user in cluster.storage.objects.users if cluster.storage.objects else ():
        if user.team in teams:
            yield copied_keys(user, str(user.team), "pods of the team")
    yield from (team_keys(team, bucket) for team in cluster.teams for bucket in team.buckets)
    yield from (secret for team in cluster.teams for secret in volume_backups.secrets(cluster, team))


def namespace(cluster: Cluster, team: Team) -> Namespace:
    """Return a team's namespace, with labels that policies read: whose it is, and the classes its jobs may have."""
    classes = {f"{ALLOWED}{name}": "true" for name in cluster.scheduling.open_to(team)}
    labels, annotations = {TEAM: team.name, **classes}, volume_backups.annotations(cluster, team)
    return Namespace(team.name, team.security, labels, annotations)


def belongings(cluster: Cluster, team: Team) -> tuple[Manifest, ...]:
    """Return the objects in one team's namespace."""
    return (
        local_queue(team),
        quota(cluster, team),
        *bindings(team),
        *(account(team) if team.pipelines else ()),
        *network(cluster, team),
        *team_claims(cluster, team),
        *volume_backups.belongings(cluster, team),
    )


def local_queue(team: Team) -> Manifest:
    """Lead into the team's quotas. The name is `default`, so that Kueue puts jobs that name no queue in it."""
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": "default", "namespace": team.name},
        "spec": {"clusterQueue": team.name},
    }


def quota(cluster: Cluster, team: Team) -> Manifest:
    """Bound volumes and the number of objects. Nothing that pods request and no number of pods: this quota is
    checked after Kueue has let a job in, and where it is tighter than Kueue's, a part of the gang is refused and the
    rest holds its quota until it is evicted (facts: scheduling 3.5). Addresses outside the cluster are not a team's
    to take.
    """
    bounds = claimable(cluster, team)
    hard = {
        "count/configmaps": "2k",
        "count/cronjobs.batch": "200",
        "count/jobs.batch": "5k",
        "count/poddisruptionbudgets.policy": "200",
        "count/secrets": "2k",
        "count/services": "1k",
        "persistentvolumeclaims": "1k",
        "services.loadbalancers": "0",
        "services.nodeports": "0",
        **({f"count/{plural}.{ROUTING}": "100" for plural in ROUTES.values()} if team.hosts else {}),
        **({f"count/{plural}.{WORKFLOWS[0]}": "500" for plural in WORKFLOWS[1]} if team.pipelines else {}),
        **({"requests.storage": str(bounds.total)} if bounds.total is not None else {}),
        **{f"{name}.{OF_CLASS}": str(size) for name, size in bounds.classes.items()},
    }
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "team", "namespace": team.name},
        "spec": {"hard": hard},
    }

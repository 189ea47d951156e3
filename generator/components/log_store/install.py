"""Where logs are kept in the cluster: Loki, as one program for everything, over a bucket in Ceph or MinIO."""

from collections.abc import Iterator

from generator.components.ceph_cluster.log_bucket import log_store_of
from generator.components.common import prometheus_crds
from generator.components.component import Component, Manifest, Namespace
from generator.components.issuers import signed
from generator.components.log_store import DEFINITION, VERSIONS
from generator.components.log_store.alerts import rule_group
from generator.components.log_store.bucket import Place, keys, place_of
from generator.components.log_store.names import CLIENT, NAMESPACE
from generator.components.log_store.network import policy, services
from generator.components.log_store.server import disruption_budget, service_account, settings, stateful_set
from generator.components.log_store.views import views
from generator.components.static import read_objects
from generator.model.cluster import Cluster
from generator.model.monitoring import Logs


def install(cluster: Cluster) -> Component:
    """Return Loki and its bucket. It may be written to before there is a Prometheus that watches it, of which it needs
    the kinds alone.
    """
    logs = cluster.monitoring.logs
    assert logs
    version, place = VERSIONS.of(cluster), place_of(cluster, logs)
    return Component(
        name=DEFINITION.name,
        tier=DEFINITION.tier,
        summary="Logs, kept by Loki in a bucket",
        version=version.version,
        namespaces=(Namespace(NAMESPACE),),
        base=(settings(), service_account(), disruption_budget(), *services(), *read_objects("log_store/base.yaml")),
        objects=tuple(objects(cluster, logs, place, version.images["loki"])) if place else (),
        needs=("issuers", *((place.maker,) if place else ()), *prometheus_crds(cluster)),
        storage_classes=(logs.storage_class,),
        secrets=(*keys(cluster, logs), signed(CLIENT, NAMESPACE, "loki")),
        reach=DEFINITION.reach,
    )


def objects(cluster: Cluster, logs: Logs, place: Place, image: str) -> Iterator[Manifest]:
    """Yield what is this cluster's own. With Zabbix alerts belong to Zabbix."""
    yield stateful_set(cluster, logs, place, image)
    yield policy(cluster, place)
    if cluster.monitoring.prometheus:
        yield from views(cluster)
        if cluster.monitoring.zabbix is None:
            yield rule_group(cluster, logs, room(cluster, logs))


def room(cluster: Cluster, logs: Logs) -> int | None:
    """Return what the bucket may hold, in bytes; None where nothing bounds it."""
    if log_store_of(cluster):
        return logs.size.value
    given = cluster.storage.objects.buckets if cluster.storage.objects else ()
    quota = next((one.quota for one in given if one.name == logs.bucket), None)
    return quota.value if quota else None

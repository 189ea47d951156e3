"""Zabbix: server, database, frontend, a proxy, an agent on every node, and all of its configuration."""

from generator.components.common import class_owner
from generator.components.component import Component, Manifest, Namespace, Secret, Tier
from generator.components.zabbix.access import policies, reader
from generator.components.zabbix.agents import agent_map, agents, gpu_service
from generator.components.zabbix.database import DATABASE, database_service, stateful_set
from generator.components.zabbix.names import AGENTS, NAMESPACE, TOKEN
from generator.components.zabbix.server import exposed, ingress, proxy_set, server, services, web
from generator.components.zabbix.settings import host_maps, script_map, settings_map, template_map, used_media
from generator.components.zabbix.setup import configure_job
from generator.model.cluster import Cluster, Zabbix
from generator.model.versions import version_of

__all__ = ["NAMESPACE", "zabbix"]


def zabbix(cluster: Cluster) -> Component | None:
    """Install Zabbix where the cluster file asks for it, and configure it from the same list of nodes."""
    settings = cluster.monitoring.zabbix
    if settings is None:
        return None
    return Component(
        name="zabbix",
        tier=Tier.MONITORING,
        summary="Zabbix with hosts, templates, dashboards and alerts",
        version=version_of("zabbix", cluster).version,
        namespaces=(Namespace(NAMESPACE), Namespace(AGENTS, security="privileged")),
        base=(*reader(), database_service(), *services(), agent_map(), script_map(), template_map()),
        objects=manifests(cluster, settings),
        needs=needs(cluster, settings),
        secrets=secrets(cluster, settings),
    )


def manifests(cluster: Cluster, settings: Zabbix) -> tuple[Manifest, ...]:
    """Return what depends on this cluster."""
    return (
        stateful_set(cluster, settings),
        server(cluster),
        web(cluster),
        proxy_set(cluster),
        agents(cluster),
        *((gpu_service(),) if cluster.gpu_nodes else ()),
        *policies(cluster),
        *((ingress(cluster, settings),) if exposed(cluster, settings) else ()),
        *host_maps(cluster),
        settings_map(cluster, settings),
        configure_job(cluster, settings),
    )


def needs(cluster: Cluster, settings: Zabbix) -> tuple[str, ...]:
    """Return what must be there first: storage for the database, and who signs the frontend's certificate."""
    storage = class_owner(cluster, settings.storage_class)
    return (cluster.networks.cni, *storage, *(("issuers",) if exposed(cluster, settings) else ()))


def secrets(cluster: Cluster, settings: Zabbix) -> tuple[Secret, ...]:
    """Return the Secrets that Zabbix reads."""
    return (
        Secret(
            name=DATABASE,
            namespace=NAMESPACE,
            keys=("username", "password"),
            source="generated",
            loss="outage",
            rotate="ALTER USER in the database first, then replace it and restart zabbix-server and zabbix-web",
            readers=(DATABASE, "zabbix-server", "zabbix-web"),
        ),
        Secret(
            name="zabbix-admin",
            namespace=NAMESPACE,
            keys=("password",),
            source="generated",
            loss="harmless",
            rotate="change the password of the user Admin in Zabbix first, then replace it",
            readers=("zabbix-configure",),
        ),
        in_cluster(TOKEN, "token", "delete it: Kubernetes makes another; then sync `zabbix`", "zabbix"),
        *(given(name) for name in used_media(settings)),
        *((certificate(),) if exposed(cluster, settings) else ()),
    )


def given(name: str) -> Secret:
    """Return the token of a bot that sends alerts."""
    return Secret(
        name=f"zabbix-{name}",
        namespace=NAMESPACE,
        keys=("token",),
        source="given",
        loss="outage",
        rotate="replace it, then sync `zabbix`. Without it nobody is told of anything",
        readers=("zabbix-configure",),
    )


def in_cluster(name: str, key: str, rotate: str, by: str) -> Secret:
    """Return a Secret that is made in the cluster."""
    return Secret(
        name=name,
        namespace=NAMESPACE,
        keys=(key,),
        source="in-cluster",
        by=by,
        loss="harmless",
        rotate=rotate,
        readers=("zabbix-configure",),
    )


def certificate() -> Secret:
    """Return the frontend's certificate."""
    return Secret(
        name="zabbix-tls",
        namespace=NAMESPACE,
        keys=("ca.crt", "tls.crt", "tls.key"),
        source="in-cluster",
        by="cert-manager",
        loss="harmless",
        rotate="cert-manager renews it; delete it to have it made again",
        readers=("zabbix-web",),
    )

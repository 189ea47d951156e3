"""All that Zabbix is on a cluster. Only rendering imports it: a check need not wait for its dozen modules."""

from msgspec import structs

from generator.components.common import exposed
from generator.components.component import Component, Manifest, Namespace, Secret, Turn
from generator.components.issuers import signed
from generator.components.minio.metrics import copied_token
from generator.components.static import read_objects
from generator.components.zabbix import DEFINITION, VERSIONS
from generator.components.zabbix.agents import agent_map, agents
from generator.components.zabbix.database import TAKES, stateful_set, storage_class
from generator.components.zabbix.names import (
    ADMIN,
    AGENTS,
    COMPLETE,
    CONFIGURE,
    DATABASE,
    FORMER,
    HEARTBEAT,
    NAMESPACE,
    PASSWORD,
    SERVER,
    TLS,
    TOKEN,
    bot_secret,
)
from generator.components.zabbix.network import policies
from generator.components.zabbix.server import WEB, ingress, proxy_set, server, web
from generator.components.zabbix.settings import (
    host_maps,
    reads_minio,
    script_map,
    settings_map,
    template_map,
    used_media,
)
from generator.components.zabbix.setup import complete_job, configure_job, heartbeat, password_job, tokens
from generator.model.cluster import Cluster
from generator.model.monitoring import Zabbix

CONFIGURED_ANEW = Turn(syncs=((DEFINITION.name, CONFIGURE),))
"""The Job of each sync tells Zabbix the value."""
READER = "zabbix-reader"
READER_ANEW = structs.replace(
    CONFIGURED_ANEW,
    way="delete",
    deletes=f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{READER}",
    still="Zabbix' reading of pods and nodes",
)
"""What is in a token is the account's id and the names of both (Kubernetes, pkg/serviceaccount/legacy.go): of the same
account another Secret gets the same token.
"""


def install(cluster: Cluster) -> Component:
    """Install Zabbix where the cluster file asks for it, and configure it from the same list of nodes."""
    settings = cluster.monitoring.zabbix
    assert settings
    return Component(
        name="zabbix",
        tier=DEFINITION.tier,
        summary="Zabbix with hosts, templates, dashboards and alerts",
        version=VERSIONS.of(cluster).version,
        namespaces=(Namespace(NAMESPACE), Namespace(AGENTS, security="privileged")),
        base=(
            *read_objects("zabbix/reader.yaml"),
            *read_objects("zabbix/services.yaml"),
            agent_map(),
            script_map(),
            template_map(),
        ),
        objects=manifests(cluster, settings),
        needs=(cluster.networks.cni, *(("issuers",) if exposed(cluster, settings.host) else ())),
        storage_classes=(storage_class(cluster, settings),),
        secrets=secrets(cluster, settings),
    )


def manifests(cluster: Cluster, settings: Zabbix) -> tuple[Manifest, ...]:
    """Return what depends on this cluster."""
    maps = host_maps(cluster)
    return (
        stateful_set(cluster, settings),
        server(cluster),
        web(cluster),
        proxy_set(cluster),
        agents(cluster),
        *(read_objects("zabbix/gpu-service.yaml") if cluster.gpu_nodes else ()),
        *policies(cluster, settings),
        *((ingress(cluster, settings),) if exposed(cluster, settings.host) else ()),
        *maps,
        settings_map(cluster, settings),
        password_job(cluster),
        *((heartbeat(cluster, settings.heartbeat),) if settings.heartbeat else ()),
        configure_job(cluster, settings, [made["metadata"]["name"] for made in maps]),
        *((complete_job(cluster, settings),) if tokens(cluster, settings) else ()),
    )


def secrets(cluster: Cluster, settings: Zabbix) -> tuple[Secret, ...]:
    """Return the Secrets that Zabbix reads."""
    return (
        database_password(),
        admin_password(),
        *((reader(),) if settings.heartbeat else ()),
        token(),
        *(given(name) for name in used_media(settings)),
        *((copied_token(NAMESPACE, CONFIGURE, COMPLETE, turn=CONFIGURED_ANEW),) if reads_minio(cluster) else ()),
        *((signed(TLS, NAMESPACE, WEB),) if exposed(cluster, settings.host) else ()),
    )


def database_password() -> Secret:
    """Return the password of Zabbix' own user of its database, who keeps his name."""
    return Secret(
        name=DATABASE,
        namespace=NAMESPACE,
        keys=("username", "password"),
        source="generated",
        loss="outage",
        rotate=f"replace the password and its copy, then restart {DATABASE}, which takes it at its start, {SERVER} "
        f"and {WEB}",
        readers=(DATABASE, SERVER, WEB),
        turn=Turn(
            keeps=("username",),
            taken=(f"StatefulSet/{DATABASE}", TAKES),
            restarts=(f"StatefulSet/{DATABASE}", f"Deployment/{SERVER}", f"Deployment/{WEB}"),
            proof=CONFIGURED_ANEW.syncs,
            still="Zabbix, until its database and what reads it have begun anew,",
        ),
    )


def admin_password() -> Secret:
    """Return the password of the user Admin."""
    return Secret(
        name=ADMIN,
        namespace=NAMESPACE,
        keys=("password",),
        source="generated",
        loss="harmless",
        rotate=f"replace it, with the former one in {FORMER}, then sync `zabbix`",
        readers=(PASSWORD, CONFIGURE),
        turn=Turn(former={"password": FORMER}, handed=True, syncs=((DEFINITION.name, PASSWORD),)),
    )


def token() -> Secret:
    """Return the token by which Zabbix reads pods and nodes."""
    return Secret(
        name=TOKEN,
        namespace=NAMESPACE,
        keys=("token",),
        source="in-cluster",
        by="zabbix",
        loss="harmless",
        rotate=f"delete ServiceAccount {READER}: Argo CD makes both again; then sync `zabbix`. Of the same account "
        "Kubernetes makes the same token",
        readers=(CONFIGURE,),
        turn=READER_ANEW,
    )


def reader() -> Secret:
    """Return the password of the user that the heartbeat reads Zabbix as."""
    return Secret(
        name=HEARTBEAT,
        namespace=NAMESPACE,
        keys=("password",),
        source="generated",
        loss="harmless",
        rotate="replace it, then sync `zabbix`: the heartbeat fails in between",
        readers=(CONFIGURE, COMPLETE, HEARTBEAT),
        turn=structs.replace(CONFIGURED_ANEW, still="the heartbeat"),
    )


def given(name: str) -> Secret:
    """Return the token of a bot that sends alerts."""
    return Secret(
        name=bot_secret(name),
        namespace=NAMESPACE,
        keys=("token",),
        source="given",
        loss="outage",
        rotate="replace it, then sync `zabbix`. Without it nobody is told of anything",
        readers=(CONFIGURE, COMPLETE),
        turn=CONFIGURED_ANEW,
    )

"""Zabbix's server, its frontend and its proxy."""

from generator.components.common import UNWATCHED
from generator.components.component import Manifest
from generator.components.issuers import ISSUER
from generator.components.zabbix import VERSIONS
from generator.components.zabbix.database import credentials
from generator.components.zabbix.hosts import proxy
from generator.components.zabbix.names import DATABASE, OPEN, SERVER, TLS
from generator.components.zabbix.objects import POD_SECURITY, WRITABLE_CONTAINER, metadata, pod, wave, workload
from generator.model.cluster import Cluster
from generator.model.monitoring import Zabbix

WEB = "zabbix-web"
PROXY = "zabbix-proxy"
# Its pod ends before another starts: two servers on one database refuse.
ALONE = {"replicas": 1, "strategy": {"type": "Recreate"}}
LISTENING = {"tcpSocket": {"port": "trapper"}}


def server(cluster: Cluster) -> Manifest:
    """Return the server. Its image waits for the database and makes the schema itself, which takes a minute; an
    upgrade's changes of a big database take an hour.
    """
    container = {
        "name": "server",
        "image": VERSIONS.of(cluster).images["server"],
        "env": [
            {"name": "DB_SERVER_HOST", "value": DATABASE},
            *credentials("POSTGRES_USER", "POSTGRES_PASSWORD"),
            {"name": "POSTGRES_DB", "value": "zabbix"},
            {"name": "ZBX_CACHESIZE", "value": "256M"},
            {"name": "ZBX_VALUECACHESIZE", "value": "256M"},
            # It needs a raw socket, which a restricted pod does not get.
            {"name": "ZBX_STARTPINGERS", "value": "0"},
        ],
        "ports": [{"name": "trapper", "containerPort": 10051}],
        "startupProbe": {**LISTENING, "periodSeconds": 10, "failureThreshold": 360},
        "livenessProbe": {**LISTENING, "periodSeconds": 30, "failureThreshold": 6},
        "readinessProbe": {**LISTENING, "periodSeconds": 10},
        "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"memory": "4Gi"}},
        "securityContext": WRITABLE_CONTAINER,
    }
    spec = {**pod(container, POD_SECURITY), "terminationGracePeriodSeconds": 120}
    return workload("Deployment", SERVER, spec, **ALONE)


def web(cluster: Cluster) -> Manifest:
    """Return the frontend, which waits for the schema."""
    alive = {"httpGet": {"path": "/ping", "port": "http"}, "timeoutSeconds": 5}
    container = {
        "name": "web",
        "image": VERSIONS.of(cluster).images["web"],
        "env": [
            {"name": "ZBX_SERVER_HOST", "value": SERVER},
            {"name": "ZBX_SERVER_NAME", "value": cluster.name},
            {"name": "DB_SERVER_HOST", "value": DATABASE},
            *credentials("POSTGRES_USER", "POSTGRES_PASSWORD"),
            {"name": "POSTGRES_DB", "value": "zabbix"},
            {"name": "PHP_TZ", "value": cluster.site.timezone},
            # An import of many hosts.
            {"name": "ZBX_MEMORYLIMIT", "value": "512M"},
            {"name": "ZBX_POSTMAXSIZE", "value": "64M"},
        ],
        "ports": [{"name": "http", "containerPort": 8080}],
        "startupProbe": {**alive, "periodSeconds": 10, "failureThreshold": 120},
        "livenessProbe": {**alive, "periodSeconds": 30, "failureThreshold": 6},
        "readinessProbe": {**alive, "periodSeconds": 10},
        "resources": {"requests": {"cpu": "200m", "memory": "512Mi"}, "limits": {"memory": "2Gi"}},
        "securityContext": WRITABLE_CONTAINER,
    }
    return workload("Deployment", WEB, pod(container, POD_SECURITY), **ALONE)


def proxy_set(cluster: Cluster) -> Manifest:
    """Return the proxy: agents talk to it and it reads the cluster's services, so that the server may move away. It
    comes to the server by itself, and keeps what it could not send for as long as its pod lives.
    """
    container = {
        "name": "proxy",
        "image": VERSIONS.of(cluster).images["proxy"],
        "env": [
            {"name": "ZBX_HOSTNAME", "value": proxy(cluster)},
            {"name": "ZBX_SERVER_HOST", "value": SERVER},
            {"name": "ZBX_PROXYMODE", "value": "0"},
            {"name": "ZBX_PROXYCONFIGFREQUENCY", "value": "60"},
            {"name": "ZBX_CACHESIZE", "value": "64M"},
            {"name": "ZBX_STARTPINGERS", "value": "0"},
        ],
        "ports": [{"name": "trapper", "containerPort": 10051}],
        "startupProbe": {**LISTENING, "periodSeconds": 5, "failureThreshold": 60},
        "livenessProbe": {**LISTENING, "periodSeconds": 30, "failureThreshold": 6},
        "readinessProbe": {**LISTENING, "periodSeconds": 10},
        "resources": {"requests": {"cpu": "200m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}},
        "volumeMounts": [
            {"name": "data", "mountPath": "/var/lib/zabbix/db_data"},
            # The API server proves itself by the cluster's CA, and no other server is asked for a proof.
            {"name": "ca", "mountPath": "/etc/ssl/certs/ca-certificates.crt", "subPath": "ca.crt", "readOnly": True},
        ],
        "securityContext": WRITABLE_CONTAINER,
    }
    volumes = [
        {"name": "data", "emptyDir": {"sizeLimit": "4Gi"}},
        {"name": "ca", "configMap": {"name": "kube-root-ca.crt"}},
    ]
    return workload("StatefulSet", PROXY, pod(container, POD_SECURITY, volumes), serviceName=PROXY, replicas=1)


def ingress(cluster: Cluster, settings: Zabbix) -> Manifest:
    """Return the way in from outside; cert-manager reads the annotation and makes the certificate."""
    annotations = {**UNWATCHED, "cert-manager.io/cluster-issuer": ISSUER}
    backend = {"service": {"name": WEB, "port": {"name": "http"}}}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": metadata(WEB, annotations=wave(OPEN, **annotations)),
        "spec": {
            "ingressClassName": cluster.site.ingress_class,
            "tls": [{"hosts": [settings.host], "secretName": TLS}],
            "rules": [
                {"host": settings.host, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}
            ],
        },
    }

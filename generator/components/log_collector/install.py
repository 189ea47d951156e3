"""What reads logs on every node, of pods and of the journal: Grafana Alloy."""

import json
from collections.abc import Iterator

from generator.components.closed import prometheus
from generator.components.common import OWN_LABELS, prometheus_crds
from generator.components.component import Component, Manifest, Namespace, Secret, Turn
from generator.components.log_collector import DEFINITION, LABELS, METRICS_PORT, NAMESPACE, PLATFORM, VERSIONS
from generator.components.log_collector.alerts import rule_group
from generator.components.log_store.names import NAMESPACE as STORE
from generator.components.log_store.names import PORT as STORE_PORT
from generator.components.log_store.names import URL as STORE_URL
from generator.components.parts import NODE_LABEL, UNPRIVILEGED, from_secret, in_namespace, outside, resources, tcp
from generator.components.static import read_text
from generator.model.cluster import Cluster
from generator.model.monitoring import Logs, LogServer, http_port

LOGIN = "log-server"
PUSH = "/loki/api/v1/push"
# No namespace has this name.
NOBODY = "-"
HOST_FOLDERS = {
    "pods": ("/var/log/pods", "Directory"),
    # Where journald keeps what outlives the node's next start; without the folder it keeps nothing.
    "journal": ("/var/log/journal", "DirectoryOrCreate"),
}
# How far each file was read: with the pod's own folder all would be read again after each update.
POSITIONS = "/var/lib/gen-log-collector"


def install(cluster: Cluster) -> Component:
    """Return the collectors. Their namespace is privileged for the folders of the node that they read."""
    logs = cluster.monitoring.logs
    assert logs
    version = VERSIONS.of(cluster)
    return Component(
        name=DEFINITION.name,
        tier=DEFINITION.tier,
        summary="Logs of pods and nodes, read on every node",
        version=version.version,
        namespaces=(Namespace(NAMESPACE, security="privileged"),),
        objects=tuple(objects(cluster, logs, version.images["alloy"])),
        needs=("log-store", *prometheus_crds(cluster)),
        secrets=(login(),) if logs.to and logs.to.login else (),
    )


def objects(cluster: Cluster, logs: Logs, image: str) -> Iterator[Manifest]:
    """Yield everything. With Zabbix alerts belong to Zabbix."""
    yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(), "automountServiceAccountToken": False}
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(),
        "data": {"config.alloy": f"{read_text('log_collector/collect.alloy')}\n{sending(cluster, logs)}"},
    }
    yield daemon_set(cluster, logs, image)
    yield policy(cluster, logs)
    if cluster.monitoring.prometheus:
        yield monitor()
        if cluster.monitoring.zabbix is None:
            yield rule_group()


def metadata() -> Manifest:
    """Return the metadata of an object of the collectors'."""
    return {"name": "alloy", "namespace": NAMESPACE, "labels": LABELS}


def sending(cluster: Cluster, logs: Logs) -> str:
    """Return where lines go, in Alloy's language, whose texts are those of JSON. What is not taken is tried again for
    ever, and until then nothing more is read: what waits is in the node's own files. Only Loki's refusal of a tenant
    that writes too much is final, for all others of the node would wait for it.
    """
    endpoint = [f"url = {json.dumps(logs.to.url if logs.to else STORE_URL + PUSH)}", "max_backoff_retries = 0"]
    endpoint += ['max_backoff_period = "1m"', f"retry_on_http_429 = {'true' if logs.to else 'false'}"]
    endpoint += _of_server(cluster, logs.to) if logs.to else [f"tenant_id = {json.dumps(PLATFORM)}"]
    inner = "\n".join(f"    {line}" for line in endpoint)
    named = f'{{"cluster" = {json.dumps(cluster.name)}, "node" = sys.env("NODE_NAME")}}'
    return f'loki.write "out" {{\n  external_labels = {named}\n\n  endpoint {{\n{inner}\n  }}\n}}\n'


def _of_server(cluster: Cluster, server: LogServer) -> list[str]:
    lines = [f"tenant_id = {json.dumps(server.tenant)}"] if server.tenant else []
    if server.login:
        lines += ["basic_auth {", '  username = sys.env("LOG_SERVER_USER")']
        lines += ['  password_file = "/etc/log-server/password"', "}"]
    if cluster.site.ca and server.url.startswith("https:"):
        lines += ["tls_config {", f"  ca_pem = {json.dumps(cluster.site.ca)}", "}"]
    return lines


def daemon_set(cluster: Cluster, logs: Logs, image: str) -> Manifest:
    """Return the collectors, one on each node whatever its taints: also those of a failure, of which the logs tell. A
    new version comes to a quarter of the nodes at a time; what is written meanwhile is read afterwards.
    """
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": metadata(),
        "spec": {
            "selector": {"matchLabels": LABELS},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%"}},
            "template": {
                "metadata": {"labels": LABELS, "annotations": {f"{OWN_LABELS}/settings": _mark(cluster, logs)}},
                "spec": pod(cluster, logs, image),
            },
        },
    }


def _mark(cluster: Cluster, logs: Logs) -> str:
    """Return what changes with the settings: Alloy reads them when it starts."""
    from hashlib import sha256  # noqa: PLC0415 - it loads OpenSSL, which most clusters need not wait for

    text = read_text("log_collector/collect.alloy") + sending(cluster, logs)
    return sha256(text.encode()).hexdigest()[:8]


def pod(cluster: Cluster, logs: Logs, image: str) -> Manifest:
    """Return a pod: root, because logs are root's alone, and with nothing else that root may. Owner of the files that
    it reads, it needs no capability.
    """
    secret = logs.to and logs.to.login
    folders = [{"name": name, "hostPath": {"path": path, "type": kind}} for name, (path, kind) in HOST_FOLDERS.items()]
    return {
        "serviceAccountName": "alloy",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "priorityClassName": "system-node-critical",
        "tolerations": [{"operator": "Exists"}],
        "securityContext": {"runAsUser": 0, "runAsGroup": 0, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container(cluster, logs, image)],
        "volumes": [
            {"name": "settings", "configMap": {"name": "alloy"}},
            *folders,
            {"name": "positions", "hostPath": {"path": POSITIONS, "type": "DirectoryOrCreate"}},
            {"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}},
            *([{"name": "login", "secret": {"secretName": LOGIN}}] if secret else []),
        ],
    }


def container(cluster: Cluster, logs: Logs, image: str) -> Manifest:
    """Return Alloy, which tells nobody outside of itself."""
    secret = logs.to and logs.to.login
    folders = [{"name": name, "mountPath": path, "readOnly": True} for name, (path, _) in HOST_FOLDERS.items()]
    return {
        "name": "alloy",
        "image": image,
        "args": [
            "run",
            "/etc/alloy/config.alloy",
            "--storage.path=/var/lib/alloy",
            f"--server.http.listen-addr=0.0.0.0:{METRICS_PORT}",
            "--server.http.enable-pprof=false",
            "--disable-reporting",
            "--disable-support-bundle",
        ],
        "env": [
            {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}}},
            {"name": "TEAMS", "value": tenants(cluster, logs)},
            *([from_secret("LOG_SERVER_USER", LOGIN, "username")] if secret else []),
        ],
        "ports": [{"name": "metrics", "containerPort": METRICS_PORT}],
        "readinessProbe": {
            "httpGet": {"path": "/-/ready", "port": "metrics"},
            "periodSeconds": 10,
            "timeoutSeconds": 5,
        },
        "resources": resources("100m", "256Mi", "768Mi"),
        "securityContext": UNPRIVILEGED,
        "volumeMounts": [
            {"name": "settings", "mountPath": "/etc/alloy", "readOnly": True},
            *folders,
            {"name": "positions", "mountPath": "/var/lib/alloy"},
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108  # a volume of the pod's own
            *([{"name": "login", "mountPath": "/etc/log-server", "readOnly": True}] if secret else []),
        ],
    }


def tenants(cluster: Cluster, logs: Logs) -> str:
    """Return the namespaces that are tenants of their own, as a regular expression with one group. A log server of the
    site has its own ways to tell teams apart: by the label `namespace`.
    """
    names = [] if logs.to else [team.name for team in cluster.teams]
    return f"({'|'.join(names or [NOBODY])})"


def policy(cluster: Cluster, logs: Logs) -> Manifest:
    """Let in nobody but Prometheus, and out to DNS and where logs go."""
    scraped = {"from": [prometheus(cluster)], "ports": [tcp(METRICS_PORT)]}
    ingress = [scraped] if cluster.monitoring.prometheus else []
    dns = {"ports": [{"protocol": "UDP", "port": 53}, tcp(53)]}
    inside = [{"to": [in_namespace(STORE)], "ports": [tcp(STORE_PORT)]}]
    egress = [dns, *(outside(cluster, [http_port(logs.to.url) or 443]) if logs.to else inside)]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(),
        "spec": {"podSelector": {}, "policyTypes": ["Ingress", "Egress"], "ingress": ingress, "egress": egress},
    }


def monitor() -> Manifest:
    """Return the PodMonitor, which says of each collector what node it is on."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PodMonitor",
        "metadata": metadata(),
        "spec": {
            "selector": {"matchLabels": LABELS},
            "podMetricsEndpoints": [{"port": "metrics", "interval": "30s", "relabelings": [NODE_LABEL]}],
        },
    }


def login() -> Secret:
    """Declare how the site's log server knows this cluster."""
    return Secret(
        name=LOGIN,
        namespace=NAMESPACE,
        keys=("username", "password"),
        source="given",
        loss="outage",
        rotate="replace it, then `kubectl --namespace log-collector rollout restart daemonset alloy`",
        readers=("alloy",),
        turn=Turn(restarts=("DaemonSet/alloy",)),
    )

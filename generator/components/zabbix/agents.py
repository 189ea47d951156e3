"""Zabbix agent 2 on every node."""

from generator.components.component import Manifest
from generator.components.parts import pod_security
from generator.components.static import read_text
from generator.components.zabbix import VERSIONS
from generator.components.zabbix.names import AGENTS, NAMESPACE, WITH_AGENTS, labels
from generator.components.zabbix.objects import WRITABLE_CONTAINER, metadata, pod, wave
from generator.components.zabbix.server import PROXY
from generator.model.cluster import Cluster

AGENT = "zabbix-agent"
SCRIPTS = "/etc/zabbix/scripts"


def agent_map() -> Manifest:
    """Return what the agent measures besides its own keys, the same on every cluster."""
    data = {name: read_text(f"zabbix/{name}") for name in ("gen.conf", "infiniband.sh", "gpu.sh")}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(AGENT, namespace=AGENTS), "data": data}


def agents(cluster: Cluster) -> Manifest:
    """Return the agents: on every node, whatever its taints, also those of a failure."""
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": metadata(AGENT, namespace=AGENTS, annotations=wave(WITH_AGENTS)),
        "spec": {
            "selector": {"matchLabels": labels(AGENT)},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}},
            "template": {"metadata": {"labels": labels(AGENT)}, "spec": agent(cluster)},
        },
    }


def agent(cluster: Cluster) -> Manifest:
    """Return the pod. On the host's network it sees the host's interfaces and InfiniBand devices, with the host's
    processes its load; nothing of either can be changed from there.
    """
    return pod(
        container(cluster),
        pod_security(1997, runAsGroup=1995),
        [
            {"name": "host", "hostPath": {"path": "/", "type": "Directory"}},
            {"name": "parameters", "configMap": {"name": AGENT, "items": items("gen.conf")}},
            {"name": "scripts", "configMap": {"name": AGENT, "items": items("infiniband.sh", "gpu.sh")}},
        ],
        hostNetwork=True,
        hostPID=True,
        dnsPolicy="ClusterFirstWithHostNet",
        priorityClassName="system-node-critical",
        tolerations=[{"operator": "Exists"}],
    )


def items(*names: str) -> list[Manifest]:
    """Return keys of a ConfigMap as files of the same name."""
    return [{"key": name, "path": name} for name in names]


def container(cluster: Cluster) -> Manifest:
    """Return the agent: it goes to the proxy and lets nobody in, so it opens no port on the node."""
    alive = {"exec": {"command": ["zabbix_agent2", "-R", "version"]}, "timeoutSeconds": 10}
    return {
        "name": "agent",
        "image": VERSIONS.of(cluster).images["agent"],
        "env": [
            {"name": "ZBX_HOSTNAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            {"name": "ZBX_SERVER_HOST", "value": f"{PROXY}.{NAMESPACE}.svc.{cluster.kubernetes.dns_domain}"},
            {"name": "ZBX_PASSIVE_ALLOW", "value": "false"},
            {"name": "ZBX_TIMEOUT", "value": "10"},
        ],
        "livenessProbe": {**alive, "initialDelaySeconds": 30, "periodSeconds": 60, "failureThreshold": 5},
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
        "securityContext": WRITABLE_CONTAINER,
        "volumeMounts": [
            {"name": "host", "mountPath": "/host", "readOnly": True, "mountPropagation": "HostToContainer"},
            {"name": "parameters", "mountPath": "/etc/zabbix/zabbix_agentd.d", "readOnly": True},
            {"name": "scripts", "mountPath": SCRIPTS, "readOnly": True},
        ],
    }

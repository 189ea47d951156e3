"""Zabbix agent 2 on every node."""

from pathlib import Path

from generator.components.component import Manifest
from generator.components.gpu_operator import NAMESPACE as GPU_NAMESPACE
from generator.components.parts import pod_security
from generator.components.zabbix.names import AGENTS, GPU_SERVICE, NAMESPACE, WRITABLE_CONTAINER, labels, metadata, pod
from generator.components.zabbix.server import PROXY
from generator.components.zabbix.versions import VERSIONS
from generator.model.cluster import Cluster

AGENT = "zabbix-agent"
SCRIPTS = "/etc/zabbix/scripts"
FOLDER = Path(__file__).parent
INFINIBAND_SCRIPT = FOLDER.joinpath("infiniband.sh").read_text(encoding="utf-8")
GPU_SCRIPT = FOLDER.joinpath("gpu.sh").read_text(encoding="utf-8")

PARAMETERS = f"""\
UserParameter=infiniband.ports,/bin/bash {SCRIPTS}/infiniband.sh
UserParameter=gpu.metrics,/bin/bash {SCRIPTS}/gpu.sh {GPU_SERVICE}.{GPU_NAMESPACE}.svc 9400
"""


def agent_map() -> Manifest:
    """Return what the agent measures besides its own keys, the same on every cluster."""
    data = {"gen.conf": PARAMETERS, "infiniband.sh": INFINIBAND_SCRIPT, "gpu.sh": GPU_SCRIPT}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(AGENT, namespace=AGENTS), "data": data}


def gpu_service() -> Manifest:
    """Lead every node to its own DCGM exporter: the exporters' own Service would lead anywhere."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(AGENT, GPU_SERVICE, GPU_NAMESPACE),
        "spec": {
            "type": "ClusterIP",
            "internalTrafficPolicy": "Local",
            "selector": {"app": "nvidia-dcgm-exporter"},
            "ports": [{"name": "metrics", "port": 9400, "targetPort": 9400, "protocol": "TCP"}],
        },
    }


def agents(cluster: Cluster) -> Manifest:
    """Return the agents: on every node, whatever its taints, also those of a failure."""
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": metadata(AGENT, namespace=AGENTS),
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

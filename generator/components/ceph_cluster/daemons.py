"""The CephCluster: monitors, managers and OSDs."""

from generator.components.ceph_cluster.devices import device_classes, storage_node
from generator.components.common import CEPH, RACK, tolerations
from generator.components.component import Manifest, protect
from generator.components.rook_ceph import NAMESPACE
from generator.model.capacity import ceph_hosts
from generator.model.cluster import Cluster
from generator.model.storage import Ceph
from generator.model.versions import version_of

__all__ = ["ceph_cluster_object", "on_ceph_hosts"]

# Ceph warns of these as long as keys of the old type are in use (facts: storage 2.6).
OLD_KEY_WARNINGS = (
    "AUTH_INSECURE_CLIENT_KEY_TYPE",
    "AUTH_INSECURE_KEYS_ALLOWED",
    "AUTH_INSECURE_KEYS_CREATABLE",
    "AUTH_INSECURE_ROTATING_SERVICE_KEY_TYPE",
)


def ceph_cluster_object(cluster: Cluster, ceph: Ceph) -> Manifest:
    """Return the CephCluster. Flags that are off are left out, because Rook drops them when it writes the object
    back; `useAllNodes` and `useAllDevices` stay for the reader.
    """
    return protect(
        {
            "apiVersion": "ceph.rook.io/v1",
            "kind": "CephCluster",
            "metadata": {"name": NAMESPACE, "namespace": NAMESPACE},
            "spec": {
                "cephVersion": {"image": version_of("ceph-cluster", cluster).images["ceph"]},
                "dataDirHostPath": "/var/lib/rook",
                "mon": {"count": ceph.monitors},
                "mgr": {"count": min(2, len(ceph_hosts(cluster)))},
                **({"dashboard": {"enabled": True, "ssl": True}} if ceph.dashboard else {}),
                **({"monitoring": {"enabled": True}} if cluster.monitoring.prometheus else {}),
                "network": network(cluster, ceph),
                # Without encryption as well: requireMsgr2 leaves clients only the port of the new protocol.
                "csi": {"cephfs": {"kernelMountOptions": mount_options(ceph)}},
                **keys(cluster),
                "placement": placement(cluster),
                "resources": resources(cluster),
                "priorityClassNames": {
                    "mon": "system-node-critical",
                    "osd": "system-node-critical",
                    "mgr": "system-cluster-critical",
                },
                "storage": storage(cluster, ceph),
                "disruptionManagement": {"managePodBudgets": True, "osdMaintenanceTimeout": 30},
                "crashCollector": {"daysToRetain": 30},
                "logCollector": {"enabled": True, "periodicity": "daily", "maxLogSize": "500M"},
            },
        }
    )


def network(cluster: Cluster, ceph: Ceph) -> Manifest:
    """Return where Ceph talks. On the host network the OSDs use the storage network; the monitors do so only where
    the node carries the annotation `network.rook.io/mon-ip`.
    """
    connections: Manifest = {"requireMsgr2": True}
    if ceph.encryption.transit:
        connections["encryption"] = {"enabled": True}
    if ceph.network == "pod":
        return {"connections": connections}
    public = cluster.networks.storage or cluster.networks.node
    return {"provider": "host", "addressRanges": {"public": [str(public.cidr)]}, "connections": connections}


def mount_options(ceph: Ceph) -> str:
    """Return what the kernel's CephFS client must be told."""
    return "ms_mode=secure" if ceph.encryption.transit else "ms_mode=prefer-crc"


def keys(cluster: Cluster) -> Manifest:
    """Return the type of CSI keys: kernels before 7.0 do not understand the new one and could mount nothing. A
    pool that does not say its kernel counts as old.
    """
    if all(machine.kernel and int(machine.kernel.split(".")[0]) >= 7 for machine in cluster.machines):
        return {}
    return {
        "security": {"cephx": {"csi": {"keyType": "aes"}}},
        "healthCheck": {"muteHealthWarning": {warning: {"policy": "mute"} for warning in OLD_KEY_WARNINGS}},
    }


def on_ceph_hosts(cluster: Cluster) -> Manifest:
    """Return a placement on the nodes with Ceph's disks, whatever their taints."""
    hosts: Manifest = {"matchExpressions": [{"key": CEPH, "operator": "In", "values": ["true"]}]}
    found: Manifest = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [hosts]}}
    }
    tolerated = tolerations(ceph_hosts(cluster))
    return {**found, "tolerations": tolerated} if tolerated else found


def placement(cluster: Cluster) -> Manifest:
    """All daemons on Ceph's nodes; the monitors spread over racks where there are racks."""
    placed = {"all": on_ceph_hosts(cluster)}
    if any(machine.rack for machine in ceph_hosts(cluster)):
        placed["mon"] = {
            "topologySpreadConstraints": [
                {
                    "maxSkew": 1,
                    "topologyKey": RACK,
                    "whenUnsatisfiable": "ScheduleAnyway",
                    "labelSelector": {"matchLabels": {"app": "rook-ceph-mon"}},
                }
            ]
        }
    return placed


def resources(cluster: Cluster) -> Manifest:
    """Return requests and limits. An OSD takes 0.8 of its limit as `osd_memory_target`. `prepareosd` has no memory
    limit: it runs out on big devices (facts: storage 2.2).
    """
    osds = {"nvme": _osd("2", "8Gi"), "ssd": _osd("1", "5Gi"), "hdd": _osd("500m", "5Gi")}
    return {
        "mon": {"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"memory": "4Gi"}},
        "mgr": {"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"memory": "4Gi"}},
        **{f"osd-{name}": osds[name] for name in device_classes(cluster)},
        "prepareosd": {"requests": {"cpu": "500m", "memory": "128Mi"}},
        "mgr-sidecar": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
        "crashcollector": {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
        "exporter": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
        "logcollector": {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "1Gi"}},
        "cmd-reporter": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}},
    }


def _osd(cpu: str, memory: str) -> Manifest:
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": {"memory": memory}}


def storage(cluster: Cluster, ceph: Ceph) -> Manifest:
    """Return the disks. Values of `config` are text, also where they are numbers or flags."""
    config = {"osdsPerDevice": "1"}
    if ceph.encryption.rest:
        config["encryptedDevice"] = "true"
    return {
        "useAllNodes": False,
        "useAllDevices": False,
        "config": config,
        "nodes": [storage_node(machine) for machine in ceph_hosts(cluster)],
    }

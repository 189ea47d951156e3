"""The CephCluster: monitors, managers and OSDs, and the toolbox for those who ask for it."""

from generator.components.ceph_cluster import VERSIONS
from generator.components.ceph_cluster.devices import device_classes, storage_node
from generator.components.ceph_csi_drivers import served
from generator.components.common import CEPH, POOL, RACK
from generator.components.component import Manifest, protect
from generator.components.parts import from_secret, on_nodes, pod_security, resources, spread, tolerations
from generator.components.rook_ceph import ENDPOINTS, NAMESPACE
from generator.components.rook_ceph import VERSIONS as ROOK_CEPH_VERSIONS
from generator.model.capacity import OSD_REQUESTS
from generator.model.cluster import Cluster
from generator.model.quantity import Quantity
from generator.model.served import numbers
from generator.model.storage import Ceph

# Ceph warns of these as long as keys of the old type are in use (facts: storage 2.6).
OLD_KEY_WARNINGS = (
    "AUTH_INSECURE_CLIENT_KEY_TYPE",
    "AUTH_INSECURE_KEYS_ALLOWED",
    "AUTH_INSECURE_KEYS_CREATABLE",
    "AUTH_INSECURE_ROTATING_SERVICE_KEY_TYPE",
)
# Percent of a pool's quota at which Ceph warns (POOL_NEAR_FULL); 0, its default, is never. Its twin, which makes that
# an error (`mon_pool_quota_crit_threshold`), stays 0: one pool would make the cluster degraded and hold all waves.
OPTIONS = {"mon_pool_quota_warn_threshold": "85"}


def rook_object(kind: str, name: str, spec: Manifest) -> Manifest:
    """Return an object of Rook's, protected: with it Rook may delete what it stands for."""
    metadata = {"name": name, "namespace": NAMESPACE}
    return protect({"apiVersion": "ceph.rook.io/v1", "kind": kind, "metadata": metadata, "spec": spec})


def ceph_cluster_object(cluster: Cluster, ceph: Ceph) -> Manifest:
    """Return the CephCluster. Flags that are off are left out, because Rook drops them when it writes the object
    back; `useAllNodes` and `useAllDevices` stay for the reader.
    """
    mode = "secure" if ceph.encryption.transit else "prefer-crc"
    spec = {
        "cephVersion": {"image": VERSIONS.of(cluster).images["ceph"]},
        "dataDirHostPath": "/var/lib/rook",
        "mon": {"count": ceph.monitors},
        "mgr": {"count": min(2, len(cluster.ceph_hosts)), **modules(cluster)},
        **({"dashboard": {"enabled": True, "ssl": True}} if ceph.dashboard else {}),
        **({"monitoring": {"enabled": True}} if cluster.monitoring.prometheus else {}),
        "network": network(cluster, ceph),
        "cephConfig": {"global": OPTIONS},
        # Without encryption as well: requireMsgr2 leaves clients only the port of the new protocol.
        "csi": {"cephfs": {"kernelMountOptions": f"ms_mode={mode}"}},
        **keys(cluster, ceph),
        "placement": placement(cluster, ceph),
        "resources": of_daemons(cluster),
        "priorityClassNames": {
            "mon": "system-node-critical",
            "osd": "system-node-critical",
            "mgr": "system-cluster-critical",
        },
        "storage": storage(cluster, ceph),
        "disruptionManagement": {"managePodBudgets": True, "osdMaintenanceTimeout": 30},
        "crashCollector": {"daysToRetain": 30},
        "logCollector": {"enabled": True, "periodicity": "daily", "maxLogSize": "500M"},
    }
    return rook_object("CephCluster", NAMESPACE, spec)


def modules(cluster: Cluster) -> Manifest:
    """Return the manager's module that makes an export for each volume. Ceph does not start it by itself."""
    return {"modules": [{"name": "nfs", "enabled": True}]} if served(cluster) else {}


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


def keys(cluster: Cluster, ceph: Ceph) -> Manifest:
    """Return the type of CSI keys: kernels before 7.0 do not understand the new one and could mount nothing. A
    pool that does not say its kernel counts as old. And the generations of keys, where those that came first have gone.
    """
    old = not all(machine.kernel and numbers(machine.kernel) >= (7,) for machine in cluster.machines)
    csi: Manifest = {"keyType": "aes"} if old else {}
    if ceph.keys.csi > 1:
        csi |= {**generation(ceph.keys.csi), "keepPriorKeyCountMax": ceph.keys.former}
    parts = {"csi": csi, "daemon": generation(ceph.keys.daemons) if ceph.keys.daemons > 1 else {}}
    cephx = {name: one for name, one in parts.items() if one}
    muted = {warning: {"policy": "mute"} for warning in OLD_KEY_WARNINGS}
    made = {"security": {"cephx": cephx}} if cephx else {}
    return {**made, "healthCheck": {"muteHealthWarning": muted}} if old else made


def generation(number: int) -> Manifest:
    """Return which generation keys are to be of."""
    return {"keyRotationPolicy": "KeyGeneration", "keyGeneration": number}


def on_ceph_hosts(cluster: Cluster) -> Manifest:
    """Return a placement on the nodes with Ceph's disks, whatever their taints."""
    tolerated = tolerations(cluster.ceph_hosts)
    return {"nodeAffinity": on_nodes({CEPH: ["true"]}), **({"tolerations": tolerated} if tolerated else {})}


def placement(cluster: Cluster, ceph: Ceph) -> Manifest:
    """All daemons on Ceph's nodes, the monitors on their own if they have some, and spread over racks where there are
    racks. What `mon` says replaces what `all` says, key by key; only tolerations are added up (Rook, placement.go).
    """
    monitors: Manifest = {}
    if ceph.monitor_pools:
        tolerated = tolerations(cluster.monitor_hosts)
        monitors["nodeAffinity"] = on_nodes({POOL: list(ceph.monitor_pools)})
        monitors |= {"tolerations": tolerated} if tolerated else {}
    if any(machine.rack for machine in cluster.monitor_hosts):
        monitors["topologySpreadConstraints"] = spread({"app": "rook-ceph-mon"}, over=RACK)
    return {"all": on_ceph_hosts(cluster), **({"mon": monitors} if monitors else {})}


def of_daemons(cluster: Cluster) -> Manifest:
    """Return requests and limits. An OSD takes 0.8 of its limit as `osd_memory_target`. `prepareosd` has no memory
    limit: it runs out on big devices (facts: storage 2.2).
    """
    return {
        "mon": resources("1", "2Gi", "4Gi"),
        "mgr": resources("1", "2Gi", "4Gi"),
        **{f"osd-{name}": osd_resources(name) for name in device_classes(cluster)},
        "prepareosd": {"requests": {"cpu": "500m", "memory": "128Mi"}},
        "mgr-sidecar": resources("100m", "64Mi", "256Mi"),
        "crashcollector": resources("10m", "64Mi", "128Mi"),
        "exporter": resources("50m", "64Mi", "256Mi"),
        "logcollector": resources("10m", "64Mi", "1Gi"),
        "cmd-reporter": resources("100m", "256Mi", "1Gi"),
    }


def osd_resources(device_class: str) -> Manifest:
    """Return what one OSD on a disk of this class requests; its memory is its limit."""
    cpu, memory = OSD_REQUESTS[device_class]
    size = str(Quantity.of(memory, binary=True))
    return resources(str(Quantity(cpu)), size, size)


def storage(cluster: Cluster, ceph: Ceph) -> Manifest:
    """Return the disks. Values of `config` are text, also where they are numbers or flags."""
    return {
        "useAllNodes": False,
        "useAllDevices": False,
        "config": {"osdsPerDevice": "1", **({"encryptedDevice": "true"} if ceph.encryption.rest else {})},
        "nodes": [storage_node(machine) for machine in cluster.ceph_hosts],
    }


def toolbox(cluster: Cluster) -> Manifest:
    """Return a shell with Ceph's admin key. Whoever may exec into it owns Ceph: it is off unless the cluster file asks
    for it.
    """
    labels = {"app": "rook-ceph-tools"}
    placed = on_ceph_hosts(cluster)
    keyring = [{"key": "ceph-secret", "path": "secret.keyring"}]
    endpoints = [{"key": "data", "path": "mon-endpoints"}]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "rook-ceph-tools", "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "serviceAccountName": "rook-ceph-default",
                    "automountServiceAccountToken": False,
                    "affinity": {"nodeAffinity": placed["nodeAffinity"]},
                    **({"tolerations": placed["tolerations"]} if "tolerations" in placed else {}),
                    "securityContext": pod_security(2016, runAsGroup=2016),
                    "containers": [_container(ROOK_CEPH_VERSIONS.of(cluster).images["operator"])],
                    "volumes": [
                        {"name": "config", "emptyDir": {}},
                        {"name": "endpoints", "configMap": {"name": ENDPOINTS, "items": endpoints}},
                        {"name": "admin", "secret": {"secretName": "rook-ceph-mon", "items": keyring}},
                    ],
                },
            },
        },
    }


def _container(image: str) -> Manifest:
    """Rook's own script writes the client's configuration and follows the monitors."""
    return {
        "name": "rook-ceph-tools",
        "image": image,
        "command": ["/usr/local/bin/toolbox.sh"],
        "env": [from_secret("ROOK_CEPH_USERNAME", "rook-ceph-mon", "ceph-username")],
        "resources": resources("50m", "128Mi", "1Gi"),
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/ceph"},
            {"name": "endpoints", "mountPath": "/etc/rook"},
            {"name": "admin", "mountPath": "/var/lib/rook-ceph-mon", "readOnly": True},
        ],
    }

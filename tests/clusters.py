"""Valid clusters of many kinds, as the values of their files."""

from typing import Any

from hypothesis import strategies as st

Value = dict[str, Any]

# Names that Kubernetes takes and that careless YAML reads as something else.
ODD = ["a", "0", "on", "no", "y", "null", "true", "1e3", "0x1f", "12e03", "1-2", "a--b", "n" * 30]
# GPUs by model: memory, MIG profile.
GPUS = {
    "H100": ("80Gi", "all-1g.10gb"),
    "A100": ("40Gi", "all-1g.5gb"),
    "A30": ("24Gi", "all-1g.6gb"),
    "L40S": ("48Gi", None),
}


def names(draw: st.DrawFn, count: int, plain: list[str]) -> list[str]:
    """Draw `count` different names: plain ones, or odd ones."""
    odd = draw(st.permutations(ODD)) if draw(st.booleans()) else []
    return [*odd, *plain][:count]


def optional(draw: st.DrawFn, key: str, value: Any) -> Value:
    """Return the key with its value, or nothing."""
    return {key: value} if draw(st.booleans()) else {}


class Plan:
    """What a cluster is made of, drawn first: the parts of its file depend on each other."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.control = draw(st.sampled_from([1, 3, 5]))
        self.workers = draw(st.integers(3, 6))
        self.gpus = draw(st.integers(0, 3))
        self.model = draw(st.sampled_from(sorted(GPUS)))
        self.hcas = draw(st.booleans()) and self.gpus > 0
        self.cilium = draw(st.booleans())
        self.dual = draw(st.booleans())
        self.ceph = draw(st.booleans()) and self.workers >= 5
        self.objects = draw(st.booleans())
        self.block = draw(st.booleans()) and self.ceph
        self.nfs = draw(st.booleans())
        self.oidc = draw(st.booleans())
        self.scratch = draw(st.booleans()) and self.gpus > 0
        self.storage_network = self.ceph or draw(st.booleans())
        # Lines that leave addresses to networks and cables to a unit.
        self.short = draw(st.booleans())
        self.system, self.cpu, self.gpu, self.nas = names(draw, 4, ["system", "cpu", "gpu", "nas"])
        self.racks = names(draw, 8, [f"r{number}" for number in range(8)])
        self.kernel = draw(st.sampled_from(["6.8", "5.15", "6.12.3"]))


@st.composite
def clusters(draw: st.DrawFn) -> Value:
    """Draw the value of a cluster file that no rule has an error for."""
    plan = Plan(draw)
    spec: Value = {
        "repository": draw(st.sampled_from([{"url": "https://git.example.org/c.git"}, SSH])),
        "site": site(plan),
        "kubernetes": kubernetes(plan),
        "networks": networks(plan),
        "pools": pools(plan),
        "nodes": nodes(plan),
        "storage": storage(plan),
        "scheduling": draw(st.sampled_from([{}, {"reclaim": "never", "priorities": {"on": 1, "x": -5}}])),
        "teams": teams(plan),
        "monitoring": monitoring(plan),
        "backups": backups(plan),
        "gitops": gitops(plan),
        "components": draw(st.sampled_from(SETTINGS)),
        **({"fabric": fabric(plan)} if plan.hcas else {}),
    }
    (name,) = names(draw, 1, ["lab"])
    # A part that says nothing may be left out.
    kept = {key: value for key, value in spec.items() if value or draw(st.booleans())}
    return {"apiVersion": "gen/v1alpha1", "kind": "Cluster", "metadata": {"name": name}, "spec": kept}


SSH = {"url": "git@git.example.org:c.git", "branch": "release/1.0"}
VALUES = {"replicas": 1, "affinity": None, "podLabels": {"z": "1", "b": "2"}}
SETTINGS: list[Value] = [
    {},
    {"cert-manager": {"sync": "manual"}, "metrics-server": {"values": VALUES}},
    {"node-feature-discovery": {"managed": False}},
]


def site(plan: Plan) -> Value:
    ssh = {"knownHosts": ["git.example.org ssh-ed25519 AAAA"]}
    return {
        "domain": plan.draw(st.sampled_from(["lab.example.org", "x", "1.2"])),
        "git": ssh,
        **optional(plan.draw, "dns", ["192.0.2.1"]),
        **optional(plan.draw, "ntp", ["ntp.example.org"]),
        **optional(plan.draw, "timezone", "Asia/Seoul"),
        **optional(plan.draw, "ingressClass", "cilium" if plan.cilium else "nginx"),
        **optional(plan.draw, "issuer", {"kind": "ca", "secret": "site-ca"}),
        **optional(plan.draw, "proxy", {"http": "http://proxy.example.org:3128", "noProxy": ["example.org"]}),
        **optional(plan.draw, "mirrors", [{"registry": "docker.io", "mirror": "mirror.example.org/docker"}]),
        **({"oidc": {"issuer": "https://id.example.org/realms/x", "client": "x"}} if plan.oidc else {}),
    }


def kubernetes(plan: Plan) -> Value:
    by = plan.draw(st.sampled_from(["kube-vip", "keepalived"])) if plan.control > 1 else "external"
    second = {"podCIDR6": "fd00:10:244::/48", "serviceCIDR6": "fd00:10:96::/112"} if plan.dual else {}
    return {
        "version": "1.35.3",
        "endpoint": {"address": "10.10.0.10:6443" if plan.control > 1 else "10.10.0.11:6443", "by": by},
        "podCIDR": "10.244.0.0/16",
        "serviceCIDR": "10.96.0.0/16",
        **second,
        **optional(plan.draw, "encryption", plan.draw(st.sampled_from(["aescbc", "none"]))),
        **optional(plan.draw, "reserved", {"cpu": "1500m", "memory": "4Gi"}),
    }


def networks(plan: Plan) -> Value:
    six = {"cidr6": "fd00:10:10::/64"} if plan.dual else {}
    bonds: list[Value] = [{"interface": "eno1"}, {"interface": "bond0", "bond": ["eno1", "eno2"]}]
    bond = plan.draw(st.sampled_from(bonds))
    found: Value = {
        "cni": "cilium" if plan.cilium else "calico",
        "node": {"cidr": "10.10.0.0/24", **bond, **six, **optional(plan.draw, "mtu", 9000)},
    }
    follow = {"follow": "node"} if plan.short else {}
    if plan.storage_network:
        links: list[Value] = [{"interface": "eno3"}, {"interface": "eno3.20", "vlan": 20}]
        found["storage"] = {"cidr": "10.20.0.0/24", **plan.draw(st.sampled_from(links)), **follow}
    if plan.hcas:
        found["ipoib"] = {"cidr": "10.30.0.0/24", "interface": "ibs1", **follow}
    if plan.cilium:
        found |= optional(plan.draw, "loadBalancer", {"range": "10.10.0.224/28"})
    return found


def disks(use: str) -> list[Value]:
    if use == "ceph":
        return [
            {"use": use, "model": "NVME_1", "count": 2, "size": "3840G"},
            {"use": use, "model": "HDD_1", "count": 4, "size": "20T", "class": "hdd"},
        ]
    return [{"use": use, "model": "X_1", "count": 4, "size": "8T", "class": "nvme" if use == "scratch" else "hdd"}]


def pools(plan: Plan) -> Value:
    draw = plan.draw
    memory, profile = GPUS[plan.model]
    mig = optional(draw, "mig", {"profile": profile}) if profile else {}
    gpu = {"model": plan.model, "count": draw(st.sampled_from([1, 4, 8])), "memory": memory, **mig}
    found: Value = {
        plan.system: {"role": "control-plane", "hardware": {"cpu": 16, "memory": "64Gi"}},
        plan.cpu: {
            "hardware": {"cpu": 64, "memory": "512Gi", **({"disks": disks("ceph")} if plan.ceph else {})},
            **optional(draw, "labels", {"example.org/tier": "on", "y": "1e3"}),
            "kernel": "6.8",
        },
    }
    if plan.gpus:
        hardware = {"cpu": 64, "memory": "512Gi", "gpu": gpu, **({"hcas": ["mlx5_0", "mlx5_1"]} if plan.hcas else {})}
        hardware |= {"disks": disks("scratch")} if plan.scratch else {}
        found[plan.gpu] = {"hardware": hardware, "taints": ["nvidia.com/gpu=present:NoSchedule"], "kernel": plan.kernel}
        found[plan.gpu] |= {"unit": "su-1"} if plan.hcas and plan.short else {}
    if plan.objects:
        taints = optional(draw, "taints", ["gen.internal/objects=present:NoSchedule"])
        found[plan.nas] = {"hardware": {"cpu": 32, "memory": "128Gi", "disks": disks("objects")}, **taints}
    return found


def nodes(plan: Plan) -> list[Value]:
    counts = {plan.system: plan.control, plan.cpu: plan.workers, plan.gpu: plan.gpus, plan.nas: 4 * plan.objects}
    found: list[Value] = []
    for pool, count in counts.items():
        prefix = plan.draw(st.sampled_from(["n", "0x", "node"]))
        for number in range(count):
            found.append(node(plan, f"{prefix}{len(found)}", pool, 11 + len(found), number))
    return found


def node(plan: Plan, name: str, pool: str, host: int, number: int) -> Value:
    addresses = {"storage": f"10.20.0.{host}"} if plan.storage_network else {}
    cables: Value = {}
    if plan.hcas and pool == plan.gpu:
        addresses["ipoib"] = f"10.30.0.{host}"
        cables = {"fabric": {f"mlx5_{rail}": f"leaf-{rail}/{number + 1}" for rail in range(2)}}
    if plan.short:
        addresses, cables = {}, {"port": number + 1} if cables else {}
    return {
        "name": name,
        "pool": pool,
        "address": f"10.10.0.{host}",
        **({"address6": f"fd00:10:10::{host}"} if plan.dual else {}),
        **({"addresses": addresses} if addresses else {}),
        "rack": plan.racks[number],
        **cables,
        **optional(plan.draw, "labels", {"example.org/row": "null"}),
        **optional(plan.draw, "hardware", {"cpu": 96, "memory": "768Gi"}),
    }


def fabric(plan: Plan) -> Value:
    switches = [{"name": f"leaf-{rail}", "ports": 40, "uplinks": 8} for rail in range(2)]
    units = {"units": {"su-1": {f"mlx5_{rail}": f"leaf-{rail}" for rail in range(2)}}} if plan.short else {}
    return {"switches": switches, **units, **optional(plan.draw, "rdma", {"resource": "x", "maxPods": 8})}


def storage(plan: Plan) -> Value:
    draw = plan.draw
    found: Value = {"scratch": {}} if plan.scratch else {}
    if plan.ceph:
        found["ceph"] = ceph(plan)
    if plan.objects:
        found["objects"] = {
            "pool": plan.nas,
            "buckets": [{"name": "copies", "lock": {"days": 3}, "expireVersions": 5}, {"name": "models"}],
            "users": [{"name": "writer", "buckets": ["copies"], "access": "backup"}],
            **optional(draw, "host", "s3.lab.example.org"),
        }
    return found | ({"nfs": {"server": "nas.example.org", "share": "/exports/data"}} if plan.nfs else {})


def ceph(plan: Plan) -> Value:
    draw = plan.draw
    fast = {"name": "meta", "deviceClass": "nvme"}
    bulk = {"name": "data", "deviceClass": "hdd", "replicas": 3}
    block = {"name": "rbd", "deviceClass": "nvme", "default": True, **optional(draw, "reclaim", "Retain")}
    wide = {"name": "data", "deviceClass": "hdd", "erasure": {"data": 2, "coding": 2}}
    return {
        "pools": [plan.cpu],
        "network": draw(st.sampled_from(["host", "pod"])),
        "encryption": {"transit": draw(st.booleans()), "rest": draw(st.booleans())},
        **({"blockPools": [block]} if plan.block else {}),
        **optional(draw, "filesystems", [{"name": "fs", "metadata": fast, "data": [{**fast, "name": "x"}, bulk]}]),
        "objectStores": [
            {"name": "store", "metadata": fast, "data": draw(st.sampled_from([bulk, wide])), "buckets": ["datasets"]}
        ],
        **optional(draw, "toolbox", plan.dual),
    }


def teams(plan: Plan) -> list[Value]:
    draw = plan.draw
    pair = names(draw, 2, ["vision", "language"])
    found = []
    for name in pair[: draw(st.integers(0, 2))]:
        quotas: Value = {plan.cpu: {"cpus": draw(st.integers(1, 30)), **optional(draw, "memory", "1Gi")}}
        if plan.gpus and draw(st.booleans()):
            quotas[plan.gpu] = {"gpus": draw(st.integers(0, plan.gpus // 2)), **optional(draw, "borrow", 1)}
        members = [{"group": draw(st.sampled_from(["ml:vision", "on", "a b"]))}, {"user": "1e3", "role": "viewer"}]
        found.append({"name": f"t-{name}"[:50], "quotas": quotas, "members": members})
    return found


def gitops(plan: Plan) -> Value:
    admins = optional(plan.draw, "admins", ["y", "a b"]) if plan.oidc else {}
    return {
        **optional(plan.draw, "highAvailability", plan.gpus > 0),
        **optional(plan.draw, "ordered", ["storage"]),
        **admins,
    }


def monitoring(plan: Plan) -> Value:
    draw = plan.draw
    slack = {"via": "slack", "channel": "#ops", "severity": "high", "after": "30m"}
    zabbix: Value = {"host": "zabbix.lab.example.org", "alerts": [slack]}
    # Its database needs a volume.
    zabbix |= {} if plan.block else {"storageClass": "nfs"}
    watched = optional(draw, "zabbix", zabbix) if plan.block or plan.nfs else {}
    return {**optional(draw, "prometheus", {"retention": "30d"}), **watched}


def backups(plan: Plan) -> list[Value]:
    if not (plan.ceph and plan.objects and plan.draw(st.booleans())):
        return []
    source, target = {"store": "store", "bucket": "datasets"}, {"bucket": "copies"}
    amounts = {"keepDays": 3, "size": "2T", "dailyChange": "10G", "changes": "rewritten"}
    return [{"name": "nightly", "from": source, "to": target, "schedule": "0 17 * * *", **amounts}]

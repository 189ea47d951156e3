"""Clusters to be judged: the reference clusters and variations of them."""

from pathlib import Path
from typing import Any

import yaml
from mergepatch import merged

from generator.model.cluster import Cluster
from generator.spec.decode import decode
from generator.spec.reader import read

ROOT = Path(__file__).parents[2]

CLUSTERS = sorted(path.parent.name for path in ROOT.glob("clusters/*/cluster.yaml"))

PROMETHEUS = {"retention": "30d", "storage": "200Gi", "storageClass": "rbd-nvme", "host": "grafana.ml50.example.org"}
VARIATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    # What is changed, and in which cluster: maps are merged, None removes.
    "prometheus beside zabbix": ("ml50", {"monitoring": {"prometheus": PROMETHEUS}}),
    "nothing monitored": ("ml50", {"monitoring": None}),
    "calico": ("ml50", {"networks": {"cni": "calico", "loadBalancer": None}, "site": {"ingressClass": "nginx"}}),
    "no addresses for services": ("ml50", {"networks": {"loadBalancer": None}}),
    "own issuer": ("ml50", {"site": {"issuer": None}}),
    "no ingress": ("ml50", {"site": {"ingressClass": None, "oidc": None}}),
    "nfs and toolbox": (
        "ml50",
        {"storage": {"nfs": {"server": "nfs.example.org", "share": "/export"}, "ceph": {"toolbox": True}}},
    ),
    "ceph on the pod network": ("ml50", {"storage": {"ceph": {"network": "pod", "encryption": None}}}),
    "no teams": ("ml50", {"teams": None}),
    "no backups": ("ml50", {"backups": None}),
    "scratch alone": ("ml50", {"storage": {"ceph": None, "objects": None}, "backups": None, "monitoring": None}),
    "cilium of somebody else": ("ml50", {"components": {"cilium": {"managed": False}}}),
    "zabbix": ("a30-bench", {"monitoring": {"zabbix": {"storageClass": "scratch-nvme"}}}),
    "highly available argo cd": ("a30-bench", {"gitops": {"highAvailability": True}}),
}


def variation(name: str, changes: dict[str, Any]) -> Cluster:
    """Return a reference cluster with changes in its `spec`."""
    file = Path("clusters", name, "cluster.yaml")
    content = yaml.load((ROOT / file).read_bytes(), yaml.CSafeLoader)
    content["spec"] = merged(content["spec"], changes)
    found = decode(read(yaml.safe_dump(content).encode(), str(file)))
    assert isinstance(found, Cluster), found
    return found

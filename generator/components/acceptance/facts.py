"""What the steps are told of each pool, as ConfigMaps that the synced tree brings."""

import json
from collections.abc import Iterator
from typing import Any

from generator.components.acceptance.jobs import CLIENTS, absent, jobs
from generator.components.acceptance.names import NAMESPACE, RECORDS, labels
from generator.components.acceptance.pools import Tried, most, tried
from generator.components.acceptance.stores import least
from generator.components.acceptance.thresholds import NAMES, PARTS, SECONDS_AWAY, thresholds
from generator.components.common import POOL
from generator.components.component import Manifest
from generator.components.indented_json import indented_json
from generator.model.cluster import Cluster


def config_maps(cluster: Cluster) -> Iterator[Manifest]:
    """Yield one for each pool that can be tried: its facts, and the job of each test."""
    for one in tried(cluster):
        made = {name: indented_json(job, 1) for name, job in jobs(cluster, one).items()}
        yield {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": f"pool-{one.pool}",
                "namespace": NAMESPACE,
                "labels": {**labels(), RECORDS: "pool", POOL: one.pool},
            },
            "data": {"facts": json.dumps(facts(cluster, one), sort_keys=True), **made},
        }


def facts(cluster: Cluster, one: Tried) -> dict[str, Any]:
    """Return what a result is judged by."""
    return {
        "pool": one.pool,
        "nodes": [machine.name for machine in one.machines],
        "most": most(cluster, one),
        "gpus": one.each,
        "infiniband": one.rdma is not None,
        "hcas": list(one.hcas),
        "clients": min(CLIENTS, len(one.machines)),
        "absent": absent(cluster, one),
        "thresholds": thresholds(cluster, one.machines),
        "stores": least(cluster, min(CLIENTS, len(one.machines))),
        "names": list(NAMES),
        "parts": PARTS,
        "vip": {
            "host": cluster.kubernetes.endpoint.host,
            "port": cluster.kubernetes.endpoint.port,
            "nodes": [machine.name for machine in cluster.control_plane],
            "seconds": SECONDS_AWAY,
        },
    }

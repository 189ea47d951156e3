"""The reference clusters, read from this repository."""

from pathlib import Path

from generator.model.cluster import Cluster
from generator.spec.decode import decode
from generator.spec.reader import read

ROOT = Path(__file__).parent.parent


def load(name: str) -> Cluster:
    """Read a reference cluster."""
    file = f"clusters/{name}/cluster.yaml"
    cluster = decode(read((ROOT / file).read_bytes(), file))
    assert isinstance(cluster, Cluster), cluster
    return cluster

"""MinIO, played: what `ask-minio.sh` says of its drives. test_minio_replacement.py asks real servers."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cephplayed import Answer, played

from generator.components.minio.layout import NAMESPACE
from generator.components.minio.settings import setup_job
from generator.model.cluster import Cluster

if TYPE_CHECKING:
    from nodesteps import Steps

ASKING = f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector=app.kubernetes.io%2Fname%3Dask-minio"


@dataclass
class Minio:
    """Sixteen drives: which are healed, and which are offline."""

    heals: list[str] = field(default_factory=list)
    offline: list[str] = field(default_factory=list)

    def answer(self, words: list[str]) -> Answer:
        """Return the exit code and what the script says."""
        assert words == ["drives"], words
        lines = [f"heal http://{one} running 0 5 id-{one}" for one in self.heals]
        lines += [f"bad http://{one} offline" for one in self.offline]
        return 0, "\n".join([*lines, f"offline {len(self.offline)}", "drives 16"])


@contextlib.contextmanager
def minio_answering(steps: "Steps", cluster: Cluster) -> Iterator[Minio]:
    """Answer for MinIO, until the block ends. The Job that sets it up is there, and has not run."""
    assert cluster.storage.objects
    steps.api.apply(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "minio", "namespace": NAMESPACE}}
    )
    setup = setup_job(cluster, cluster.storage.objects)
    steps.api.apply({**setup, "spec": {**setup["spec"], "suspend": True}})
    made = Minio()
    with played(steps, ASKING, made.answer):
        yield made

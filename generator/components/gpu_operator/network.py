"""Who may come to the GPU operator and to what tells of GPUs."""

from collections.abc import Iterator

from generator.components.closed import Controller, closed
from generator.components.common import release_of
from generator.components.component import Manifest
from generator.components.gpu_operator import EXPORTER, EXPORTER_PORT
from generator.model.cluster import Cluster


def shut(cluster: Cluster, own: str) -> Iterator[Manifest]:
    """Shut the operator, and what tells of GPUs, for all but Prometheus; their other asker brings what lets it in.
    What else the operator runs listens nowhere; drivers fetch packages from wherever they are.
    """
    _, namespace = release_of(cluster, "gpu-operator", own)
    for labels, port in (({"app": "gpu-operator"}, 8080), (EXPORTER, EXPORTER_PORT)):
        one = Controller(name=labels["app"], namespace=namespace, labels=labels, metrics=(port,))
        yield from closed(cluster, one)

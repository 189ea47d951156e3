"""The blocks of commands in the steps of clusters, which people paste into a shell of theirs."""

import re
from collections.abc import Iterator

from msgspec import structs
from reference import load

from generator.components import compose
from generator.components.kubeadm.recovery import recovery_files
from generator.components.kubeadm.steps import steps
from generator.model.cluster import Cluster, Endpoint
from generator.model.nodes import Network

_BLOCK = re.compile(r"```sh\n(.*?)```", re.DOTALL)


def variants() -> Iterator[Cluster]:
    """Yield clusters whose steps hold, together, every block that there is."""
    ml50, a30 = load("ml50"), load("a30-bench")
    yield from (ml50, a30)
    for by in ("kube-vip", "keepalived", "external"):
        endpoint = Endpoint(address="10.10.0.10:6443", by=by)
        yield structs.replace(ml50, kubernetes=structs.replace(ml50.kubernetes, endpoint=endpoint))
    tagged = {
        name: structs.replace(network, vlan=20, interface="eth0.20") if name == "node" else network
        for name, network in ml50.machines[0].networks.items()
    }
    assert isinstance(tagged["node"], Network)
    first = structs.replace(ml50.machines[0], networks=tagged)
    yield structs.replace(ml50, machines=(first, *ml50.machines[1:]))


def blocks() -> list[str]:
    """Return each block of them once."""
    texts = (
        str(steps(cluster, [secret for component in compose(cluster) for secret in component.secrets]))
        for cluster in variants()
    )
    pages = (str(one) for cluster in variants() for one in recovery_files(cluster).values())
    return list(dict.fromkeys(block for text in (*texts, *pages) for block in _BLOCK.findall(text)))

"""What Cilium listens on at nodes, for their firewall."""

from collections.abc import Iterator

from generator.components.listening import CLUSTER, Listener, Listening, Passed, Peer, Protocol
from generator.model.cluster import Cluster
from generator.model.fields import mapping

ESP = 50


def listens(cluster: Cluster) -> Iterator[Listening]:
    """Yield what nodes must let in (Cilium, System Requirements, Firewall Rules; ports as in the chart's values)."""
    yield Listener(name="cilium-vxlan", port=8472, protocol="udp", peers=(Peer.NODES,))
    yield Listener(name="cilium-health", port=4240, peers=CLUSTER)
    yield Listener(name="hubble-peer", port=4244, peers=CLUSTER)
    # What an agent hands to its own proxy (Ingress, policies by name or by HTTP) passes the node's input, to any port:
    # its rule "cilium: ACCEPT for proxy traffic" speaks for its own table only.
    yield Passed(name="cilium-proxy", mark=0x200, mask=0xF00)
    if cluster.monitoring.prometheus:
        yield Listener(name="cilium-metrics", port=9962, last=9964, peers=CLUSTER)
    else:
        yield Listener(name="cilium-envoy-metrics", port=9964, closed="it tells them by default, and nobody asks")
    for name, port in {"agent": 9879, "operator": 9234}.items():
        yield Listener(name=f"cilium-{name}-health", port=port, closed="it listens on loopback, where the kubelet asks")
    yield from encrypted(cluster)


def encrypted(cluster: Cluster) -> Iterator[Listening]:
    """Yield what carries traffic between nodes where it is encrypted, also by the component's own values."""
    own = mapping(cluster.settings("cilium").values.get("encryption"))
    encryption = {"enabled": True, "type": "wireguard", **own} if cluster.networks.encryption else own
    if encryption.get("enabled") is True and encryption.get("type") == "wireguard":
        yield Listener(name="cilium-wireguard", port=51871, protocol="udp", peers=(Peer.NODES,))
    elif encryption.get("enabled") is True:
        yield Protocol(name="cilium-ipsec", number=ESP, peers=(Peer.NODES,))

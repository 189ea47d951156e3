"""The host firewall as files of nftables, one for each pool, and what applies it on a node.

The table is gen's own (`inet gen`) and has the chain `input` alone: what kube-proxy and the pod network write stays,
and packets that are forwarded to pods do not pass here. A packet that one table drops is dropped, whatever others say.
"""

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import assert_never

from generator.components.listening import Listener, Listening, Passed, Peer, Protocol
from generator.components.node_text import Place, Template, Text, Word, joined, static_folder, template
from generator.model.cluster import Cluster
from generator.model.firewall import Firewall
from generator.model.nodes import Machine

Address = IPv4Address | IPv4Network | IPv6Address | IPv6Network
Sets = dict[tuple[Peer, int], tuple[Address, ...]]
"""The addresses of each peer by family, 4 or 6; only where there are some."""

RULES = ("etc", "gen-firewall", "rules.nft")
"""Where a node has its rules; `gen-firewall.sh` has the same."""

SET = Template("""\
  set {name} {
    type ipv{family}_addr
    flags interval
    auto-merge
    elements = { {elements} }
  }
""")
PORT = Template('    {peers}{protocol} dport {ports} accept comment "{name}"\n')
PROTOCOL = Template('    {peers}meta l4proto {number} accept comment "{name}"\n')
PASSED = Template('    meta mark and {mask} == {mark} accept comment "{name}"\n')
FROM = Template("{ip} saddr @{set} ")
RANGE = Template("{first}-{last}")


def firewall_files(cluster: Cluster, listening: Iterable[Listening]) -> dict[Place, Text]:
    """Return each pool's rules and what applies them, where the cluster asks for a firewall."""
    firewall = cluster.networks.firewall
    if firewall is None:
        return {}
    sets, everything = addresses(cluster, firewall), tuple(listening)
    found = static_folder("kubeadm/nodes/firewall", "node", "all")
    for pool in sorted(cluster.pools):
        wanted = at_pool(cluster.in_pools(pool), everything)
        found[Place("node", "pools", pool, *RULES)] = rules(pool, wanted, sets)
    return found


def at_pool(machines: Iterable[Machine], listening: Iterable[Listening]) -> tuple[Listening, ...]:
    """Return what listens on any node of a pool: what some have, all let in."""
    nodes = tuple(machines)
    return tuple(one for one in listening if isinstance(one, Passed) or any(one.on(machine) for machine in nodes))


def addresses(cluster: Cluster, firewall: Firewall) -> Sets:
    """Return who the peers are. Nodes are whole networks, so that a new node needs no new rules on all others."""
    networks, kubernetes = cluster.networks, cluster.kubernetes
    between = [network for network in (networks.node, networks.storage) if network]
    routers = networks.load_balancer.bgp.peers if networks.load_balancer and networks.load_balancer.bgp else ()
    control_plane = cluster.control_plane
    given: dict[tuple[Peer, int], Iterable[Address | None]] = {
        (Peer.NODES, 4): [network.cidr for network in between],
        (Peer.NODES, 6): [network.cidr6 for network in between],
        (Peer.CONTROL_PLANE, 4): [machine.address for machine in control_plane],
        (Peer.CONTROL_PLANE, 6): [machine.address6 for machine in control_plane],
        (Peer.PODS, 4): [kubernetes.pod_cidr],
        (Peer.PODS, 6): [kubernetes.pod_cidr6],
        (Peer.ADMINS, 4): firewall.admins,
        (Peer.CLIENTS, 4): firewall.clients,
        (Peer.ROUTERS, 4): [router.address for router in routers],
    }
    known = {key: tuple(address for address in listed if address) for key, listed in given.items()}
    return {key: listed for key, listed in known.items() if listed}


def rules(pool: str, listening: Iterable[Listening], sets: Sets) -> Text:
    """Return the rules of a pool's nodes, complete: applying them replaces what was there, in one step."""
    wanted = tuple(listening)
    used = {peer for one in wanted if not isinstance(one, Passed) for peer in one.peers}
    return Text(
        template("kubeadm/firewall.nft"),
        pool=Word(pool),
        sets=joined(_set(key, listed) for key, listed in sets.items() if key[0] in used),
        rules=joined(line for one in wanted for line in _lines(one, sets)),
    )


def _set(key: tuple[Peer, int], listed: Iterable[Address]) -> Text:
    elements = joined((Word(address) for address in listed), ", ")
    return Text(SET, name=_name(key), family=Word(key[1]), elements=elements)


def _name(key: tuple[Peer, int]) -> Word:
    return Word(f"{key[0]}{key[1]}")


def _lines(one: Listening, sets: Sets) -> Iterator[Text]:
    """Yield a rule for each set of addresses that may reach it."""
    match one:
        case Passed():
            yield Text(PASSED, mask=Word(hex(one.mask)), mark=Word(hex(one.mark)), name=Word(one.name))
        case Protocol():
            for peers in _peers(one.peers, sets):
                yield Text(PROTOCOL, peers=peers, number=Word(one.number), name=Word(one.name))
        case Listener():
            ports = Text(RANGE, first=Word(one.port), last=Word(one.last)) if one.last else Word(one.port)
            for peers in _peers(one.peers, sets):
                yield Text(PORT, peers=peers, protocol=Word(one.protocol), ports=ports, name=Word(one.name))
        case _:
            assert_never(one)


def _peers(peers: Iterable[Peer], sets: Sets) -> Iterator[Text]:
    """Yield how a rule begins for each set of addresses; nothing where anybody is meant."""
    if Peer.ANYBODY in peers:
        yield joined(())
        return
    for key in sets:
        if key[0] in peers:
            yield Text(FROM, ip=Word("ip" if key[1] == 4 else "ip6"), set=_name(key))

"""systemd-networkd files of nodes with bonds or VLANs, complete; nothing copies them to the node by itself."""

from collections.abc import Iterator

from msgspec import Struct

from generator.components.node_text import Place, Template, Text, Word, joined
from generator.model.cluster import Cluster
from generator.model.nodes import Machine, Network

BOND = Template("""\
[NetDev]
Name={name}
Kind=bond
MTUBytes={mtu}

[Bond]
Mode=802.3ad
MIIMonitorSec=100ms
TransmitHashPolicy=layer3+4
""")
VLAN = Template("[NetDev]\nName={name}\nKind=vlan\nMTUBytes={mtu}\n\n[VLAN]\nId={vlan}\n")
LINK = Template("[Match]\nName={name}\n\n[Link]\nMTUBytes={mtu}\n\n[Network]\n{lines}")
SETTING = Template("{key}={value}\n")
# The first file that matches an interface wins, whatever its folder; netplan makes `10-netplan-*` (systemd.network).
FIRST = "05"


class Link(Struct):
    """One interface: its own MTU in bytes, which other interfaces it carries, its VLAN if it is tagged, whether it is a
    bond, and the lines of its section `[Network]`.
    """

    mtu: int = 1280
    vlan: int | None = None
    bond: bool = False
    carries: tuple[str, ...] = ()
    lines: tuple[Text, ...] = ()


def interface_files(cluster: Cluster) -> dict[Place, Text]:
    """Return the files by path, for the nodes that have a bond or a VLAN."""
    found: dict[Place, Text] = {}
    for machine in cluster.machines:
        if any(network.bond or network.vlan for network in machine.networks.values()):
            links = _links(cluster, machine)
            for name, link in links.items():
                found |= {Place("network", machine.name, file): text for file, text in _files(links, name, link)}
    return found


def _files(links: dict[str, Link], name: str, link: Link) -> Iterator[tuple[str, Text]]:
    mtu = Word(_mtu(links, name))
    if link.bond:
        yield f"{FIRST}-{name}.netdev", Text(BOND, name=Word(name), mtu=mtu)
    if link.vlan:
        yield f"{FIRST}-{name}.netdev", Text(VLAN, name=Word(name), mtu=mtu, vlan=Word(link.vlan))
    yield f"{FIRST}-{name}.network", Text(LINK, name=Word(name), mtu=mtu, lines=joined(link.lines))


def _mtu(links: dict[str, Link], name: str) -> int:
    """Return an MTU that holds the frames of all that an interface carries."""
    return max(links[name].mtu, 0, *(_mtu(links, other) for other in links[name].carries))


def _links(cluster: Cluster, machine: Machine) -> dict[str, Link]:
    """Return a node's Ethernet interfaces by name."""
    found: dict[str, Link] = {}
    for name, network in machine.networks.items():
        if network.interface and name != "ipoib":
            _add(found, network, network.interface)
            found[network.interface].lines += tuple(_addresses(cluster, machine, name))
    return found


def _add(found: dict[str, Link], network: Network, interface: str) -> None:
    """Add an interface and what it lies on. A rule holds that a tagged one is named after what carries it: bond0.20."""
    top = found.setdefault(interface, Link())
    top.mtu = max(top.mtu, network.mtu or 1500)
    if network.vlan:
        top.vlan = network.vlan
        interface = _carry(found, interface.rpartition(".")[0], interface, "VLAN")
    for member in network.bond:
        found[interface].bond = True
        _carry(found, member, interface, "Bond")


def _carry(found: dict[str, Link], name: str, above: str, key: str) -> str:
    """Lay one interface on another, which may be new; return the lower one's name."""
    link = found.setdefault(name, Link())
    if above not in link.carries:
        link.carries += (above,)
        link.lines += (_setting(key, above),)
    return name


def _setting(key: str, value: object) -> Text:
    return Text(SETTING, key=Word(key), value=Word(value))


def _addresses(cluster: Cluster, machine: Machine, name: str) -> Iterator[Text]:
    """Yield the addresses, the gateway and the name servers of an interface."""
    network = machine.networks[name]
    given = {"node": machine.address} | {str(other): address for other, address in machine.addresses.items()}
    if name in given:
        yield _setting("Address", f"{given[name]}/{network.cidr.prefixlen}")
    if name == "node" and machine.address6 and network.cidr6:
        yield _setting("Address", f"{machine.address6}/{network.cidr6.prefixlen}")
    if network.gateway:
        yield _setting("Gateway", network.gateway)
    if name == "node":
        yield from (_setting("DNS", server) for server in cluster.site.dns)

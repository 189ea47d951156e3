"""The section `networks`: what carries pods, the network of the nodes, addresses for Services."""

from collections.abc import Iterator
from contextlib import suppress
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, ip_network
from typing import Any, TypeAlias

from generator.components.calico import OVERHEAD as CALICO_TUNNEL
from generator.edits.inventory import around
from generator.model.base import Interface
from generator.model.fields import amount, dig, mapping, sequence
from generator.model.text import AddressRange
from generator.survey.machines import SeenNode
from generator.survey.notes import Notes
from generator.survey.seen import Seen, fits, named, text

Plain: TypeAlias = dict[str, Any]
AT = "networks"
OTHERS = ("flannel", "weave-kube", "weave-net", "kube-router", "antrea", "antrea-agent", "kube-ovn", "amazon-k8s-cni")
"""How the repositories of other pod networks' images end."""
PLANES = {"nftables": "nftables", "bpf": "ebpf"}
"""Calico's data planes as its operator calls them, and as the file does."""


def networks(seen: Seen, seen_nodes: list[SeenNode], cni: str | None, notes: Notes) -> Plain:
    """Return the section; `cni` is what was found of those that gen knows."""
    balancer = _balancer(seen, cni, notes)
    found: Plain = {"cni": cni or "cilium", "node": _node(seen, seen_nodes, balancer, notes)}
    if not cni:
        other = sorted({name for _, repository, _ in seen.images() for name in OTHERS if repository.endswith(name)})
        runs = f"the cluster has {', '.join(other)}" if other else "neither cilium nor calico is seen"
        runs = "you may not list what runs" if seen.blind else runs
        notes.unknown((AT, "cni"), f"which of the pod networks that gen knows it shall have: {runs}")
    if cni == "calico" and (plane := _plane(seen)):
        found["calico"] = {"dataplane": plane}
    if balancer:
        found["loadBalancer"] = balancer
    if _encrypted(seen, notes):
        found["encryption"] = "wireguard"
    _ceph_network(seen, notes)
    return found


def _node(seen: Seen, seen_nodes: list[SeenNode], balancer: Plain, notes: Notes) -> Plain:
    at = (AT, "node")
    inside = [IPv4Address(machine.address) for machine in seen_nodes]
    if balancer.get("announce") == "l2":  # who answers ARP for an address is in its network
        spread = AddressRange.parse(balancer["range"])
        inside += [spread.first, spread.last]
    cidr = _of_calico(seen)
    if not cidr:
        cidr = around(inside or [IPv4Address("192.0.2.0")])  # an example, where there are no nodes
        notes.unknown((*at, "cidr"), "how large the network is: this is the smallest that holds what is in it")
    interface = next((one for one in _interfaces(seen) if fits(one, Interface)), "")
    mtu = _mtu(seen)
    given = {**({"interface": interface} if interface else {}), **({"mtu": mtu} if mtu else {})}
    unknown = [key for key in ("interface", "mtu", "gateway") if key not in given]
    notes.unknown(at, f"{', '.join(unknown)}: no API server knows")
    return {"cidr": str(cidr), **given}


def _mtu(seen: Seen) -> int:
    """Return the MTU of the nodes' network where the pod network was told one; 0 where it looks for itself. Calico is
    told that of pods.
    """
    told = amount(text(seen.config("cilium-config"), "mtu")) or 0
    for one in seen.of_group("operator.tigera.io", "installations"):
        network = mapping(dig(one, "spec", "calicoNetwork"))
        tunnel = any(text(pool, "encapsulation").startswith("VXLAN") for pool in sequence(network.get("ipPools")))
        if own := amount(network.get("mtu")):
            told = own + (CALICO_TUNNEL * 1000 if tunnel else 0)
    return told // 1000 if 1280 <= told // 1000 <= 65520 else 0


def _of_calico(seen: Seen) -> IPv4Network | None:
    """Return the network that Calico's agents found their nodes in."""
    found = set()
    for node in seen.nodes:
        with suppress(ValueError):
            network = IPv4Interface(text(node, "metadata", "annotations", "projectcalico.org/IPv4Address")).network
            found.add(network)
    usual = {network for network in found if network.prefixlen < 31}
    return usual.pop() if len(usual) == 1 else None


def _interfaces(seen: Seen) -> Iterator[str]:
    """Yield what network components are told to bind to."""
    yield from text(seen.config("cilium-config"), "devices").split()
    for policy in seen.of_group("cilium.io", "ciliuml2announcementpolicies"):
        for one in sequence(dig(policy, "spec", "interfaces")):
            yield str(one).strip("^$").replace("\\", "")
    for pod in (*seen.system_pods(), *(mapping(dig(one, "spec", "template")) for one in seen.workloads)):
        for container in sequence(dig(pod, "spec", "containers")):
            yield from (text(one, "value") for one in sequence(dig(container, "env")) if _names_interface(one))


def _names_interface(variable: object) -> bool:
    return text(variable, "name") in {"vip_interface", "FLANNELD_IFACE"}


def _plane(seen: Seen) -> str:
    for one in seen.of_group("operator.tigera.io", "installations"):
        return PLANES.get(text(one, "spec", "calicoNetwork", "linuxDataplane").lower(), "")
    felix = seen.of_group("crd.projectcalico.org", "felixconfigurations")
    if any(dig(one, "spec", "bpfEnabled") is True for one in felix):
        return "ebpf"
    return PLANES.get(text(seen.config("kube-proxy", "config.conf"), "mode"), "")


def _encrypted(seen: Seen, notes: Notes) -> bool:
    """Tell whether Cilium encrypts what goes between nodes, as the file can say it."""
    cilium = seen.config("cilium-config")
    felix = seen.of_group("crd.projectcalico.org", "felixconfigurations")
    if text(cilium, "enable-ipsec") == "true":
        own = "`components.cilium.values.encryption` keeps it, with its keys in Secret cilium-ipsec-keys"
        notes.unknown((AT,), f"encryption: Cilium has IPsec, and the file only WireGuard: {own}")
    if any(dig(one, "spec", key) is True for one in felix for key in ("wireguardEnabled", "wireguardEnabledV6")):
        notes.found(
            (AT,), "Calico encrypts by WireGuard: its FelixConfiguration stays as it is, and outside of the file"
        )
    return text(cilium, "enable-wireguard") == "true"


def _balancer(seen: Seen, cni: str | None, notes: Notes) -> Plain:
    """Return the addresses for Services: the file has one range."""
    given = [*_of_cilium(seen)] if cni == "cilium" else [*_calico_ranges(seen)]
    for one in seen.of_group("metallb.io", "ipaddresspools"):
        notes.found((AT,), f"MetalLB gives out {', '.join(map(str, sequence(dig(one, 'spec', 'addresses'))))}; gen "
                    "leaves it alone, and needs `loadBalancer` only where the pod network shall do it")  # fmt: skip
    if not given:
        return {}
    if len(given) > 1:
        others = ", ".join(map(str, given[1:]))
        notes.found((AT, "loadBalancer"), f"the file has one range; the cluster has these as well: {others}")
    announce = _announced(seen, cni)
    if announce == "bgp":
        notes.unknown((AT, "loadBalancer"), "bgp: `announce: bgp` with the routers and the nodes' autonomous system")
    return {"range": _shortest(given[0]), **({"announce": "l2"} if announce == "l2" else {"announce": "none"})}


def _announced(seen: Seen, cni: str | None) -> str:
    if cni == "cilium":
        return "l2" if seen.of_group("cilium.io", "ciliuml2announcementpolicies") else "none"
    return "bgp" if seen.of_group("crd.projectcalico.org", "bgppeers") else "none"


def _of_cilium(seen: Seen) -> Iterator[AddressRange]:
    for pool in seen.of_group("cilium.io", "ciliumloadbalancerippools"):
        for block in sequence(dig(pool, "spec", "blocks")):
            first = text(block, "start")
            with suppress(ValueError):
                yield AddressRange.parse(text(block, "cidr") or f"{first}-{text(block, 'stop') or first}")


def _calico_ranges(seen: Seen) -> Iterator[AddressRange]:
    """Yield runs of addresses: a range that is no network is several pools."""
    found = []
    for pool in seen.of_group("crd.projectcalico.org", "ippools"):
        with suppress(ValueError):
            if "LoadBalancer" in sequence(dig(pool, "spec", "allowedUses")):
                found.append(AddressRange.parse(str(ip_network(text(pool, "spec", "cidr")))))
    run: AddressRange | None = None
    for one in sorted(found, key=lambda each: each.first):
        if run and int(one.first) == int(run.last) + 1:
            run = AddressRange(run.first, one.last)
            continue
        if run:
            yield run
        run = one
    if run:
        yield run


def _shortest(addresses: AddressRange) -> str:
    found = addresses.networks
    return str(found[0]) if len(found) == 1 else str(addresses)


def _ceph_network(seen: Seen, notes: Notes) -> None:
    for one in seen.of_group("ceph.rook.io", "cephclusters"):
        ranges = [str(each) for each in sequence(dig(one, "spec", "network", "addressRanges", "public"))]
        if ranges:
            alike = "which address a node has there no API server knows (`follow: node` where host numbers are alike)"
            notes.unknown((AT,), f"storage: Ceph cluster {named(one)} speaks on {', '.join(ranges)}; {alike}")

"""The host firewall: who may reach what on the nodes themselves."""

from ipaddress import IPv4Network
from typing import Annotated, Literal

from msgspec import Meta

from generator.model.base import Name, Section

PortNumber = Annotated[int, Meta(ge=1, le=65535)]


class OpenPort(Section, frozen=True, kw_only=True):
    """A port that something of yours listens on at nodes themselves: `name` says what, `from` who may reach it, `pools`
    on which nodes (all where none is named). `last` makes it a range.
    """

    name: Name
    port: PortNumber
    last: PortNumber | None = None
    protocol: Literal["tcp", "udp"] = "tcp"
    from_: tuple[Literal["nodes", "pods", "admins", "clients", "anybody"], ...]
    pools: tuple[Name, ...] = ()


class Firewall(Section, frozen=True, kw_only=True):
    """Rules of nftables on every node that let in what its components need, and nothing else. `admins` are the networks
    that people come from, for SSH (port `ssh`) and the API server; `clients` reach the API server alone. Whoever is in
    the node or storage network counts as a node. Pods are not closed by this: network policies do that.
    """

    by: Literal["nftables"]
    admins: tuple[IPv4Network, ...]
    clients: tuple[IPv4Network, ...] = ()
    ssh: PortNumber = 22
    open: tuple[OpenPort, ...] = ()
